"""The collections that runs are about, one of each kind, and what honest users report to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.kinds import kind_of
from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.pipeline import wire
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.sampling import respond
from tests.chaos.oracle import Form
from tests.service import harness
from tests.views.examples import users

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.sets.rounds import Round

_WINDOW = "min_reports: 1\nwindow: {{{{size: {size}, grace: 500ms, idle_timeout: {idle}, {more}}}}}\n"

_WINDOWS = {
    "tumbling": {"size": "1s", "more": "ahead: 5s", "period": ""},
    "hop": {"size": "2s", "more": "hop: 500ms", "period": ""},
    "memory": {"size": "1s", "more": "memory: 0.5", "period": ""},
    "learning": {"size": "1s", "more": "ahead: 5s, returning: 0", "period": ""},
    "linked": {"size": "1s", "more": "ahead: 5s", "period": "linked: 4s\n"},
    # All answers to a phase come at the end of its window, which then closes in a second or two however long it is;
    # without answers, it takes half a minute, time for workers to come back.
    "phases": {"size": "30s", "more": "ahead: 5s", "period": ""},
}

#: Windows of collections: those that learn assume that no user returns, those that are linked that some do.
_LEARNING = ("tumbling", "learning", "hop", "memory")
_LINKED = ("tumbling", "linked", "hop", "memory")

#: Users of each batch of answers to a phase, and batches.
_ANSWERS, _BATCHES = 12, 24

#: Milliseconds before the end of a window in which all answers to its phase come.
ANSWERED_MS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of collections.

    text: of the file, with places for its name and its windows.
    batches: makes one good batch of random reports for each event time; None if users answer phase after phase.
    windows: those that its collections may have.
    """

    text: str
    batches: Callable[..., list[bytes]] | None
    windows: tuple[str, ...] = _LEARNING


def text_of(kind: str, window: str, *, idle: bool) -> str:
    """Write the file of a collection, with a place for its name; `idle` lets silent partitions be idle."""
    # What a phase asks is known once silent partitions hold the previous window open no longer.
    timeout = "1500ms" if idle or window == "phases" else "never"
    return KINDS[kind].text.format(idle=timeout, **_WINDOWS[window])


