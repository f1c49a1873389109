"""Records whose values depend on each other by a hidden factor, and the mechanisms that they report by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.benchmarks.record_mechanisms import records
from tests.populations import WINDOW, Setting, attributes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

SIZES: tuple[tuple[int, ...], ...] = ((3, 2), (8, 6), (6, 4, 2), (4, 3, 2, 2))
MECHANISMS = (
    "{kind: rr-ldp, f: 0.25}",
    "{kind: rr-ldp, f: 0.5}",
    "{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}",
    "{kind: k-rr, epsilon: 1}",
    "{kind: k-rr, epsilon: 3}",
    "{kind: k-subset, epsilon: 1}",
)


def texts(attributes: str, estimates: str) -> Iterator[tuple[str, str]]:
    """Yield a collection of each mechanism."""
    for mechanism in MECHANISMS:
        yield mechanism, f"{{{WINDOW}, mechanism: {mechanism}, attributes: {attributes}, estimates: {estimates}}}"


def settings(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield records of two to four attributes; see `stream_ldp.kinds` for what they are users of."""
    for place, sizes in enumerate(SIZES):
        family = ("zipf", "dirichlet")[place % 2]
        names, attributes = attributes_of(sizes)
        lines = records(sizes, family, rng).tolist()
        for mechanism, text in texts(attributes, f"[{{name: joint, of: [{', '.join(names)}]}}]"):
            yield Setting(f"{family} {'x'.join(map(str, sizes))} {mechanism}", text, names, lines)
