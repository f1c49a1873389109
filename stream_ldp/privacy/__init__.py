"""A mechanism's promise, checked from outside: by enumeration of all outputs, and by attack."""

from stream_ldp.privacy.attacks import Attack, attacks
from stream_ldp.privacy.audit import LowerBound
from stream_ldp.privacy.bit_law import NotAThreshold
from stream_ldp.privacy.enumeration import Enumeration, TooLarge

__all__ = ["Attack", "Enumeration", "LowerBound", "NotAThreshold", "TooLarge", "attacks"]
