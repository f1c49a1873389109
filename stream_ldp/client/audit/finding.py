"""What an audit of a client has found of one promise, and how likely an honest client fails it by chance."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy import stats


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The outcome of one test.

    promise: what a client has to keep, in words.
    chance: the most by which an honest client may fail, over the test's randomness; 0 for a test that is exact.
    problem: how it is broken; None if it holds.
    """

    promise: str
    chance: float
    problem: str | None


def finding(promise: str, problems: Iterable[str], *, chance: float = 0.0) -> Finding:
    """Return the finding with the first of the problems, or none."""
    return Finding(promise=promise, chance=chance, problem=next(islice(problems, 1), None))


#: The most by which an honest client fails one statistical test, over all bits and bytes that it looks at.
CHANCE = 1e-6

#: Bytes of the words of an id in which a counter is sought.
_WIDTHS = (1, 2, 4, 8)


def id_problems(ids: Sequence[bytes]) -> Iterator[str]:
    """Yield what shows that ids, in the order in which they were made, are not drawn at random.

    It looks for ids that repeat, for bytes and differences of consecutive bytes that are not uniform (chi-squared
    tests of 256 values), and for words that rise too often or too seldom, as a counter or a clock does.
    """
    lengths = {len(each) for each in ids}
    if len(lengths) > 1:
        yield f"ids have different lengths: {sorted(lengths)}"
        return
    if len(set(ids)) < len(ids):
        yield f"of {len(ids)} ids, only {len(set(ids))} are different"
        return
    table = np.array([list(each) for each in ids], dtype=np.uint8)
    tests = 2 * table.shape[1] + sum(table.shape[1] // width for width in _WIDTHS)
    for place in range(table.shape[1]):
        for values, what in ((table[:, place], "value"), (np.diff(table[:, place]), "step from one id to the next")):
            counts = np.bincount(values, minlength=256)
            expected = len(values) / 256
            if stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 255) < CHANCE / tests:
                yield f"byte {place} of an id is not drawn at random: a {what} is {counts.argmax()} too often"
    for width in _WIDTHS:
        words = np.ascontiguousarray(table).view(f"<u{width}")
        for place in range(words.shape[1]):
            rises = int(np.count_nonzero(words[1:, place] > words[:-1, place]))
            falls = int(np.count_nonzero(words[1:, place] < words[:-1, place]))
            # Rises of a random sequence are no independent trials, and vary less: a binomial test fails less often.
            if stats.binomtest(rises, max(rises + falls, 1)).pvalue < CHANCE / tests:
                yield f"bytes {place * width} to {place * width + width - 1} of the ids reveal their order"


def differing_bit(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> int | None:
    """Return a bit that is set more often in one group than in the other, or None if that may be chance.

    first, second: rows of bytes of each group, shape (n, width).
    """
    sides = [np.unpackbits(each, axis=1, bitorder="little") for each in (first, second)]
    lengths, ones = [len(each) for each in sides], [each.sum(axis=0, dtype=np.int64) for each in sides]
    if not min(lengths):
        return None
    share = (ones[0] + ones[1]) / sum(lengths)
    deviation = np.sqrt(np.maximum(share * (1 - share), 1e-12) * (1 / lengths[0] + 1 / lengths[1]))
    distance = np.abs(ones[0] / lengths[0] - ones[1] / lengths[1]) / deviation
    worst = int(np.argmax(distance))
    # Where a bit is seldom set, the normal tail is too thin: Fisher's exact test decides.
    table = [[int(one[worst]), int(length - one[worst])] for one, length in zip(ones, lengths, strict=True)]
    chance = float(stats.fisher_exact(np.array(table)).pvalue)
    return worst if chance < CHANCE / len(share) else None
