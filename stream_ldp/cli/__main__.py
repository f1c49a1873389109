"""`python -m stream_ldp.cli`: the command line without its script."""

from stream_ldp.cli import main

main()
