"""Measure key-value data against the published mechanisms: their errors by formula, and ours by formula and measured.

python -m tests.benchmarks.pairs [--users 50000] [--repeats 2000]

PCKV is by unary encoding and by k-RR with its amplification (Gu et al., 2020, sections 4 and 5), PrivKV the first
iteration of PrivKVM (Ye et al., 2019), which asks about any key, held or not, and halves epsilon.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pairs.collection import PairsCollection
from stream_ldp.pairs.question import excludes, variance_of_share
from stream_ldp.pairs.solve import pairs_of
from stream_ldp.questions.answers import gathered


def composed(of_key: float, of_number: float) -> float:
    """Return the epsilon of PCKV by unary encoding (Gu et al., 2020, Theorem 2), of the budgets of key and number."""
    return max(of_number, of_key + math.log(2 / (1 + math.exp(-of_number))))


def enumerated(of_key: float, of_number: float) -> float:
    """Return the same by enumerating two keys: each sends none, low or high, and a user holds either, low or high."""
    a, b = Fraction(1, 2), Fraction(1 / (1 + math.exp(of_key)))
    p = Fraction(math.exp(of_number) / (1 + math.exp(of_number)))
    other = (1 - b, b / 2, b / 2)
    own = {1: (1 - a, a * p, a * (1 - p)), 2: (1 - a, a * (1 - p), a * p)}
    users = [(own[end], other) for end in own] + [(other, own[end]) for end in own]
    return max(
        math.log(one[0][i] * one[1][j] / (two[0][i] * two[1][j]))
        for one, two in product(users, repeat=2)
        for i, j in product(range(3), repeat=2)
    )


def pckv_unary(epsilon: float, padding: int) -> tuple[float, float]:
    """Return n x variance of the share of a key that few hold, and of the sum of its ends, -1 and 1."""
    b, p = 2 / (math.exp(epsilon) + 3), math.exp(epsilon) / (math.exp(epsilon) + 1)
    return padding**2 * b * (1 - b) / (0.5 - b) ** 2, padding**2 * b / (0.5 * (2 * p - 1)) ** 2


def pckv_direct(epsilon: float, padding: int, keys: int) -> tuple[float, float]:
    """Return the same of PCKV by k-RR over the keys and as many dummies as slots."""
    odds, size = padding * math.expm1(epsilon), keys + padding
    a, p = (odds + 2) / (odds + 2 * size), (odds + 1) / (odds + 2)
    b = (1 - a) / (size - 1)
    return padding**2 * b * (1 - b) / (a - b) ** 2, padding**2 * b / (a * (2 * p - 1)) ** 2


def privkv(epsilon: float, keys: int) -> tuple[float, float]:
    """Return the same of PrivKV: of a share, with one of all keys asked about, and of the sum of ends."""
    p = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    return keys * p * (1 - p) / (2 * p - 1) ** 2, keys * (1 - p) / (p * (2 * p - 1)) ** 2


def collection_of(keys: int, epsilon: float, padding: int) -> PairsCollection:
    return PairsCollection.model_validate(
        {
            "collection": "a",
            "mechanism": {"kind": "pairs", "epsilon": epsilon, "padding": padding},
            "keys": {"names": [f"k{number}" for number in range(keys)], "range": [-1, 1]},
            "window": {"size": "1m"},
        }
    )


def formulas() -> Iterator[str]:
    yield (
        "| keys | padding | epsilon | share | PCKV, unary | PCKV, k-RR | PrivKV | ends | PCKV, unary | PCKV, k-RR "
        "| PrivKV |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for keys, padding in ((8, 1), (8, 4), (100, 1), (100, 4)):
        for epsilon in (0.5, 1.0, 2.0, 4.0):
            oracle = collection_of(keys, epsilon, padding).question.randomizer
            p, q = oracle.support
            here = variance_of_share(oracle, padding=padding), padding**2 * 2 * q / (p - q) ** 2
            if not excludes(oracle):
                here = here[0], here[0]
            others = pckv_unary(epsilon, padding), pckv_direct(epsilon, padding, keys), privkv(epsilon, keys)
            share, ends = ([f"{each[which]:.3g}" for each in (here, *others)] for which in (0, 1))
            yield f"| {keys} | {padding} | {epsilon:g} | {' | '.join(share)} | {' | '.join(ends)} |"


#: Keys that a user draws, the same one perhaps more than once.
DRAWS = 4


def population(shape: str, keys: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the chance that a draw is of each key, Gaussian or falling by a power, and the mean of its numbers."""
    ranks = np.arange(keys)
    if shape == "gaussian":
        shares, means = np.exp(-0.5 * ((ranks - keys / 2) / (keys / 8)) ** 2), np.sin(ranks)
    else:
        shares, means = 1 / (1 + ranks), 1 - 2 * ranks / keys
    return shares / shares.sum(), 0.8 * means


def counts(collection: PairsCollection, shape: str, users: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw the sums of the reports of users who hold up to four keys each.

    Each report is of a user drawn from the population, so that reports are independent, and alike.
    """
    question, keys = collection.question, len(collection.keys.names)
    assert question.excludes, "a report supports more than one value: reports are no draws of one"
    chances, means = population(shape, keys)
    drawn = (1 - (1 - chances) ** DRAWS) / DRAWS
    of_ends = np.stack([drawn * (0.5 - means / 2), drawn * (0.5 + means / 2)], axis=1).ravel()
    empty = question.randomizer.counters - 2 * keys
    p, q = question.randomizer.support
    sent = q + (p - q) * np.concatenate([of_ends, np.full(empty, (1 - of_ends.sum()) / empty)])
    # The number of answers to a question precedes their sums.
    return np.concatenate([[users], random.multinomial(users, sent / sent.sum())])


def measured(*, users: int, repeats: int) -> Iterator[str]:
    yield "| users hold | epsilon | share: mse | of stated | covered | mean: mse | of stated | covered | means |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    keys = 50
    for shape in ("gaussian", "power law"):
        for epsilon in (1.0, 2.0, 4.0):
            collection = collection_of(keys, epsilon, 4)
            chances, means = population(shape, keys)
            shares, means = 1 - (1 - chances) ** DRAWS, means / 2 + 0.5
            rows = []
            for repeat in range(repeats):
                sums = counts(collection, shape, users, np.random.default_rng(repeat))
                found = pairs_of(gathered(collection.questions, [(1.0, sums)])[0])
                off, told = found.frequency - shares, ~np.isnan(found.mean)
                of_mean, errors = (found.mean - means)[told], found.mean_error[told]
                rows.append(
                    [
                        (off**2).mean(),
                        (found.frequency_error**2).mean(),
                        (np.abs(off) < 1.96 * found.frequency_error).mean(),
                        (of_mean**2).mean(),
                        (errors**2).mean(),
                        (np.abs(of_mean) < 1.96 * errors).mean(),
                        told.mean(),
                    ]
                )
            mse, stated, covered, of_means, stated_means, covered_means, share = np.nanmean(rows, axis=0).tolist()
            yield (
                f"| {shape} | {epsilon:g} | {mse:.2e} | {mse / stated:.2f} | {covered:.2f} | {of_means:.2e} | "
                f"{of_means / stated_means:.2f} | {covered_means:.2f} | {share:.2f} |"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=2_000)
    given = parser.parse_args()
    for line in (*formulas(), "", *measured(users=given.users, repeats=given.repeats)):
        sys.stdout.write(line + "\n")
