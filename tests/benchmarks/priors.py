"""This benchmark measures what windows learn from those before: `python -m tests.benchmarks.priors strings`, or
`python -m tests.benchmarks.priors views nltcs.csv.gz`.

The users of a window are of a population that stays as it is, or moves from one to another a step a window, or
becomes the other all at once in the middle. All, half or none of them are there in every window, and repeat the
answer to their question until they change with the population. Every window is answered alone (`prior: window`) and
with those before it (`prior: temporal`), by the same reports. Some minutes each.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_ldp.evaluation.distance import joint_of
from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.solve import solve as solve_strings
from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.solve import solve as solve_views
from tests.benchmarks.zipf_strings import zipf_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.records.answer import Estimate
    from stream_ldp.strings.answer import StringRanking

    #: By the number of a window, the share of the second population in it.
    Moves = Callable[[int, int], float]
    #: What so many users of the second population (true) and of the first one hold, and a seed.
    Draw = Callable[[NDArray[np.bool_], np.random.Generator], NDArray[np.int64]]
    #: The rows that users report who have two random words each, uint32, shape (n, 2), by what they hold.
    Respond = Callable[[NDArray[np.uint32], NDArray[np.int64], SeededEntropy], NDArray[np.uint8]]

#: How the share of the second population grows, window after window of so many.
MOVES: dict[str, Moves] = {
    "stays": lambda window, windows: 0.0,
    "drifts": lambda window, windows: window / (windows - 1),
    "jumps": lambda window, windows: float(window >= windows // 2),
}
PRIORS = ("window", "temporal")
#: Shares of the users who are there in every window.
RETURNING = (0.0, 0.5, 1.0)
#: Series of windows with noise of their own, over which the errors of a window are averaged, by kind.
SERIES = {"strings": 2, "views": 10}
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


def _reports(
    draw: Draw, respond: Respond, move: str, *, users: int, windows: int, returning: float, seed: int
) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Iterate over windows: the share of the second population, and the rows that the users report."""
    people, noise = np.random.SeedSequence(seed).spawn(2)
    generator, entropy = np.random.default_rng(people), SeededEntropy(noise)
    same = round(returning * users)

    def words(number: int) -> NDArray[np.uint32]:
        return np.stack([random_words(number, entropy=entropy) for _ in range(2)], axis=1)

    of_same = words(same)
    before, after = (respond(of_same, draw(np.full(same, second), generator), entropy) for second in (False, True))
    moves_at = generator.random(same)
    for window in range(windows):
        share = MOVES[move](window, windows)
        new = generator.random(users - same) < share
        yield (
            share,
            np.concatenate(
                [
                    np.where((moves_at < share)[:, None], after, before),
                    respond(words(users - same), draw(new, generator), entropy),
                ]
            ),
        )


def _strings(prior: str, returning: float) -> StringCollection:
    return StringCollection.parse(
        f"""
        collection: words
        mechanism: {{kind: strings, epsilon: 2, k: 32}}
        string: {{name: word, length: 6, alphabet: abcdefghijklmnopqrstuvwxyz}}
        window: {{size: 10s, grace: 1s, returning: {returning}}}
        prior: {prior}
        """
    )


