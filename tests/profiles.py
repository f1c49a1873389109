"""Profiles determine how much runs try out: `quick` of `make test`, `full` of test-all and `brief` of test-fast."""

from hypothesis import settings

BRIEF, QUICK, FULL = "brief", "quick", "full"

# A slow machine must not decide a test.
settings.register_profile(QUICK, deadline=None, max_examples=30)
settings.register_profile(BRIEF, deadline=None, max_examples=10)
settings.register_profile(FULL, deadline=None)


def examples(full: int, *, quick: int) -> int:
    """Number of examples of a property that takes long: what it says itself, the profile no longer decides."""
    return full if settings.get_current_profile_name().startswith(FULL) else quick
