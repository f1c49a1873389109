"""A mechanism's promise: kept on the client by a ledger, checked from outside by enumeration and by attack."""

from stream_ldp.privacy.audit.enumeration import Enumeration

__all__ = ["Enumeration"]
