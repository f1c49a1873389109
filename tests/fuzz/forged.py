"""Forge records that are well-formed: bytes choose their numbers, up to where representations end.

What a decoder refuses at once is found by changing bytes. What it takes, and what then falls over it, is found here.
"""

import json
from collections.abc import Callable
from functools import cache
from io import StringIO
from typing import Any

import numpy as np
from rich.console import Console

from stream_ldp.cli.displays.display import Display
from stream_ldp.client.table import table_of
from stream_ldp.collection import Collection
from stream_ldp.kinds import KINDS, kind_of, parse_collection, solve
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.page.history import History
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.answer import Answer, Status
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import Partial, PartialError, Watermark
from stream_ldp.pipeline.statistics import ReportSums, RowCounts, RowTable, Statistic
from stream_ldp.schemas import FOLDER
from tests.marginals.examples import collection_of as sampled_collection
from tests.pairs.examples import collection_of as pairs_collection
from tests.places.examples import collection_of as places_collection
from tests.sets.examples import collection_of as sets_collection
from tests.strings.examples import collection_of as strings_collection
from tests.views.examples import collection_of as views_collection

SURVEY = """
collection: survey
mechanism: {kind: MECHANISM}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
window: {size: 10s, grace: 1s}
estimates:
  - {name: both, of: [bathing, mobility]}
"""

#: By kind; of records, by mechanism.
COLLECTIONS: dict[str, Callable[[], Collection]] = {
    "records": cache(lambda: parse_collection(SURVEY.replace("MECHANISM", "rr-ldp, f: 0.25, p: 0.25, q: 0.75"))),
    "k-rr": cache(lambda: parse_collection(SURVEY.replace("MECHANISM", "k-rr, epsilon: 2"))),
    "sets": cache(sets_collection),
    "sampled": cache(sampled_collection),
    "strings": cache(lambda: strings_collection("epsilon: 4, k: 2", "length: 3, alphabet: abc")),
    "views": cache(views_collection),
    "places": cache(places_collection),
    "pairs": cache(pairs_collection),
}

#: Numbers at which representations end.
_LIMITS = [
    *(0, 1, 2, 3, 10, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**53, 2**62, 2**63 - 1),
    *(-1, -(2**31), -(2**62), -(2**63), 253_402_300_799_999, 253_402_300_800_000, -62_135_596_800_001),
]
_PARTS: list[Any] = [
    *_LIMITS,
    10**18,
    10**30,
    1e308,
    -1e308,
    5e-324,
    0.5,
    1.5,
    None,
    True,
    "",
    "text",
    "\x1b]0;x\x07\n",
    [],
    {},
]


#: Bytes that choose something, of which each may change a part of a message.
_MAX_CHOICES = 256


class Taken(ValueError):
    """What was forged has been refused."""


