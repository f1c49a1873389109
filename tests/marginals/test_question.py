"""What the sampling of users adds to the error of an estimate."""

from __future__ import annotations

from stream_ldp.marginals.question import with_sampling


def test_the_users_held_values_vary_only_as_far_as_not_all_are_asked() -> None:
    assert with_sampling(2.0, held=1.0, asked=1.0, users=100) == 0.02
    assert with_sampling(2.0, held=1.0, asked=0.5, users=100) == 0.05
