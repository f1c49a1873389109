"""What a report costs in privacy."""

from stream_ldp.privacy.accounting import rr_epsilon

__all__ = ["rr_epsilon"]
