"""An attacker who averages a user's reports gains what is claimed of all of them, and more from broken clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.mechanisms import Entropy, SeededEntropy
from stream_ldp.sets.audit.repeated_attacks import repeated_attacks
from stream_ldp.sets.methods.loloha import Loloha
from tests.audit import broken
from tests.sets.methods.examples import build

if TYPE_CHECKING:
    from stream_ldp.mechanisms.loloha import Permanent

METHOD = Loloha(domain=6, k=2, epsilon=1.0, lifetime=2.0, set_size=2)


def keyed(secret: bytes) -> Permanent:
    return lambda purpose: SeededEntropy(np.random.SeedSequence([*secret, *purpose]))


def lower_bound(method: Loloha) -> float:
    noise: Entropy = SeededEntropy(1)
    (attack,) = repeated_attacks(method, keyed=keyed, noise=lambda: noise, secrets=SeededEntropy(2))
    return attack.run(trials=800, confidence=0.9999, entropy=SeededEntropy(3)).epsilon


def test_the_average_of_many_reports_shows_nearly_what_all_may_and_no_more() -> None:
    """Seeded; above the claim once in 10^4 seeds."""
    assert 1.2 < lower_bound(METHOD) <= 2.0


def test_a_client_without_a_permanent_response_is_disproved() -> None:
    method = Loloha(domain=6, k=2, epsilon=1.0, lifetime=2.0, set_size=2)
    method.__dict__["_oracle"] = broken.SendsTheSignItself(size=6, epsilon=1.0, lifetime=2.0)
    assert lower_bound(method) > 2.0


@pytest.mark.parametrize("kind", ["svim", "gfim"])
def test_methods_of_fresh_reports_have_no_such_attack(kind: str) -> None:
    assert repeated_attacks(build(kind), keyed=keyed, noise=lambda: SeededEntropy(1), secrets=SeededEntropy(2)) == ()
