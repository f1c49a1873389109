"""The profile `quick` determines how much every run tries out, and `full` how much `make test-all` does."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["FULL", "QUICK", "examples"]

QUICK, FULL = "quick", "full"

# A slow machine must not decide a test.
settings.register_profile(QUICK, deadline=None)
settings.register_profile(FULL, deadline=None)


def examples(full: int, *, quick: int) -> int:
    """Number of examples of a property that takes long: what it says itself, the profile no longer decides."""
    return full if settings.get_current_profile_name().startswith(FULL) else quick
