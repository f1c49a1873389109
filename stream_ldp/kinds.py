"""The kinds of collections: what belongs to each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.collection import CollectionError
from stream_ldp.collection.located import parse_document, parse_model, place_of, read_text
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import EstimateSpec, JointCollection
from stream_ldp.records.layout import JointLayout
from stream_ldp.records.solve import solve as solve_records
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.collection import ItemCollection, PhaseSeries
from stream_ldp.sets.layout import PhaseLayout, asked
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.solve import solve as solve_sets

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.collection import Collection, Series
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.merging import Question

__all__ = [
    "Answer",
    "AnyCollection",
    "answer_from_bytes",
    "layout_of",
    "load_collection",
    "parse_collection",
    "solve",
    "statistic_of",
]

Answer = Estimate | Ranking

AnyCollection = JointCollection | ItemCollection

_CLASSES: dict[str, type[AnyCollection]] = {"rr-ldp": JointCollection, **dict.fromkeys(METHODS, ItemCollection)}


def load_collection(path: str | Path) -> AnyCollection:
    """Read a collection from a YAML file.

    Raises:
        CollectionError: it cannot be read, or something in it is wrong.
    """
    return parse_collection(read_text(path), source=str(path))


def parse_collection(text: str, *, source: str = "<collection>") -> AnyCollection:
    """Read a collection from YAML text; `source` names it in problems.

    The kind of its mechanism says what else there has to be.

    Raises:
        CollectionError: something in it is wrong.
    """
    root, document = parse_document(text, source=source)
    mechanism = document.get("mechanism")
    kind = mechanism.get("kind") if isinstance(mechanism, dict) else None
    if not isinstance(kind, str):
        # Without a kind, what else there is tells what was meant.
        kind = "gfim" if "items" in document else "rr-ldp"
    if kind not in _CLASSES:
        place = place_of(root, ("mechanism", "kind"), source=source)
        raise CollectionError([f"{place}: mechanism.kind: expected {_known()}, got {kind!r}"])
    return parse_model(_CLASSES[kind], root, document, source=source)


def _known() -> str:
    *others, last = map(repr, map(str, _CLASSES))
    return f"{', '.join(others)} or {last}"


def layout_of(collection: Collection) -> Layout:
    """What batches under the collection's own fingerprint hold."""
    match collection:
        case JointCollection():
            return JointLayout(collection)
        case ItemCollection():
            return PhaseLayout(collection)
        case _:
            raise TypeError(f"no layout for a {type(collection).__name__}")


def statistic_of(series: Series, before: Answer | None) -> tuple[str, ...] | None:
    """Names the statistic that the answer to a window is made from; None where nothing was asked.

    before: the final answer that it goes on from.

    Whoever can write a round can ask the clients something else in the same phase. Their answers have another name
    than those to what the epoch's own final has asked, and are never looked at.
    """
    if not isinstance(series, PhaseSeries) or series.number == 1:
        return series.of
    if not isinstance(before, Ranking) or before.next_fingerprint is None:
        return None
    return asked(series, before.next_fingerprint)


def answer_from_bytes(collection: Collection, data: bytes) -> Answer:
    """An answer of a collection, as it was published.

    Raises:
        ValueError: not one, or of a schema version that this release does not read.
    """
    return Ranking.from_bytes(data) if isinstance(collection, ItemCollection) else Estimate.from_bytes(data)


def solve(collection: Collection, question: Question) -> Answer:
    """Answer a question.

    Heavy: it belongs on a thread of its own, never on an event loop.
    """
    match collection, question.series:
        case JointCollection(), EstimateSpec() as spec:
            return solve_records(collection, spec, question)
        case ItemCollection(), PhaseSeries() as phase:
            return solve_sets(collection, phase, question)
        case _:
            raise TypeError(f"a {type(collection).__name__} has no {type(question.series).__name__}")
