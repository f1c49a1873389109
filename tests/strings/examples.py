"""A collection of strings, its users, and what is answered of them."""

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.strings.answer import StringRanking
from stream_ldp.strings.collection import StringCollection
from tests.questions.examples import solved

TEXT = """
collection: words
mechanism: {{kind: strings, {mechanism}}}
string: {{name: word, {string}}}
window: {{size: 10s, grace: 1s{window}}}
{more}
"""

WORDS = ("apple", "banana", "cherry", "fig", "plum")
SHARES = (0.4, 0.25, 0.15, 0.12, 0.08)


def collection_of(
    mechanism: str = "epsilon: 4, k: 8",
    string: str = "length: 6, alphabet: abcdefghijklmnopqrstuvwxyz",
    window: str = "",
    more: str = "",
) -> StringCollection:
    return StringCollection.parse(TEXT.format(mechanism=mechanism, string=string, window=window, more=more))


def users(collection: StringCollection, count: int, seed: int = 1) -> NDArray[np.uint16]:
    drawn = np.random.default_rng(seed).choice(len(WORDS), count, p=SHARES)
    return collection.table([collection.string.encode(word) for word in WORDS])[drawn]


def rows_of(collection: StringCollection, table: NDArray[np.uint16], seed: int = 2) -> NDArray[np.uint8]:
    return drawn(collection, table, entropy=SeededEntropy(seed))


def drawn(collection: StringCollection, table: NDArray[np.integer], *, entropy: SeededEntropy) -> NDArray[np.uint8]:
    """Draw the rows of users: the question that each is asked, its seed, and the noise."""
    questions = collection.method.questions
    numbers = questions.numbers(random_words(len(table), entropy=entropy))
    seeds = random_words(len(table), entropy=entropy)
    return questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, table), entropy=entropy)


def counted(collection: StringCollection, rows: NDArray[np.uint8]) -> RowCounts:
    return RowCounts.of(rows, bits=collection.bits)


def ranking_of(collection: StringCollection, count: int = 20_000, *, final: bool = True) -> StringRanking:
    rows = rows_of(collection, users(collection, count))
    ranking: StringRanking = solved(collection, (1.0, counted(collection, rows)), final=final)
    return ranking
