"""This module holds what the commands do with each kind of collection, by the names in `stream_ldp.kinds.KINDS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_ldp.cli.deferred import Deferred
from stream_ldp.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream_ldp.cli.displays.display import Display
    from stream_ldp.collection import Collection

__all__ = ["FACES", "Face", "face_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Face:
    """A face holds what the commands do with one kind of collection.

    simulate: plays a population, see `stream_ldp.cli.simulation.options.SimulateOptions`.
    display: makes the display that `watch` shows, beside the truth in a file, with at most so many rows.
    audited: makes what `audit` checks, see `stream_ldp.cli.audited.audited.Audited`.
    """

    simulate: Callable[..., None]
    display: Callable[..., Display[Any]]
    audited: Callable[[Any], Any]


def _face(
    *,
    simulate: str,
    display: str,
    audited: str,
) -> Face:
    """Return a face, given the names of its parts in the modules that every kind shares.

    display: a module of `stream_ldp.cli.displays`.
    simulate: a function of `stream_ldp.cli`, as `module:name`.
    audited: a module of `stream_ldp.cli.audited`.
    """
    displays = "stream_ldp.cli.displays"
    return Face(
        simulate=Deferred(f"stream_ldp.cli.{simulate}"),
        display=Deferred(f"{displays}.{display}:display"),
        audited=Deferred(f"stream_ldp.cli.audited.{audited}:audited"),
    )


FACES: Mapping[str, Face] = {
    "records": _face(
        simulate="simulate:simulate_records",
        display="estimates",
        audited="records",
    ),
    "sets": _face(
        simulate="simulation.item_sets:simulate_items",
        display="rankings",
        audited="sets",
    ),
    "sampled": _face(
        simulate="simulate:simulate_sampled",
        display="marginals",
        audited="sampled",
    ),
    "strings": _face(
        simulate="simulate:simulate_strings",
        display="strings",
        audited="strings",
    ),
    "views": _face(
        simulate="simulate:simulate_views",
        display="estimates",
        audited="sampled",
    ),
    "places": _face(
        simulate="simulate:simulate_places",
        display="places",
        audited="places",
    ),
}


def face_of(collection: Collection) -> Face:
    """Return what the commands do with a collection.

    Raises:
        KeyError: no command knows its kind.
    """
    return FACES[kind_of(collection).name]
