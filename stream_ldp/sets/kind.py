"""The kind of the collections of item sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, always, parts_in

if TYPE_CHECKING:
    from stream_ldp.sets.collection import ItemCollection


def _per_turn(collection: ItemCollection) -> float:
    from stream_ldp.sets.phases import epoch_epsilon  # noqa: PLC0415  which most kinds do not need

    return epoch_epsilon(collection.method)


SETS = Kind(
    **(parts_in("sets") | {"claims": deferred("stream_ldp.sets.audit.audited:subject")}),
    name="sets",
    collection=deferred("stream_ldp.sets.collection:ItemCollection"),
    mechanisms=("gfim", "gfim-users", "ldpminer", "svim", "loloha"),
    per_turn=_per_turn,
    specified=lambda file, _: deferred("stream_ldp.audit.wire.sets:Sets")(file),
    layout=deferred("stream_ldp.sets.layout:PhaseLayout"),
    answer=deferred("stream_ldp.sets.answer:Ranking"),
    messages=deferred("stream_ldp.sets.asking:MESSAGES"),
    vocabulary=deferred("stream_ldp.sets.methods:VOCABULARY"),
    libraries=always("scipy.linalg", "scipy.optimize", "scipy.special"),
    solve_times=deferred("stream_ldp.sets.plan:solve_times"),
    rounds=deferred("stream_ldp.sets.asking:ROUNDS"),
)
