"""This benchmark measures how far the errors of strings can be trusted: `python -m tests.benchmarks.string_coverage`.

Four populations of 100,000 users: 2,000 strings by Zipf's law with an exponent of 1.2, and of 0.8; 300 that are
nearly as frequent as each other; and some of 2 to 6 letters. How many of the top 32 are told, how many others, how
far shares are off (root mean square), and how many +-1.96 standard errors hold the truth. Means of 24 windows alone,
and of the last 6 of 8 windows of 4 series that learn from each other, with new users or half of them the same. Some
minutes.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.strings.answer import StringRanking
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.solve import solve
from tests.benchmarks.zipf_strings import zipf_words

USERS, K = 100_000, 32
EPSILONS = (1, 2, 4)
ALONE, SERIES, WINDOWS, FIRST = 24, 4, 8, 2
#: Share of the users who return, None where windows are solved alone.
RETURNING = (None, 0.0, 0.5)


class Reported(NamedTuple):
    """What is told in one window.

    found: strings of the true top.
    false: strings that are not of the true top.
    off: by how much each share is off, shape (strings,).
    held: whether the interval of each holds the truth, shape (strings,).
    """

    found: int
    false: int
    off: NDArray[np.float64]
    held: NDArray[np.bool_]


def _of_any_length() -> tuple[list[str], NDArray[np.float64]]:
    texts, shares = zipf_words(seed=5)
    lengths = np.random.default_rng(6).integers(2, 7, len(texts)).tolist()
    sums: dict[str, float] = {}
    for text, length, share in zip(texts, lengths, shares.tolist(), strict=True):
        sums[text[:length]] = sums.get(text[:length], 0.0) + share
    return list(sums), np.array(list(sums.values()))


#: Strings and the share of the users who have each, by the name of the population.
POPULATIONS = {
    "Zipf, 1.2": zipf_words(),
    "Zipf, 0.8": zipf_words(exponent=0.8, seed=3),
    "nearly equal": zipf_words(strings=300, exponent=0.3, seed=4),
    "2 to 6 letters": _of_any_length(),
}


def windows(
    population: str, *, epsilon: int, returning: float | None, seed: int, count: int, users: int = USERS
) -> list[Reported]:
    """Answer windows one after another; with `returning` None, each of them alone."""
    collection = StringCollection.parse(
        f"""
        collection: words
        mechanism: {{kind: strings, epsilon: {epsilon}, k: {K}}}
        string: {{name: word, length: 6, alphabet: abcdefghijklmnopqrstuvwxyz}}
        window: {{size: 10s, grace: 1s{"" if returning is None else f", returning: {returning}"}}}
        """
    )
    texts, shares = POPULATIONS[population]
    table = collection.table([collection.string.encode(text) for text in texts]).astype(np.int64)
    known = dict(zip(texts, shares.tolist(), strict=True))
    top = {texts[place] for place in np.argsort(-shares, kind="stable")[:K].tolist()}
    people, noise = np.random.SeedSequence(seed).spawn(2)
    generator, entropy = np.random.default_rng(people), SeededEntropy(noise)

    def rows(number: int) -> NDArray[np.uint8]:
        questions = collection.method.questions
        numbers = questions.numbers(random_words(number, entropy=entropy))
        seeds = random_words(number, entropy=entropy)
        strings = table[generator.choice(len(texts), number, p=shares)]
        return questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, strings), entropy=entropy)

    same = rows(round((returning or 0.0) * users))
    told: list[Reported] = []
    before: StringRanking | None = None
    for window in range(count):
        reports = RowCounts.of(np.concatenate([same, rows(users - len(same))]), bits=collection.bits)
        before = solve(
            collection,
            WindowTask(
                series=collection.series[0],
                window_ms=10_000 * window,
                final=True,
                windows=((1.0, (reports,)),),
                before=before,
            ),
        )
        strings = before.strings or ()
        found = len({each.string for each in strings} & top)
        off = np.array([each.raw - known.get(each.string, 0.0) for each in strings])
        errors = np.array([each.standard_error for each in strings])
        told.append(Reported(found, len(strings) - found, off, np.abs(off) <= 1.96 * errors))
    return told


def _measured(of: tuple[str, int, float | None]) -> list[Reported]:
    population, epsilon, returning = of
    if returning is None:
        return windows(population, epsilon=epsilon, returning=None, seed=epsilon, count=ALONE)
    series = (
        windows(population, epsilon=epsilon, returning=returning, seed=100 * epsilon + seed, count=WINDOWS)
        for seed in range(SERIES)
    )
    return [told for one in series for told in one[FIRST:]]


def main() -> None:
    """Print the table."""
    table = Table(title=f"Top {K}: found, false, how far off (1e-3), and how many intervals hold the truth")
    for column in ("population", "epsilon", "alone", "with new users", "half returning"):
        table.add_column(column, justify="right" if table.columns else "left")
    cells = list(product(POPULATIONS, EPSILONS, RETURNING))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        measured = dict(zip(cells, pool.map(_measured, cells), strict=True))
    for population, epsilon in product(POPULATIONS, EPSILONS):
        row = []
        for returning in RETURNING:
            found, false, off, held = zip(*measured[population, epsilon, returning], strict=True)
            far = 1e3 * np.sqrt(np.mean(np.concatenate(off) ** 2))
            row.append(f"{np.mean(found):.1f}, {np.mean(false):.1f}, {far:.1f}, {np.concatenate(held).mean():.2f}")
        table.add_row(population, str(epsilon), *row)
    Console(width=118).print(table)


if __name__ == "__main__":
    main()
