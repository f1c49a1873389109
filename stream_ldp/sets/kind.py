"""The kind of the collections of item sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.pipeline.kind import Kind, Rounds, always
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.charges import charges
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.evaluation import EVALUATION
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.plan import plan, summary
from stream_ldp.sets.rounds import Round, RoundRefused
from stream_ldp.sets.solve import solve
from stream_ldp.sets.solve_time import solve_times
from stream_ldp.sets.truth import totals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.audit.audited import AuditSubject
    from stream_ldp.audit.wire.client import Specified


def _read(collection: ItemCollection, data: bytes) -> Round:
    round_ = Round.from_bytes(data)
    round_.check(collection)
    return round_


def _after(collection: ItemCollection, ranking: Ranking) -> Round | None:
    inquiry = ranking.next_inquiry
    if inquiry is None:
        return None
    if inquiry.phase > collection.schedule.phases:
        raise RoundRefused(f"phase {inquiry.phase} of a method that has {collection.schedule.phases}")
    if collection.series[inquiry.phase - 1].statistic(ranking) is None:
        return None
    asked = Round.of(collection, inquiry, epoch=ranking.epoch)
    # Anybody who may write answers could else ask what no client answers, and what no oracle can count.
    asked.check(collection)
    return asked


#: The inquiry of a later phase of an epoch follows from the ranking after the phase before.
ROUNDS = Rounds(read=_read, layout=PhaseLayout, after=_after)


def claims(collection: ItemCollection) -> AuditSubject:
    """Return what is claimed of a collection; only audits import what enumerates it."""
    from stream_ldp.sets.audit.audited import subject  # noqa: PLC0415

    return subject(collection)


def specified(file: Mapping[str, Any], meaning: str) -> Specified:  # noqa: ARG001  other kinds need it
    """Return the client that is written from the specification; only audits import it."""
    from stream_ldp.audit.wire.sets import Sets  # noqa: PLC0415

    return Sets(file)


SETS = Kind(
    name="sets",
    collection=ItemCollection,
    mechanisms=tuple(METHODS),
    charges=charges,
    claims=claims,
    specified=specified,
    layout=PhaseLayout,
    solve=solve,
    answer=Ranking,
    messages=(Ranking, Round),
    summary=summary,
    plan=plan,
    totals=totals,
    libraries=always("scipy.linalg", "scipy.optimize", "scipy.special"),
    solve_times=solve_times,
    rounds=ROUNDS,
    evaluation=EVALUATION,
)
