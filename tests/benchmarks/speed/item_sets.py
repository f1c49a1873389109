"""Comparisons of heavy hitters: perturbing sets and items, counting reports, and the transform."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import HadamardResponse, SeededEntropy, SetHadamardResponse, walsh
from tests.benchmarks.speed.measuring import Comparison, Work

_ITEMS = 4_096


def comparisons(scale: float) -> Iterator[Comparison]:
    """Yield the comparisons, on `scale` times as many users as are meant."""
    rng, users = np.random.default_rng(1), round(scale * 20_000)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 16, size=users))))
    items = rng.integers(_ITEMS, size=offsets[-1])
    for slots, bits in ((8, 4), (15, 5)):
        yield _sets(SetHadamardResponse(size=_ITEMS, slots=slots, epsilon=2.0, hash_bits=bits), offsets, items)
    for bits in (1, 3, 7, 8):
        oracle = HadamardResponse(size=_ITEMS, epsilon=4.0, hash_bits=bits)
        yield from _values(oracle, rng.integers(_ITEMS, size=users))
    numbers = rng.normal(size=2**20)
    yield Comparison(
        work="transform of 2^20 numbers",
        unit="ms",
        now=Work(run=lambda: walsh.transform(numbers)),
        against={"copying them": Work(run=numbers.copy)},
    )


def _sets(oracle: SetHadamardResponse, offsets: NDArray[np.int64], items: NDArray[np.int64]) -> Comparison:
    users, entropy = len(offsets) - 1, SeededEntropy(1)
    owner = np.repeat(np.arange(users), np.diff(offsets)) << 8
    return Comparison(
        work=f"perturbing sets of 1 to 15 items, {oracle.slots} slots, {oracle.hash_bits} hash bits",
        unit="us a user",
        now=Work(run=lambda: oracle.perturb_sets(offsets, items, padding=oracle.slots, entropy=entropy), units=users),
        against={"numpy's unique of the items alone": Work(run=lambda: np.unique(owner | items & 255), units=users)},
    )


def _values(oracle: HadamardResponse, values: NDArray[np.int64]) -> Iterator[Comparison]:
    entropy, users = SeededEntropy(1), len(values)
    rows = oracle.perturb(values, entropy=entropy)
    ready = values & 255
    yield Comparison(
        work=f"perturbing an item, {oracle.hash_bits} hash bits",
        unit="us a user",
        now=Work(run=lambda: oracle.perturb(values, entropy=entropy), units=users),
    )
    yield Comparison(
        work=f"counting reports of {oracle.hash_bits} hash bits, {2**oracle.hash_bits - 1} products each",
        unit="us a report",
        now=Work(run=lambda: oracle.sums(rows), units=users),
        against={
            "bincount of as many ready products": Work(
                run=lambda: [np.bincount(ready) for _ in range(2**oracle.hash_bits - 1)], units=users
            )
        },
    )