def forms(collection: Any, rounds: Iterable[Round] = ()) -> dict[bytes, Form]:
    """Return the forms of the batches that count, by fingerprint: of the collection, and of its rounds."""
    if not isinstance(collection, ItemCollection):
        return {collection.fingerprint: _form(kind_of(collection).layout(collection))}
    size, phases = collection.window.size_ms, len(collection.method.phases)
    first = _form(kind_of(collection).layout(collection), asked=lambda start: start // size % phases == 0)
    kind = kind_of(collection).rounds
    assert kind is not None
    later = {each.fingerprint: _form(kind.layout(collection, each), asked=_only(each.start_ms)) for each in rounds}
    return {collection.fingerprint: first, **later}


def _only(window_ms: int) -> Callable[[int], bool]:
    return lambda start: start == window_ms


def _form(layout: Any, asked: Callable[[int], bool] = lambda _: True) -> Form:
    width = (layout.bits + 7) // 8

    def valid(body: bytes) -> bool:
        return bool(layout.valid(np.frombuffer(body, dtype=np.uint8).reshape(-1, width)).all())

    return Form(width=width, bits=layout.bits, valid=valid, asked=asked)


def answers(collection: ItemCollection, asked: Round, *, rng: np.random.Generator) -> list[bytes]:
    """Make the answers of some users to a round at its window's end; low items are frequent (Zipf's law)."""
    weights = 1.0 / np.arange(1, collection.items.count + 1)
    drawn = rng.choice(collection.items.count, size=(_ANSWERS * _BATCHES, 5), p=weights / weights.sum())
    sets = ItemSets.of(row[: rng.integers(6)] for row in drawn.tolist())
    rows = respond(collection.method, asked.inquiry, sets, entropy=SeededEntropy(int(rng.integers(2**32))))
    last = asked.end_ms - ANSWERED_MS
    return [
        _batch(asked.fingerprint, last + ANSWERED_MS * place // _BATCHES, part)
        for place, part in enumerate(np.array_split(rows, _BATCHES))
    ]


def _batch(fingerprint: bytes, time_ms: int, rows: NDArray[np.uint8]) -> bytes:
    return wire.encode(wire.Batch(fingerprint=fingerprint, batch_id=os.urandom(16), time_ms=time_ms, rows=rows))


def _batches(
    rows_of: Callable[[Any, int, np.random.Generator], NDArray[np.uint8]],
) -> Callable[..., list[bytes]]:
    def batches(collection: Any, times_ms: Sequence[int], *, reports: int, rng: np.random.Generator) -> list[bytes]:
        return [_batch(collection.fingerprint, time_ms, rows_of(collection, reports, rng)) for time_ms in times_ms]

    return batches


def _of_named_values(collection: Any, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Name values at random, in as many bits each as docs/wire.md says."""
    rows, place = np.zeros(reports, dtype=np.uint64), 0
    for size in collection.sizes:
        rows |= rng.integers(size, size=reports).astype(np.uint64) << np.uint64(place)
        place += (size - 1).bit_length()
    return np.ascontiguousarray(rows.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : (place + 7) // 8])


def _of_strings(collection: Any, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    entropy, questions = SeededEntropy(int(rng.integers(2**32))), collection.method.questions
    words = [collection.string.encode(word) for word in ("a", "abc", "cab")]
    table = collection.table([words[each] for each in rng.choice(3, reports, p=[0.6, 0.3, 0.1])])
    numbers, seeds = (
        questions.numbers(random_words(reports, entropy=entropy)),
        random_words(reports, entropy=entropy),
    )
    made: NDArray[np.uint8] = questions.perturb(
        numbers, seeds, questions.inputs(numbers, seeds, table), entropy=entropy
    )
    return made


def _of_places(collection: Any, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    table = collection.table([(place, 0, place % 2) for place in rng.integers(5, size=reports).tolist()])
    made: NDArray[np.uint8] = collection.questions.perturb(
        collection.chosen(table), table, entropy=SeededEntropy(int(rng.integers(2**32)))
    )
    return made


def _of_answers(collection: Any, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    table = collection.table([(int(each % 3), float(each), "ab"[each % 2]) for each in rng.integers(9, size=reports)])
    return _answered(collection, table, rng)


def _of_views(collection: Any, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    return _answered(collection, users(reports, seed=int(rng.integers(2**32))), rng)


def _answered(collection: Any, table: Any, rng: np.random.Generator) -> NDArray[np.uint8]:
    entropy = SeededEntropy(int(rng.integers(2**32)))
    numbers = collection.questions.numbers(random_words(len(table), entropy=entropy))
    made: NDArray[np.uint8] = collection.questions.perturb(numbers, table, entropy=entropy)
    return made


def _of_records(mechanism: str) -> str:
    return (
        f"""
collection: {{{{name}}}}
mechanism: {{{{{{{{{mechanism}}}}}}}}}
"""
        + """attributes:
  - {{{{name: bathing, values: [no, yes]}}}}
  - {{{{name: mobility, values: [none, some, full]}}}}
"""
        + _WINDOW
        + """{period}estimates:
  - {{{{name: bathing-mobility, of: [bathing, mobility], method: lremh, every: 500ms}}}}
"""
    )


def _of_items(mechanism: str) -> str:
    return (
        f"""
collection: {{{{name}}}}
mechanism: {{{{{{{{{mechanism}}}}}}}}}
items: {{{{{{{{size: 32}}}}}}}}
every: 500ms
"""
        + _WINDOW
    )


#: By name.
KINDS = {
    "records": Kind(
        text=_of_records("kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75"), batches=harness.batches, windows=_LINKED
    ),
    "k-rr": Kind(text=_of_records("kind: k-rr, epsilon: 2"), batches=_batches(_of_named_values)),
    "fresh": Kind(text=_of_records("kind: k-rr, epsilon: 4, per_report: 2"), batches=_batches(_of_named_values)),
    "strings": Kind(
        text="""
collection: {{name}}
mechanism: {{{{kind: strings, epsilon: 4, k: 4}}}}
string: {{{{name: word, length: 3, alphabet: abc}}}}
every: 500ms
"""
        + _WINDOW,
        batches=_batches(_of_strings),
    ),
    "places": Kind(
        text="""
collection: {{name}}
mechanism: {{{{kind: places, epsilon: [0.5, 2]}}}}
places: {{{{north: [a, b], south: [c, d, e]}}}}
every: 500ms
"""
        + _WINDOW,
        batches=_batches(_of_places),
    ),
    "sampled": Kind(
        text="""
collection: {{name}}
mechanism: {{{{kind: sampled, epsilon: 2, cohorts: 4}}}}
attributes:
  - {{{{name: diet, values: [meat, fish, plants]}}}}
  - {{{{name: age, range: [0, 8]}}}}
  - {{{{name: site, candidates: [a, b]}}}}
every: 500ms
"""
        + _WINDOW,
        batches=_batches(_of_answers),
    ),
    "views": Kind(
        text="""
collection: {{name}}
mechanism: {{{{kind: sampled, epsilon: 4, ask: pairs}}}}
attributes:
  - {{{{name: walks, values: [no, yes]}}}}
  - {{{{name: bathes, values: [no, yes]}}}}
  - {{{{name: diet, values: [meat, fish, plants]}}}}
  - {{{{name: region, values: [north, south]}}}}
estimates:
  - {{{{name: care, of: [bathes, walks, diet], every: 500ms}}}}
"""
        + _WINDOW,
        batches=_batches(_of_views),
    ),
    "svim": Kind(text=_of_items("kind: svim, epsilon: 4, k: 4"), batches=None, windows=("phases",)),
    "gfim": Kind(text=_of_items("kind: gfim, epsilon: 4, k: 4, set_size: 5"), batches=None, windows=("phases",)),
    "loloha": Kind(text=_of_items("kind: loloha, epsilon: 2, k: 4, set_size: 5"), batches=None, windows=("phases",)),
}
