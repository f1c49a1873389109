"""The kinds of collections: the one table of them, and the functions that depend on it.

A new kind is a package with a `stream_ldp.pipeline.kind.Kind`, and an entry in `KINDS`.
"""

from __future__ import annotations

import json
from collections import UserDict
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stream_ldp.collection import Collection, CollectionError
from stream_ldp.collection.located import has_key, keys_of, meant, parse_document, parse_model, place_of, read_text
from stream_ldp.deferred import deferred, imported
from stream_ldp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from stream_ldp.pipeline.answer import Answer, WEvent
    from stream_ldp.pipeline.kind import Kind, Rounds
    from stream_ldp.pipeline.leverage import Leverage
    from stream_ldp.pipeline.synthetic import SyntheticRecords
    from stream_ldp.pipeline.window_task import WindowTask


class _Table(UserDict[str, "Kind[Any, Any, Any]"]):
    """Kinds by name, each imported when it is first asked for: who only reports loads no other kind."""

    def __getitem__(self, name: str) -> Kind[Any, Any, Any]:
        kind: Kind[Any, Any, Any] = imported(self.data[name])
        return kind


#: Every kind by its name. A file that shows no kind is read as the first.
KINDS = _Table(
    {
        "records": deferred("stream_ldp.records.kind:RECORDS"),
        "sets": deferred("stream_ldp.sets.kind:SETS"),
        "sampled": deferred("stream_ldp.marginals.kind:SAMPLED"),
        "strings": deferred("stream_ldp.strings.kind:STRINGS"),
        "views": deferred("stream_ldp.views.kind:VIEWS"),
        "pairs": deferred("stream_ldp.pairs.kind:PAIRS"),
        "places": deferred("stream_ldp.places.kind:PLACES"),
    }
)


def kind_of(collection: Collection) -> Kind[Any, Any, Any]:
    """Find the kind of a collection.

    Raises:
        TypeError: no kind in the table has such collections.
    """
    for kind in KINDS.values():
        if kind.has(collection):
            return kind
    raise TypeError(f"a {type(collection).__name__} is of no kind in the table")


def rounds_of(collection: Collection) -> Rounds[Any, Any, Any]:
    """Return the rounds of a collection that asks in rounds.

    Raises:
        TypeError: it does not.
    """
    rounds = kind_of(collection).rounds
    if rounds is None:
        raise TypeError(f"{collection.name} does not ask in rounds")
    return rounds


def synthetic_of(collection: Collection) -> SyntheticRecords:
    """Return how a collection is answered with synthetic records.

    Raises:
        ParameterError: it cannot be.
    """
    found = kind_of(collection).synthetic
    if found is None:
        raise ParameterError(
            f"{collection.name} has no records: synthetic ones are made of collections of joint distributions, by "
            "rr-ldp, k-rr, k-subset or hashed-k-rr, or by `kind: sampled` with `ask`"
        )
    return found


def chunk_class() -> type[Any]:
    """Return the class of the messages that hold synthetic records, one for all kinds that have them."""
    (found,) = {kind.synthetic.chunk for kind in KINDS.values() if kind.synthetic is not None}
    return found


def load_collection(path: str | Path) -> Collection:
    """Read a collection of any kind from a YAML file.

    Raises:
        CollectionError: the file cannot be read, or something in it is wrong.
    """
    return parse_collection(read_text(path), source=str(path))


def parse_collection(text: str, *, source: str = "<collection>") -> Collection:
    """Read a collection of any kind from YAML text.

    The kind of its mechanism decides which other keys the text must have.

    >>> films = parse_collection('''
    ... collection: films
    ... mechanism: {kind: svim, epsilon: 3, k: 3}
    ... items: {names: [alien, brazil, casablanca, dune]}
    ... window: {size: 60s}
    ... ''')
    >>> films.name, films.window.size_ms
    ('films', 60000)

    source: what error messages call the text.

    Raises:
        CollectionError: something in the text is wrong.
        TypeError: it is no text, such as a mapping with the same keys.
    """
    if not isinstance(text, str):
        raise TypeError(f"parse_collection: give the text of a collection file, not a {type(text).__name__}")
    return _parsed(*parse_document(text, source=source), source=source)


