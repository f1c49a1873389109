"""This command demonstrates the whole service on this machine, with the truth beside the answers."""
