"""Distributions of a few attributes, exactly as a population has them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stream_ldp.collection.synthesis import Synthesis
from stream_ldp.records.answer import Estimate
from stream_ldp.synthesis.chunk import SyntheticChunk
from stream_ldp.synthesis.graph import Structure
from stream_ldp.synthesis.marginals import PairMarginals

#: A chain: the second depends on the first, the third on the second; the last on nothing.
SIZES = (2, 3, 2, 4)
_FIRST = np.array([0.3, 0.7])
_SECOND = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
_THIRD = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
_LAST = np.array([0.1, 0.2, 0.3, 0.4])
TRUTH: NDArray[np.float64] = np.einsum("a,ab,bc,d->abcd", _FIRST, _SECOND, _THIRD, _LAST)


def exact(p_values: Mapping[tuple[int, int], float]) -> PairMarginals:
    """The distributions, with p-values for all pairs; 0.5 where none is given."""
    pairs = [(one, other) for one in range(4) for other in range(one + 1, 4)]
    return PairMarginals(
        attributes=[_over((place,)) for place in range(4)],
        pairs={of: _over(of) for of in pairs},
        p_values={of: p_values.get(of, 0.5) for of in pairs},
    )


def _over(of: tuple[int, ...]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = TRUTH.sum(axis=tuple(place for place in range(4) if place not in of))
    return found


def chunk_of(final: Estimate, *, chunk: int = 0) -> SyntheticChunk:
    """One of two chunks of the records of a final."""
    return SyntheticChunk(
        collection=final.collection,
        fingerprint=final.fingerprint,
        window=final.window,
        reports=final.reports,
        method=Synthesis.AUTO,
        seed=7,
        total=4,
        chunk=chunk,
        chunks=2,
        structure=Structure.TREE,
        attributes=final.axes,
        records=((0, 1), (1, chunk)),
        privacy=final.privacy,
    )