def collection_of_document(document: Mapping[str, Any], *, source: str) -> Collection:
    """Return the collection of a `Collection.document`, such as a registration has.

    source: what error messages call it.

    Raises:
        CollectionError: something in it is wrong, or means something else to this release.
    """
    # Its nodes, which have the places; what they hold is text, as in a file, where a document has numbers.
    root, _ = parse_document(json.dumps(document), source=source)
    collection = _parsed(root, document, source=source)
    if collection.document != document:
        raise CollectionError([f"{source}: another release has written it, and means something else by it"])
    return collection


def _parsed(root: Any, document: Mapping[str, Any], *, source: str) -> Collection:
    kind = kind_of_document(root, document, source=source)
    collection: Collection = parse_model(
        kind.collection,
        root,
        document,
        source=source,
        elsewhere=lambda path: _kinds_with(path, kind, document),
    )
    return collection


def _kinds_with(path: Sequence[str | int], kind: Kind[Any, Any, Any], document: Mapping[str, Any]) -> str:
    """Say which kinds have a key of a part of a file that its own kind has not; empty if none has.

    Keys of the whole file are left out: by those, the kind of the file is found.
    """
    others = [
        each for each in KINDS.values() if len(path) > 1 and each is not kind and has_key(each.collection, path)
    ]
    if not others:
        return ""
    words = dict.fromkeys(word for other in others for word in other.mechanisms)
    mine = document["mechanism"]["kind"] if isinstance(document.get("mechanism"), dict) else ""
    found = f"this key needs `mechanism: {{kind: {' or '.join(words)}}}`"
    return f"{found}{_without(kind, document)}" if list(words) == [mine] else found


def _without(kind: Kind[Any, Any, Any], document: Mapping[str, Any]) -> str:
    """Say without which keys a file would be of the kind whose mechanism it names."""
    mechanism = document["mechanism"]
    bare = {"mechanism": {"kind": mechanism["kind"]}}
    keys = [
        f"mechanism.{key}"
        for key in mechanism
        if _takes(kind, {"mechanism": bare["mechanism"] | {key: mechanism[key]}})
    ]
    keys += [key for key in document if key != "mechanism" and _takes(kind, bare | {key: document[key]})]
    return f" without {' and '.join(keys)}" if keys else ""


def _takes(kind: Kind[Any, Any, Any], document: Mapping[str, Any]) -> bool:
    return kind.takes is not None and kind.takes(document)


def kind_of_document(root: Any, document: Mapping[str, Any], *, source: str) -> Kind[Any, Any, Any]:
    """Find the kind of the collection that a document describes, given its nodes too, which have the places.

    Raises:
        CollectionError: no kind has its mechanism, or its other keys are those of another kind.
    """
    return _kind_by_mechanism(root, document, source=source) or _kind_by_keys(document) or next(iter(KINDS.values()))


def _kind_by_mechanism(root: Any, document: Mapping[str, Any], *, source: str) -> Kind[Any, Any, Any] | None:
    """Find the kind that a file's mechanism belongs to; None if the file names no mechanism.

    Raises:
        CollectionError: no kind has a mechanism of that name, or the file's other keys are those of another kind.
    """
    mechanism = document.get("mechanism")
    named = mechanism.get("kind") if isinstance(mechanism, dict) else None
    if not isinstance(named, str):
        return None
    place = place_of(root, ("mechanism", "kind"), source=source)
    for kind in KINDS.values():
        if named in kind.mechanisms and kind.takes is not None and kind.takes(document):
            return kind
    known = {name: kind for kind in _with_own_mechanisms() for name in kind.mechanisms}
    if named not in known:
        raise CollectionError(
            [f"{place}: mechanism.kind: expected {_one_of(known)}, got {named!r}{meant(named, known)}"]
        )
    kind = known[named]
    if document.keys() <= set(keys_of(kind.collection)):
        return kind  # and the keys of other kinds need not be loaded
    shown = _kind_by_keys(document)
    if shown is not None and shown is not kind and not _own_keys(kind, document):
        keys = " and ".join(_own_keys(shown, document))
        raise CollectionError(
            [
                f"{place}: mechanism.kind: {named!r} is for collections of {kind.name}, and {keys} for those of "
                f"{shown.name}: expected {_one_of(shown.mechanisms)}, or no {keys}"
            ]
        )
    return kind


