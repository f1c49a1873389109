"""`stream-ldp demo`: the whole road on this machine, with the truth beside the answers; one collection a file."""

from stream_ldp.cli.demo.command import demo

__all__ = ["demo"]
