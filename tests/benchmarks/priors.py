"""This benchmark measures what windows learn from those before: `python -m tests.benchmarks.priors strings`, or
`python -m tests.benchmarks.priors views nltcs.csv.gz`.

Each window has new users, of a population that stays as it is, or moves from one to another
a step a window, or becomes the other all at once in the middle. Every window is answered alone (`prior: window`) and
with those before it (`prior: temporal`), by the same reports. Some minutes each.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.pipeline.question import Question
from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from stream_ldp.records.evaluation import joint_of
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.solve import solve as solve_strings
from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.solve import solve as solve_views
from tests.benchmarks.zipf_strings import zipf_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.records.answer import Estimate
    from stream_ldp.strings.answer import StringRanking

    #: By the number of a window, the share of the second population in it.
    Moves = Callable[[int, int], float]

__all__ = ["MOVES", "Measured", "strings", "views"]

#: How the share of the second population grows, window after window of so many.
MOVES: dict[str, Moves] = {
    "stays": lambda window, windows: 0.0,
    "drifts": lambda window, windows: window / (windows - 1),
    "jumps": lambda window, windows: float(window >= windows // 2),
}
PRIORS = ("window", "temporal")
#: The attributes of each joint distribution of views, by their places in the table.
_SETS = ((0, 1, 2), (3, 7, 11), (4, 5, 12), (6, 9))


class Measured(NamedTuple):
    """The measures of one window.

    error: what is to be small: of strings, the sum of the errors of the frequencies of the true top 32, 0 for those
        that are not found; of views, the mean average variation distance of four joint distributions.
    covered: share of the intervals of 95 % that hold the truth of the population.
    """

    error: float
    covered: float


def _strings(prior: str) -> StringCollection:
    return StringCollection.parse(
        f"""
        collection: words
        mechanism: {{kind: strings, epsilon: 2, k: 32}}
        string: {{name: word, length: 6, alphabet: abcdefghijklmnopqrstuvwxyz}}
        window: {{size: 10s, grace: 1s, returning: 0}}
        prior: {prior}
        """
    )


def strings(
    move: str, *, users: int = 100_000, windows: int = 16, seed: int = 0, words: int = 2_000
) -> dict[str, list[Measured]]:
    """Answer windows of strings with each prior."""
    collections = {prior: _strings(prior) for prior in PRIORS}
    one = collections["window"]
    texts, shares = zipf_words(strings=words, seed=0)
    encoded = one.table([one.string.encode(text) for text in texts])
    generator = np.random.default_rng(seed)
    # In the second population, other strings are popular.
    other = shares[np.random.default_rng(1).permutation(words)]
    found: dict[str, list[Measured]] = {prior: [] for prior in PRIORS}
    before: dict[str, StringRanking | None] = dict.fromkeys(PRIORS)
    for window in range(windows):
        part = MOVES[move](window, windows)
        truth = (1.0 - part) * shares + part * other
        table = encoded[generator.choice(words, users, p=truth)]
        rows = _rows(one, table, entropy=SeededEntropy(1_000 * seed + window))
        top = [texts[each] for each in np.argsort(-truth, kind="stable")[: one.mechanism_spec.k].tolist()]
        known = dict(zip(texts, truth.tolist(), strict=True))
        for prior, collection in collections.items():
            ranking = solve_strings(
                collection,
                Question(
                    series=collection.series[0],
                    window_ms=10_000 * window,
                    final=True,
                    windows=((1.0, (RowCounts.of(rows, bits=one.bits),)),),
                    before=before[prior],
                ),
            )
            before[prior] = ranking
            told = ranking.strings or ()
            off = [abs(each.raw - known.get(each.string, 0.0)) <= 1.96 * each.standard_error for each in told]
            estimated = {each.string: each.raw for each in told}
            error = sum(abs(estimated.get(each, 0.0) - known[each]) for each in top)
            found[prior].append(Measured(error, float(np.mean(off)) if off else 1.0))
    return found


def _rows(collection: StringCollection, table: NDArray[np.integer], *, entropy: SeededEntropy) -> NDArray[np.uint8]:
    questions = collection.method.questions
    numbers = questions.numbers(random_words(len(table), entropy=entropy))
    seeds = random_words(len(table), entropy=entropy)
    return questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, table), entropy=entropy)


def views(
    move: str, data: Path, *, users: int = 20_000, windows: int = 16, seed: int = 0
) -> dict[str, list[Measured]]:
    """Answer windows of views, all pairs of attributes, with each prior.

    data: CSV with the records' values. The populations are the two fifths of the records with the lowest and with the
        highest sums of the values' numbers.
    """
    with gzip.open(data, "rt", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    columns = [sorted(set(column)) for column in zip(*rows, strict=True)]
    coded = np.array([[known.index(each) for known, each in zip(columns, row, strict=True)] for row in rows])
    coded = coded[np.argsort(coded.sum(axis=1), kind="stable")]
    part = 2 * len(coded) // 5
    first, second = coded[:part], coded[-part:]
    collections = {prior: _views(prior, names, columns) for prior in PRIORS}
    one, generator = collections["window"], np.random.default_rng(seed)
    found: dict[str, list[Measured]] = {prior: [] for prior in PRIORS}
    before: dict[tuple[str, str], Estimate] = {}
    for window in range(windows):
        share = MOVES[move](window, windows)
        moved = (generator.random(users) < share)[:, None]
        drawn = (each[generator.integers(0, part, users)] for each in (second, first))
        table = one.table([tuple(row) for row in np.where(moved, *drawn).tolist()])
        entropy, questions = SeededEntropy(1_000 * seed + window), one.questions
        numbers = questions.numbers(random_words(users, entropy=entropy))
        sums = ReportSums(reports=users, values=questions.sums(questions.perturb(numbers, table, entropy=entropy)))
        for prior, collection in collections.items():
            measured = []
            for series, of in zip(collection.series, _SETS, strict=True):
                shape = tuple(len(columns[place]) for place in of)
                truth = (1.0 - share) * joint_of(first[:, of], shape) + share * joint_of(second[:, of], shape)
                question = Question(
                    series=series,
                    window_ms=10_000 * window,
                    final=True,
                    windows=((1.0, (sums,)),),
                    before=before.get((prior, series.name)),
                )
                estimate = before[prior, series.name] = solve_views(collection, question)
                within = np.abs(estimate.joint() - truth) <= 1.96 * estimate.standard_errors()
                measured.append((estimate.distance(truth), within.mean()))
            found[prior].append(Measured(*np.mean(measured, axis=0).tolist()))
    return found


def _views(prior: str, names: Sequence[str], columns: Sequence[Sequence[str]]) -> ViewsCollection:
    document = {
        "collection": "care",
        "mechanism": {"kind": "sampled", "epsilon": 2, "ask": "pairs"},
        "attributes": [{"name": name, "values": values} for name, values in zip(names, columns, strict=True)],
        "estimates": [
            {"name": f"e{number}", "of": [names[place] for place in of], "prior": prior}
            for number, of in enumerate(_SETS)
        ],
        "window": {"size": "10s", "grace": "1s", "returning": 0},
    }
    return ViewsCollection.parse(json.dumps(document))


def _row(name: str, found: dict[str, list[Measured]]) -> Sequence[str]:
    """Summarise the last three quarters of the windows."""
    later = {prior: each[len(each) // 4 :] for prior, each in found.items()}
    errors = {prior: float(np.mean([one.error for one in each])) for prior, each in later.items()}
    covered = {prior: float(np.mean([one.covered for one in each])) for prior, each in later.items()}
    alone, temporal = PRIORS
    return (
        name,
        *(f"{errors[prior]:.4f}" for prior in PRIORS),
        f"{errors[temporal] / errors[alone]:.2f}",
        *(f"{covered[prior]:.2f}" for prior in PRIORS),
    )


def main() -> None:
    """Print the table of a kind."""
    kind, *data = sys.argv[1:]
    table = Table(title=f"{kind}: new users in each window")
    for column in ("population", "alone", "temporal", "ratio", "covered: alone", "temporal"):
        table.add_column(column, justify="left" if column == "population" else "right")
    for move in MOVES:
        table.add_row(*_row(move, views(move, Path(data[0])) if kind == "views" else strings(move)))
    Console(width=118).print(table)


if __name__ == "__main__":
    main()
