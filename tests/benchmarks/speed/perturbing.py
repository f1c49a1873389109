"""Comparisons of the client: reports of many users at once, and one report of one user from end to end."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.client.batcher import Batcher
from stream_ldp.mechanisms import KRR, RRLDP, Entropy, Mechanism, OSEntropy, SeededEntropy, new_secret
from stream_ldp.pipeline import wire
from tests.benchmarks.speed import before, peers
from tests.benchmarks.speed.counting import collection_of
from tests.benchmarks.speed.measuring import Comparison, Work


def comparisons(scale: float) -> Iterator[Comparison]:
    """Yield the comparisons, on `scale` times as many users as are meant."""
    users = round(scale * 50_000)
    for sizes in ((2,) * 16, (8,) * 8):
        values = _values(sizes, users)
        for mechanism in (
            RRLDP(sizes=sizes, f=0.25, p=0.25, q=0.75),
            RRLDP(sizes=sizes, f=0.3, p=0.2, q=0.7),
            KRR(sizes=sizes, attribute_epsilon=1.0),
        ):
            for source, entropy in (("seeded", SeededEntropy(1)), ("from the OS", OSEntropy())):
                yield _bulk(mechanism, values, entropy, source)
    yield _single()


def _bulk(mechanism: Mechanism, values: NDArray[np.int64], entropy: Entropy, source: str) -> Comparison:
    users, sizes = len(values), mechanism.sizes
    parameters = ""
    against: dict[str, Work] = {}
    if isinstance(mechanism, RRLDP):
        parameters = f", f = {mechanism.f}, p = {mechanism.p}, q = {mechanism.q}"
        against["word by word"] = Work(run=lambda: before.perturb_by_word(mechanism, values, entropy), units=users)
        against |= peers.perturbing(values[: max(1, users // 100)], sizes)
    return Comparison(
        work=f"perturbing {len(sizes)} x {sizes[0]} values, {mechanism.title}{parameters}, {source}",
        unit="us a user",
        now=Work(run=lambda: mechanism.perturb(values, entropy=entropy), units=users),
        against=against,
    )


def _single() -> Comparison:
    """Compare one report of a user with a secret, perturbed, batched and encoded, with one that only is encoded."""
    collection = collection_of((2,) * 16)
    words, secret, entropy = collection.permanent_words(), new_secret(), OSEntropy()
    values = _values(collection.sizes, 1)
    batcher = Batcher(collection, max_reports=1, entropy=entropy)

    def report() -> bytes:
        permanent = words.words_of([secret], values)
        rows = collection.mechanism.perturb(values, entropy=entropy, permanent_words=permanent)
        (batch,) = batcher.add(rows, time_ms=0)
        return wire.encode(batch)

    return Comparison(
        work="one report of 16 x 2 values: permanent words, perturbed, batched, encoded",
        unit="us a report",
        now=Work(run=report),
        against={},
    )


def _values(sizes: tuple[int, ...], users: int) -> NDArray[Any]:
    rng = np.random.default_rng(1)
    return np.stack([rng.integers(size, size=users) for size in sizes], axis=1)