def strings(
    move: str, *, users: int = 100_000, windows: int = 16, returning: float = 0.0, seed: int = 0, words: int = 2_000
) -> dict[str, list[Measured]]:
    """Answer windows of strings with each prior."""
    collections = {prior: _strings(prior, returning) for prior in PRIORS}
    one = collections["window"]
    texts, shares = zipf_words(strings=words, seed=0)
    encoded = one.table([one.string.encode(text) for text in texts]).astype(np.int64)
    # In the second population, other strings are popular.
    other = shares[np.random.default_rng(1).permutation(words)]

    def draw(second: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.int64]:
        drawn = (generator.choice(words, len(second), p=each) for each in (other, shares))
        return encoded[np.where(second, *drawn)]

    def respond(chosen: NDArray[np.uint32], table: NDArray[np.int64], entropy: SeededEntropy) -> NDArray[np.uint8]:
        questions = one.method.questions
        numbers, seeds = questions.numbers(chosen[:, 0]), chosen[:, 1]
        return questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, table), entropy=entropy)

    found: dict[str, list[Measured]] = {prior: [] for prior in PRIORS}
    before: dict[str, StringRanking | None] = dict.fromkeys(PRIORS)
    series = _reports(draw, respond, move, users=users, windows=windows, returning=returning, seed=seed)
    for window, (part, rows) in enumerate(series):
        truth = (1.0 - part) * shares + part * other
        top = [texts[each] for each in np.argsort(-truth, kind="stable")[: one.mechanism_spec.k].tolist()]
        known = dict(zip(texts, truth.tolist(), strict=True))
        for prior, collection in collections.items():
            ranking = solve_strings(
                collection,
                WindowTask(
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


def views(
    move: str, data: Path, *, users: int = 20_000, windows: int = 16, returning: float = 0.0, seed: int = 0
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
    collections = {prior: _views(prior, names, columns, returning) for prior in PRIORS}
    one = collections["window"]

    def draw(of_second: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.int64]:
        drawn = (each[generator.integers(0, part, len(of_second))] for each in (second, first))
        return np.where(of_second[:, None], *drawn)

    def respond(words: NDArray[np.uint32], people: NDArray[np.int64], entropy: SeededEntropy) -> NDArray[np.uint8]:
        table = one.table([tuple(row) for row in people.tolist()])
        return one.questions.perturb(one.questions.numbers(words[:, 0]), table, entropy=entropy)

    found: dict[str, list[Measured]] = {prior: [] for prior in PRIORS}
    before: dict[tuple[str, str], Estimate] = {}
    series = _reports(draw, respond, move, users=users, windows=windows, returning=returning, seed=seed)
    for window, (share, reported) in enumerate(series):
        sums = ReportSums.of(reports=users, values=one.questions.sums(reported))
        for prior, collection in collections.items():
            measured = []
            for asked, of in zip(collection.series, _SETS, strict=True):
                shape = tuple(len(columns[place]) for place in of)
                truth = (1.0 - share) * joint_of(first[:, of], shape) + share * joint_of(second[:, of], shape)
                task = WindowTask(
                    series=asked,
                    window_ms=10_000 * window,
                    final=True,
                    windows=((1.0, (sums,)),),
                    before=before.get((prior, asked.name)),
                )
                estimate = before[prior, asked.name] = solve_views(collection, task)
                within = np.abs(estimate.joint() - truth) <= 1.96 * estimate.standard_errors()
                measured.append((estimate.distance(truth), within.mean()))
            found[prior].append(Measured(*np.mean(measured, axis=0).tolist()))
    return found


def _views(prior: str, names: Sequence[str], columns: Sequence[Sequence[str]], returning: float) -> ViewsCollection:
    document = {
        "collection": "care",
        "mechanism": {"kind": "sampled", "epsilon": 2, "ask": "pairs"},
        "attributes": [{"name": name, "values": values} for name, values in zip(names, columns, strict=True)],
        "estimates": [
            {"name": f"e{number}", "of": [names[place] for place in of], "prior": prior}
            for number, of in enumerate(_SETS)
        ],
        "window": {"size": "10s", "grace": "1s", "returning": returning},
    }
    return ViewsCollection.parse(json.dumps(document))


def _row(name: str, series: Sequence[dict[str, list[Measured]]]) -> Sequence[str]:
    """Summarise the last three quarters of the windows; the worst is of the ratios of the mean errors of a window."""
    errors, covered = (
        {prior: np.array([[each[field] for each in one[prior]] for one in series]).mean(axis=0) for prior in PRIORS}
        for field in (0, 1)
    )
    alone, temporal = PRIORS
    later = slice(len(errors[alone]) // 4, None)
    return (
        name,
        *(f"{errors[prior][later].mean():.4f}" for prior in PRIORS),
        f"{errors[temporal][later].mean() / errors[alone][later].mean():.2f}",
        f"{(errors[temporal] / errors[alone]).max():.2f}",
        *(f"{covered[prior][later].mean():.2f}" for prior in PRIORS),
    )


def _measured(kind: str, data: Sequence[str], of: tuple[str, float, int]) -> dict[str, list[Measured]]:
    move, returning, seed = of
    if kind == "views":
        return views(move, Path(data[0]), returning=returning, seed=seed)
    return strings(move, returning=returning, seed=seed)


def main() -> None:
    """Print the table of a kind."""
    kind, *data = sys.argv[1:]
    table = Table(title=f"{kind}: means of {SERIES[kind]} series")
    numbers = "alone", "temporal", "ratio", "worst", "covered: alone", "temporal"
    for column in ("population, users who return", *numbers):
        table.add_column(column, justify="right" if table.columns else "left")
    rows, series = list(product(MOVES, RETURNING)), SERIES[kind]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        every = [(*row, seed) for row in rows for seed in range(series)]
        found = list(pool.map(partial(_measured, kind, data), every))
    for number, (move, returning) in enumerate(rows):
        table.add_row(*_row(f"{move}, {returning:.0%}", found[series * number : series * (number + 1)]))
    Console(width=118).print(table)


if __name__ == "__main__":
    main()
