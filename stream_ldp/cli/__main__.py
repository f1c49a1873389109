"""This module runs the command line by `python -m stream_ldp.cli`, without its script."""

from stream_ldp.cli import main

main()