def _kind_by_keys(document: Mapping[str, Any]) -> Kind[Any, Any, Any] | None:
    """Find the kind of a file by the keys that only one kind has; None if it has none of them."""
    return next((kind for kind in _with_own_mechanisms() if _own_keys(kind, document)), None)


def _with_own_mechanisms() -> list[Kind[Any, Any, Any]]:
    """List the kinds that do not take files of a mechanism that is another's, and with it some of its keys."""
    return [kind for kind in KINDS.values() if kind.takes is None]


def _own_keys(kind: Kind[Any, Any, Any], document: Mapping[str, Any]) -> list[str]:
    """List the keys of a file that only this kind has."""
    others = {key for other in _with_own_mechanisms() if other is not kind for key in keys_of(other.collection)}
    return [key for key in keys_of(kind.collection) if key in document and key not in others]


def _one_of(mechanisms: Iterable[str]) -> str:
    *others, last = map(repr, map(str, mechanisms))
    return f"{', '.join(others)} or {last}" if others else last


#: The results for the last collections; a worker has several, and not all are hashable.
_LEVERAGES: dict[tuple[str, str], tuple[Leverage, ...]] = {}
_MAX_LEVERAGES = 256


def leverages_of(collection: Collection) -> tuple[Leverage, ...]:
    """Return what one crafted report can do to the numbers of each series, which is worked out once."""
    key = collection.name, collection.model_dump_json()
    if key not in _LEVERAGES:
        while len(_LEVERAGES) >= _MAX_LEVERAGES:
            _LEVERAGES.pop(next(iter(_LEVERAGES)), None)
        _LEVERAGES[key] = kind_of(collection).leverages(collection)
    return _LEVERAGES[key]


def w_event_of(collection: Collection) -> WEvent:
    """Return what the turns of a collection's users bound.

    Raises:
        ParameterError: its users take none.
    """
    # Not imported above: a client that reports needs no answers.
    from stream_ldp.pipeline.answer import WEvent  # noqa: PLC0415

    if collection.rotate is None:
        raise ParameterError(f"users of {collection.name} take no turns: its file has no rotate")
    return WEvent(
        windows=collection.rotate,
        epsilon=kind_of(collection).per_turn(collection),
        assumption="any two users, whatever they hold and however it changes within them, if the noise of every "
        "report is fresh; a repeated permanent response shows when a value changes, and has a lifetime bound",
    )


def load_solver(collection: Collection) -> None:
    """Import all that the first solve of a collection would import.

    That takes more than a second of processor time, a minute on a busy machine. The first answer would wait as long,
    and the solving thread would compete with the event loop. It is as slow here: run it on a thread of its own.
    """
    kind = kind_of(collection)
    for name in (kind.solve.__module__, kind.leverages.__module__, *kind.libraries(collection)):
        import_module(name)


def solve(collection: Collection, task: WindowTask[Any, Any]) -> Answer:
    """Solve a task.

    This is slow: run it on a thread of its own, never on an event loop.
    """
    # Not imported above: a client that reports solves nothing.
    from stream_ldp.pipeline.leverage import moved  # noqa: PLC0415

    answer: Answer = kind_of(collection).solve(collection, task)
    liars = moved(leverages_of(collection), series=answer.series, reports=answer.reports)
    answer = answer.model_copy(update={"liars": liars})
    answer = answer.with_sources(task.sources)
    if collection.rotate is not None:
        answer = answer.with_turns(w_event_of(collection))
    silent_until_ms = task.silent_until_ms
    return answer if silent_until_ms is None else answer.without_reports(until_ms=silent_until_ms)
