"""A mechanism's promise, checked from outside: by enumeration of all outputs, and by attack."""

from stream_ldp.privacy.enumeration import Enumeration

__all__ = ["Enumeration"]
