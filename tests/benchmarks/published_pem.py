"""PEM as published beside the shipped one: `python -m tests.benchmarks.published_pem`.

As published (Wang, Li and Jha, 2018), all groups are of one size. As many beginnings go on as strings are asked for,
the last group alone shows whole strings, and as many strings are reported, however frequent they look. No reports are
made: the number of those that support a beginning is drawn as it is distributed, a binomial of the group's users.
`--words FILE` has a word and its share on each line; without it the words are those of `zipf_strings`. Each number is
a mean over `--windows`, with its standard error. Seconds a window.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from stream_ldp.kinds import parse_collection
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.method import Supports
from stream_ldp.strings.pem import Pem
from stream_ldp.strings.questions import StringAnswers
from tests.benchmarks.zipf_strings import zipf_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.strings.method import Windows
    from stream_ldp.strings.pem import Group

_USERS, _K = 1_000_000, 32


class _Strings:
    """Strings that users have.

    symbols, shares: of each string, shape (n, length) and (n,).
    """

    def __init__(self, symbols: NDArray[np.int64], shares: NDArray[np.float64]) -> None:
        self.symbols, self.shares = symbols, shares
        self._extended: dict[tuple[int, int], dict[bytes, dict[bytes, float]]] = {}

    def extended(self, letters: int, length: int) -> dict[bytes, dict[bytes, float]]:
        """Return the share of each beginning of a length, by its first letters and by the others."""
        if (letters, length) not in self._extended:
            found: dict[bytes, dict[bytes, float]] = {}
            strings, which = np.unique(self.symbols[:, :length], axis=0, return_inverse=True)
            for string, share in zip(strings, np.bincount(which, weights=self.shares).tolist(), strict=True):
                found.setdefault(string[:letters].tobytes(), {})[string[letters:].tobytes()] = share
            self._extended[letters, length] = found
        return self._extended[letters, length]


@dataclass(frozen=True, kw_only=True)
class _Drawn(Pem):
    """PEM whose counts are drawn.

    strings: that users have.
    users: of each group.
    """

    strings: _Strings
    users: NDArray[np.int64]
    rng: np.random.Generator

    @classmethod
    def like(cls, shipped: Pem, strings: _Strings, rng: np.random.Generator) -> Self:
        given: dict[str, Any] = {each.name: getattr(shipped, each.name) for each in fields(shipped)}
        weights = np.array(cls._weights(shipped))
        users = rng.multinomial(_USERS, weights / weights.sum())
        return cls(**given, strings=strings, users=users, rng=rng)

    @staticmethod
    def _weights(shipped: Pem) -> Sequence[float]:
        return shipped.questions.weights

    def reported(self) -> NDArray[np.integer]:
        """The strings of a ranking, shape (n, length)."""
        ranking = self.find([], k=_K)
        return self.strings.symbols[:0] if ranking is None else ranking.symbols

    def _groups(self, windows: Windows) -> list[Group]:
        nobody = np.zeros(0, dtype=np.int64)
        return [
            [(1.0, StringAnswers(counts=np.array([users]), numbers=nobody, seeds=nobody.astype(np.uint32), rows=()))]
            for users in self.users.tolist()
        ]

    def _supports(self, group: Group, beginnings: NDArray[np.integer], endings: NDArray[np.int64]) -> Supports:
        ((_, answers),) = group
        letters = beginnings.shape[1]
        extended = self.strings.extended(letters, letters + endings.shape[1])
        end = {row.tobytes(): number for number, row in enumerate(endings)}
        held = np.zeros((len(beginnings), len(endings)))
        for place, beginning in enumerate(beginnings):
            for last, share in extended.get(beginning.tobytes(), {}).items():
                if last in end:
                    held[place, end[last]] = share
        counts = self.rng.binomial(answers.reports, self._zero + (self._one - self._zero) * np.minimum(held, 1.0))
        return Supports.of([(1.0, answers.reports, counts.reshape(-1))], one=self._one, zero=self._zero)


class _Published(_Drawn):
    """PEM as published."""

    @staticmethod
    def _weights(shipped: Pem) -> Sequence[float]:
        return [1.0] * len(shipped.lengths)

    def reported(self) -> NDArray[np.integer]:
        """The most frequent extensions of the last group, shape (k, length)."""
        beginnings = np.zeros((1, 0), dtype=np.int64)
        for group, length in zip(self._groups([]), self.lengths, strict=True):
            endings = self._endings(length - beginnings.shape[1])
            supports = self._supports(group, beginnings, endings)
            extended = np.concatenate(
                [np.repeat(beginnings, len(endings), axis=0), np.tile(endings, (len(beginnings), 1))], axis=1
            )
            possible = np.flatnonzero(self.attribute.valid(extended))
            best = np.argsort(-supports.frequency[possible], kind="stable")[:_K]
            beginnings = extended[possible[best]]
        return beginnings


def rows(
    words: Sequence[str], shares: NDArray[np.float64], *, epsilons: Sequence[float], windows: int
) -> Iterator[str]:
    """Yield a row for each epsilon, means over the windows."""
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
        strings = _Strings(symbols, shares)
        top = set(map(tuple, symbols[np.argsort(-shares, kind="stable")[:_K]].tolist()))
        measured = []
        for seed in range(windows):
            rng = np.random.default_rng(seed)
            both = (form.like(collection.method, strings, rng).reported() for form in (_Published, _Drawn))
            measured.append(
                [number for each in both for number in (len(top & set(map(tuple, each.tolist()))), len(each))]
            )
        errors = np.std(measured, axis=0, ddof=1) / np.sqrt(windows)
        cells = (f"{mean:.1f} ± {error:.1f}" for mean, error in zip(np.mean(measured, axis=0), errors, strict=True))
        yield f"| {epsilon:g} | {' | '.join(cells)} |"


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.published_pem")
    parser.add_argument("--words", type=Path, help="a word and its share on each line")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 2.0, 4.0])
    parser.add_argument("--windows", type=int, default=40)
    options = parser.parse_args(given)
    words, shares = zipf_words()
    if options.words:
        pairs = [line.split() for line in options.words.read_text(encoding="ascii").splitlines()]
        words, shares = [word for word, _ in pairs], np.array([float(share) for _, share in pairs])
    for row in rows(words, shares / shares.sum(), epsilons=options.epsilons, windows=options.windows):
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
