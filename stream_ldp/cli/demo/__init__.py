"""`stream-ldp demo`: the whole road on this machine, with the truth beside the answers; one collection a file."""
