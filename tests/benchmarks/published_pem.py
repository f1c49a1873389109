"""PEM as published beside the shipped one, on the same users: `python -m tests.benchmarks.published_pem`.

As published (Wang, Li and Jha, 2018), all groups are of one size. As many beginnings go on as strings are asked for,
the last group alone shows whole strings, and as many strings are reported, however frequent they look. `--words FILE`
has a word and its share on each line; without it the words are those of `zipf_strings`. A row takes 15 seconds of one
core.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.kinds import parse_collection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.pem import Pem
from tests.benchmarks.zipf_strings import zipf_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.strings.method import Windows

_USERS, _K = 1_000_000, 32


class _Published(Pem):
    """PEM whose groups are of one size."""

    @classmethod
    def like(cls, shipped: Pem) -> _Published:
        questions = tuple(replace(each, weight=1.0) for each in shipped.questions.questions)
        given: dict[str, Any] = {each.name: getattr(shipped, each.name) for each in fields(shipped)}
        return cls(**{**given, "questions": replace(shipped.questions, questions=questions)})

    def reported(self, windows: Windows) -> NDArray[np.int64]:
        """The most frequent extensions of the last group, shape (k, length)."""
        beginnings = np.zeros((1, 0), dtype=np.int64)
        for group, length in zip(self._groups(windows), self.lengths, strict=True):
            endings = self._endings(length - beginnings.shape[1])
            supports = self._supports(group, beginnings, endings)
            extended = np.concatenate(
                [np.repeat(beginnings, len(endings), axis=0), np.tile(endings, (len(beginnings), 1))], axis=1
            )
            possible = np.flatnonzero(self.attribute.valid(extended))
            best = np.argsort(-supports.frequency[possible], kind="stable")[:_K]
            beginnings = extended[possible[best]]
        return beginnings


def found(method: Pem, symbols: NDArray[np.int64], counts: NDArray[np.int64], *, seed: int) -> tuple[int, int]:
    """Return how many of the most frequent strings one window reports, and how many strings in all.

    symbols: of each string, shape (n, length).
    counts: users who have each, shape (n,).
    """
    rng = np.random.default_rng(seed)
    questions, owners = method.questions, np.repeat(np.arange(len(symbols)), counts)
    numbers = np.searchsorted(np.cumsum(questions.shares), rng.random(len(owners)), side="right")
    numbers = np.minimum(numbers, len(questions.questions) - 1)
    seeds = rng.integers(0, 2**32, len(owners), dtype=np.uint32)
    inputs = questions.inputs(numbers, seeds, symbols[owners])
    answers = questions.answers(questions.perturb(numbers, seeds, inputs, entropy=SeededEntropy(seed)))
    if isinstance(method, _Published):
        reported = method.reported([(1.0, answers)])
    else:
        ranking = method.find([(1.0, answers)], k=_K)
        reported = symbols[:0] if ranking is None else np.asarray(ranking.symbols)
    top = set(map(tuple, symbols[np.argsort(-counts, kind="stable")[:_K]].tolist()))
    return len(top & set(map(tuple, reported.tolist()))), len(reported)


def rows(
    words: Sequence[str], shares: NDArray[np.float64], *, epsilons: Sequence[float], seeds: Sequence[int]
) -> Iterator[str]:
    """Yield a row for each epsilon, means over the seeds."""
    yield "| epsilon | found, as published | reported | found, as shipped | reported |"
    yield "|---:|---:|---:|---:|---:|"
    for epsilon in epsilons:
        string = f"{{name: word, length: {max(map(len, words))}, alphabet: abcdefghijklmnopqrstuvwxyz}}"
        collection = parse_collection(
            f"{{collection: words, mechanism: {{kind: strings, epsilon: {epsilon}}}, string: {string}, "
            "window: {size: 1h}}"
        )
        assert isinstance(collection, StringCollection)
        assert isinstance(collection.method, Pem)
        symbols = np.array([collection.string.encode(word) for word in words], dtype=np.int64)
        measured = []
        for seed in seeds:
            counts = np.random.default_rng(1_000 + seed).multinomial(_USERS, shares)
            both = (_Published.like(collection.method), collection.method)
            measured.append([number for each in both for number in found(each, symbols, counts, seed=seed)])
        yield f"| {epsilon:g} | {' | '.join(f'{each:.1f}' for each in np.mean(measured, axis=0))} |"


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.published_pem")
    parser.add_argument("--words", type=Path, help="a word and its share on each line")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 2.0, 4.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args(given)
    words, shares = zipf_words()
    if options.words:
        pairs = [line.split() for line in options.words.read_text(encoding="ascii").splitlines()]
        words, shares = [word for word, _ in pairs], np.array([float(share) for _, share in pairs])
    for row in rows(words, shares / shares.sum(), epsilons=options.epsilons, seeds=options.seeds):
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
