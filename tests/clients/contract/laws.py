"""Exact chances of a client's rows, found by giving it every sort of words that its noise may be made of."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from stream_ldp.client.process import ClientProcess
from tests.clients.contract.cases import TIME_MS, rows_of

WHOLE = 2**32

#: The words that a decision treats alike, as the first and the last of them, and the chance of one of them.
Alike = tuple[tuple[int, ...], Fraction]


def between(*cuts: int) -> list[Alike]:
    """The words of a decision by thresholds: those between two cuts are alike, to the first and the last of them."""
    ends = sorted({0, *cuts, WHOLE})
    return [((first, end - 1), Fraction(end - first, WHOLE)) for first, end in pairwise(ends)]


def remainders(count: int) -> list[Alike]:
    """The words of a uniform choice, of which those with one remainder are alike."""
    last = WHOLE - WHOLE % count - count
    return [((number, last + number), Fraction(1, count)) for number in range(count)]


def fixed(word: int) -> list[Alike]:
    """One word, where the law is wanted of what comes after it, as of the users who are asked one question."""
    return [((word,), Fraction(1))]


def chances(
    client: ClientProcess, collection: str, user: str, record: Mapping[str, Any], words: Sequence[Iterable[Alike]]
) -> dict[bytes, Fraction]:
    """Return the exact chance of every row of a user whose noise is all fresh, as the client makes them.

    words: of each word that a row may take, in order.

    Raises:
        AssertionError: words that ought to be alike make two rows.
    """
    found: Counter[bytes] = Counter()
    for alike in product(*words):
        made = set()
        for place in (0, -1):
            drawn = [each[place] for each, _ in alike]
            reported = client.report(collection, user, record, time_ms=TIME_MS, words=drawn)
            (left,) = reported.left
            made.update(rows_of(left.value))
        (row,) = made
        found[row] += math.prod((chance for _, chance in alike), start=Fraction(1))  # type: ignore[assignment]
    return dict(found)  # type: ignore[arg-type]


def epsilon(laws: Sequence[Mapping[bytes, Fraction]]) -> float:
    """Return the largest loss between two of the laws of rows, in nats."""
    rows = {row for law in laws for row in law}
    worst = max(max(law.get(row, Fraction()) for law in laws) / min(law[row] for law in laws) for row in rows)
    return math.log(worst)
