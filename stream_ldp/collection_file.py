"""A collection file of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.heavy_hitters.methods import Kind
from stream_ldp.item_collection import ItemCollection
from stream_ldp.joint_collection import JointCollection
from stream_ldp.yaml_text import CollectionError, parse_document, parse_model, place_of, read_text

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["AnyCollection", "load_collection", "parse_collection"]

AnyCollection = JointCollection | ItemCollection

_CLASSES: dict[str, type[AnyCollection]] = {"rr-ldp": JointCollection, **dict.fromkeys(Kind, ItemCollection)}


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
        kind = Kind.GFIM if "items" in document else "rr-ldp"
    if kind not in _CLASSES:
        place = place_of(root, ("mechanism", "kind"), source=source)
        raise CollectionError([f"{place}: mechanism.kind: expected {_known()}, got {kind!r}"])
    return parse_model(_CLASSES[kind], root, document, source=source)


def _known() -> str:
    *others, last = map(repr, map(str, _CLASSES))
    return f"{', '.join(others)} or {last}"
