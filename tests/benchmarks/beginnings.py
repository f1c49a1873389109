"""This benchmark measures what it would gain if PEM remembered beginnings: `python -m tests.benchmarks.beginnings`.

How many of the true top 32 strings are told, in 8 windows with 100,000 new users each, on the mean of the last 6: by
the method as it is, with and without previous windows; if the frequencies of beginnings were those of several
windows (`remembered`), whose error is less; and if the beginnings of the true top 32 were always kept beside those
that it finds (`known`), which no memory can be better than. Some ten minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.method import TriedStrings
from stream_ldp.strings.pem import Pem
from stream_ldp.strings.solve import solve
from tests.benchmarks.priors import MOVES
from tests.benchmarks.zipf_strings import zipf_words
from tests.strings.examples import counted, drawn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.strings.answer import StringRanking
    from stream_ldp.strings.method import Windows

FORMS = ("alone", "temporal", "remembered", "known")
EPSILONS = (1, 2, 4)
WINDOWS, USERS, WORDS, K = 8, 100_000, 2_000, 32
#: Beginnings that are kept for each string, and the least standard errors above 0 of one, as of PEM.
_KEPT, _MIN_SCORE = 2, 1.0
#: Variance of a frequency that is remembered, in units of that of the previous window: it has moved by as much again.
_MOVED = 2.0


@dataclass(frozen=True, kw_only=True)
class Remembering(Pem):
    """PEM whose choice of beginnings knows more than a window.

    remembers: whether frequencies of the previous window are used.
    known: strings whose beginnings are always kept, shape (n, length).
    past: the frequency and the variance of each beginning that the previous window has kept.
    """

    remembers: bool
    known: NDArray[np.int64]
    past: dict[tuple[int, ...], tuple[float, float]] = field(default_factory=dict)

    def candidates(self, windows: Windows, *, k: int) -> TriedStrings | None:
        beginnings = np.zeros((1, 0), dtype=np.int64)
        kept: dict[tuple[int, ...], tuple[float, float]] = {}
        for group, length in zip(self._groups(windows), self.lengths, strict=True):
            endings = self._endings(length - beginnings.shape[1])
            supports = self._supports(group, beginnings, endings)
            extended = np.concatenate(
                [np.repeat(beginnings, len(endings), axis=0), np.tile(endings, (len(beginnings), 1))], axis=1
            )
            possible = np.flatnonzero(self.attribute.valid(extended))
            extended, every = extended[possible], supports.taken(possible)
            frequency, variance = every.frequency, every.absent_error**2
            names = list(map(tuple, extended.tolist()))
            for place in [place for place, name in enumerate(names) if self.remembers and name in self.past]:
                before, doubt = self.past[names[place]]
                gain = _MOVED * doubt / (_MOVED * doubt + variance[place])
                frequency[place] = before + gain * (frequency[place] - before)
                variance[place] *= gain
            order = np.argsort(-frequency, kind="stable")
            best = order[frequency[order] >= _MIN_SCORE * np.sqrt(variance[order])][: _KEPT * k]
            kept |= {names[place]: (float(frequency[place]), float(variance[place])) for place in best.tolist()}
            beginnings = extended[best]
            if len(self.known) and length < self.attribute.length:
                beginnings = np.unique(np.concatenate([beginnings, self.known[:, :length]]), axis=0)
            if not len(beginnings):
                break
        self.past.clear()
        self.past.update(kept)
        strings = beginnings.reshape(-1, self.attribute.length)
        return TriedStrings(strings, self.supports(windows, strings), every)


def hits(move: str, *, epsilon: int, windows: int = WINDOWS, users: int = USERS) -> Iterator[dict[str, int]]:
    """Answer windows in every form, and count those of the true top that are told."""
    collections = {
        form: StringCollection.parse(
            f"""
            collection: words
            mechanism: {{kind: strings, epsilon: {epsilon}, k: {K}}}
            string: {{name: word, length: 6, alphabet: abcdefghijklmnopqrstuvwxyz}}
            window: {{size: 10s, grace: 1s, returning: 0}}
            prior: {"window" if form == "alone" else "temporal"}
            """
        )
        for form in FORMS
    }
    one = collections["alone"]
    texts, shares = zipf_words(strings=WORDS, seed=0)
    table = one.table([one.string.encode(text) for text in texts]).astype(np.int64)
    other = shares[np.random.default_rng(1).permutation(WORDS)]
    people, noise = np.random.SeedSequence([epsilon, list(MOVES).index(move)]).spawn(2)
    generator, entropy = np.random.default_rng(people), SeededEntropy(noise)
    past: dict[tuple[int, ...], tuple[float, float]] = {}
    before: dict[str, StringRanking | None] = dict.fromkeys(FORMS)
    for window in range(windows):
        part = MOVES[move](window, windows)
        truth = (1.0 - part) * shares + part * other
        top = np.argsort(-truth, kind="stable")[:K]
        reports = counted(one, drawn(one, table[generator.choice(WORDS, users, p=truth)], entropy=entropy))
        told = {}
        for form, collection in collections.items():
            if form in ("remembered", "known"):
                _replace_method(
                    collection,
                    remembers=form == "remembered",
                    known=table[top] if form == "known" else table[:0],
                    past=past if form == "remembered" else {},
                )
            task = WindowTask(
                series=collection.series[0],
                window_ms=10_000 * window,
                final=True,
                windows=((1.0, (reports,)),),
                before=before[form],
            )
            before[form] = ranking = solve(collection, task)
            told[form] = len(
                {each.string for each in ranking.strings or ()} & {texts[place] for place in top.tolist()}
            )
        yield told


def _replace_method(
    collection: StringCollection,
    *,
    remembers: bool,
    known: NDArray[np.int64],
    past: dict[tuple[int, ...], tuple[float, float]],
) -> None:
    method = collection.method
    assert isinstance(method, Pem)
    # A cached property, which is computed once.
    collection.__dict__["method"] = Remembering(
        attribute=method.attribute,
        questions=method.questions,
        response=method.response,
        remembers=remembers,
        known=known,
        past=past,
    )


def main() -> None:
    """Print the table."""
    table = Table(title=f"of the true top {K}, told")
    for column in ("epsilon, population", *FORMS):
        table.add_column(column, justify="right" if column in FORMS else "left")
    for epsilon, move in product(EPSILONS, MOVES):
        found = list(hits(move, epsilon=epsilon))[WINDOWS // 4 :]
        means = (f"{np.mean([each[form] for each in found]):.1f}" for form in FORMS)
        table.add_row(f"{epsilon}, {move}", *means)
    Console(width=118).print(table)


if __name__ == "__main__":
    main()
