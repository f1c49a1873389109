"""Oracles of buckets: how many buckets they have, and how little variance."""

import math

from stream_ldp.mechanisms import RepeatedResponse, UnaryResponse
from stream_ldp.mechanisms.local_hashing import cohort_oracle, loloha_oracle


def test_k_rr_has_about_as_many_buckets_as_optimised_local_hashing() -> None:
    assert [cohort_oracle("o-rr", epsilon=epsilon).size for epsilon in (0.1, 1.0, 2.0, 4.0, 12.0)] == [
        2,
        4,
        8,
        56,
        256,
    ]
    assert isinstance(cohort_oracle("o-rappor", epsilon=1.0), UnaryResponse)


def test_loloha_has_as_many_buckets_as_have_the_least_variance() -> None:
    """Among all of up to 40: of a rare value, whose reports support it with the chance 1 / g."""
    for epsilon, per_report in ((0.5, 0.1), (2.0, 1.0), (5.0, 3.0)):
        chances = {
            size: float(RepeatedResponse(size=size, epsilon=per_report, lifetime=epsilon).stated()[0, 0])
            for size in range(2, 41)
        }
        least = min(chances, key=lambda size: (size - 1) / (size * chances[size] - 1) ** 2)
        assert loloha_oracle(epsilon=epsilon, per_report=per_report, buckets=None).size == least


def test_loloha_has_less_variance_than_with_the_fresh_noise_of_two_buckets() -> None:
    """Arcolezi et al. (2023), algorithm 1 and equation 5: at most a seventh less, and as much with two buckets."""
    for epsilon, per_report, least in ((0.5, 0.1, 0.99), (2.0, 1.0, 0.86), (4.0, 2.4, 0.86)):
        a, b = math.exp(epsilon), math.exp(per_report)
        odds = (a * b - 1) / (a - b)
        published = []
        for g in range(2, 41):
            p1, p2 = a / (a + g - 1), odds / (odds + g - 1)
            q2 = (1 - p2) / (g - 1)
            sent = (p2 - q2) / g + q2
            published.append(sent * (1 - sent) / ((p1 - 1 / g) * (p2 - q2)) ** 2)
        found = loloha_oracle(epsilon=epsilon, per_report=per_report, buckets=None)
        p, q = found.support[0], 1 / found.size
        assert least < q * (1 - q) / (p - q) ** 2 / min(published) < 1 + 1e-6