class _Choices:
    """Choices that bytes make, the first of all possible ones when they have ended."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data[:_MAX_CHOICES], 0

    @property
    def left(self) -> bool:
        return self._place < len(self._data)

    def below(self, bound: int) -> int:
        """Choose a number from 0 to bound - 1."""
        part = self._data[self._place : self._place + (1 if bound <= 256 else 2)]
        self._place += len(part)
        return int.from_bytes(part, "little") % bound if part else 0

    def of(self, choices: list[Any]) -> Any:
        return choices[self.below(len(choices))]


def answers_from(collection: Collection, data: bytes) -> None:
    """Merge forged partials and watermarks, and compute and write the finals that they make due."""
    choices = _Choices(data)
    merge = Merge(collection, partitions=2)
    layout = kind_of(collection).layout(collection)
    merge.expect(layout)
    size_ms, names = collection.window.size_ms, list(layout.tallies())
    taken = False
    for _ in range(1 + choices.below(4)):
        pane_ms = choices.of([0, size_ms, *(limit // size_ms * size_ms for limit in _LIMITS)])
        partial = Partial(
            **_source(collection, choices),
            pane_ms=pane_ms,
            pane_length_ms=size_ms,
            of=choices.of(names),
            segment=choices.below(2),
            end=choices.of([100, *map(abs, _LIMITS)]),
            counts=_counts(collection, layout, choices),
        )
        taken |= _apply(merge, partial)
    for partition in range(2):
        time_ms = choices.of([3 * size_ms, *_LIMITS])
        _apply(merge, Watermark(**_source(collection, choices) | {"partition": partition}, time_ms=time_ms))
    for _ in range(4):
        task = merge.due()
        if task is None:
            break
        answer = solve(collection, task)
        assert str(answer.window)
        read = type(answer).from_record(answer.to_bytes(), answer.headers)
        assert read == answer, "what is published can be read"
        merge.decide(answer)
        merge.forget()
    if not taken:
        raise Taken


def _apply(merge: Merge, record: Partial | Watermark) -> bool:
    try:
        decoded = partials.decode(partials.encode(record, writer="w")[1])
        assert isinstance(decoded, Partial | Watermark)
        merge.apply(decoded)
    except PartialError:
        return False
    return True


def _source(collection: Collection, choices: _Choices) -> dict[str, Any]:
    return {
        "collection": collection.name,
        "fingerprint": collection.fingerprint.hex(),
        "partition": choices.below(2),
        "generation": choices.of([1, 2, *_LIMITS]),
    }


def _counts(collection: Collection, layout: Any, choices: _Choices) -> Statistic:
    """Make counts of valid reports, with rows and numbers in them that the bytes change."""
    width = row_width(layout.bits)
    # Most random rows are not valid in most layouts: of those that differ in one byte, many are.
    drawn = [[choices.below(256) for _ in range(width)] for _ in range(choices.below(6))]
    rows = np.zeros((256 + len(drawn), width), dtype=np.uint8)
    rows[:256, 0] = choices.below(8)
    rows[:256, min(1, width - 1)] = range(256)
    rows[256:] = np.array(drawn, dtype=np.uint8).reshape(-1, width)
    valid = layout.valid(rows)
    tallies = layout.tallies()
    layout.count(tallies, rows[valid])
    (tally, *_) = tallies.values()
    found = next(iter(tally.take_changed(closing=True).values()), None)
    if found is None:
        raise Taken
    if isinstance(found, RowTable) and choices.below(2):
        table = found.counts.astype(np.int64)
        for _ in range(choices.below(4)):
            table[choices.below(len(table))] = min(max(choices.of(_LIMITS), 0), 2**32 - 1)
        return RowTable.of(table, bits=found.bits)
    if isinstance(found, RowTable):
        found = found.distinct()
    if isinstance(found, RowCounts):
        counts, packed = found.counts.copy(), found.rows.copy()
        for _ in range(choices.below(4) if len(counts) else 0):
            place = choices.below(len(counts))
            counts[place] = min(max(choices.of(_LIMITS), 0), 2**32 - 1)
            packed[place, choices.below(packed.shape[1])] = choices.below(256)
        return RowCounts(bits=found.bits, rows=packed, counts=counts)
    values, reports = found.values.copy(), found.reports
    for _ in range(choices.below(4)):
        values[choices.below(len(values))] = choices.of(_LIMITS)
    if choices.below(2):
        reports = abs(choices.of(_LIMITS))
    return ReportSums.of(reports=reports, values=values)


@cache
def _example(name: str) -> str:
    return (FOLDER / "examples" / f"{name}-v1.json").read_text(encoding="utf-8")


def answer_of(kind: str, data: bytes) -> Answer:
    """Change the example of an answer in some places, and read it.

    Raises:
        Taken: it is refused.
    """
    message = KINDS[kind].answer
    document = json.loads(_example(message.__name__.lower()))
    choices = _Choices(data)
    while choices.left and document:  # Nothing is left to be changed of one from which all has been dropped.
        _change(document, choices)
    try:
        answer: Answer = message.from_bytes(json.dumps(document).encode())
    except ValueError as error:
        raise Taken from error
    return answer


def _change(document: Any, choices: _Choices) -> None:
    """Go down into a document, and put something else into one place, or drop or repeat it."""
    part = document
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        if not keys:
            return
        key = choices.of(keys)
        if isinstance(part[key], dict | list) and part[key] and choices.below(8):
            part = part[key]
            continue
        match choices.below(6):
            case 0 if isinstance(part, list):
                part.append(part[key])
            case 1:
                del part[key]
            case _:
                part[key] = choices.of(_PARTS)
        return


def show(kind: str, data: bytes) -> None:
    """Show a forged answer in every way: on a line, in a panel, as JSON and as a table, and to the page."""
    answer = answer_of(kind, data)
    display: Display[Answer] = Display(rows=5)
    assert display.line(answer)
    if answer.status is Status.ANSWERED:
        display.add(answer)
        console = Console(file=StringIO(), force_terminal=True, width=100)
        console.print(display.panel(answer))
        json.loads(display.json(answer))
    table = table_of([answer])
    assert table.to_csv()
    json.loads(table.to_json())
    history = History({answer.collection: {}})
    history.add(answer)
    json.loads(b"".join(history.snapshot()))


def follow(name: str, kind: str, data: bytes) -> None:
    """Start the next final from a forged one."""
    collection = COLLECTIONS[name]()
    choices = _Choices(data[:8])
    merge = Merge(collection, partitions=1)
    layout = kind_of(collection).layout(collection)
    merge.expect(layout)
    answer: Any = answer_of(kind, data[8:])
    fields = {"fingerprint": collection.fingerprint.hex(), "collection": collection.name, "final": True}
    if kind == "records":
        fields["estimate"] = "both"
    answer = answer.model_copy(update=fields)
    rounds = kind_of(collection).rounds
    if rounds is not None:
        try:
            asked = rounds.after(collection, answer)
        except ValueError as error:
            raise Taken from error
        if asked is not None:
            merge.expect(rounds.layout(collection, asked))
    merge.decide(answer)
    source: dict[str, Any] = {
        "collection": collection.name,
        "fingerprint": collection.fingerprint.hex(),
        "partition": 0,
        "generation": 1,
    }
    for pane_ms in range(0, 3 * collection.window.size_ms, collection.window.size_ms):
        start_ms = answer.window.end_ms // collection.window.size_ms * collection.window.size_ms + pane_ms
        partial = Partial(
            **source,
            pane_ms=start_ms,
            pane_length_ms=collection.window.size_ms,
            of=next(iter(layout.tallies())),
            segment=0,
            end=100,
            counts=_counts(collection, layout, choices),
        )
        _apply(merge, partial)
    _apply(merge, Watermark(**source, time_ms=min(answer.window.end_ms + 10**9, 253_402_300_799_999)))
    for _ in range(4):
        task = merge.due()
        if task is None:
            break
        merge.decide(solve(collection, task))
