"""The kind of the collections of item sets."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, Rounds, always
from stream_ldp.quantity import quantity
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.charges import charges
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.phases import epoch_epsilon
from stream_ldp.sets.reports import reports
from stream_ldp.sets.rounds import Round, RoundRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.audit.wire.client import Specified


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


def _about(collection: ItemCollection, asked: Round) -> str:
    about = "itemset" if collection.method.phases[asked.phase - 1].sizes else "item"
    return quantity(collection.items.count if asked.candidates is None else len(asked.candidates), about)


#: The inquiry of a later phase of an epoch follows from the ranking after the phase before.
ROUNDS = Rounds(
    message=Round,
    schedule=attrgetter("schedule"),
    phases=attrgetter("method.phases"),
    first=Round.first,
    layout=PhaseLayout,
    after=_after,
    about=_about,
    asked=deferred("stream_ldp.sets.audit.enumeration:rounds"),
)


def specified(file: Mapping[str, Any], meaning: str) -> Specified:  # noqa: ARG001  other kinds need it
    """Return the client that is written from the specification; only audits import it."""
    from stream_ldp.audit.wire.sets import Sets  # noqa: PLC0415

    return Sets(file)


SETS = Kind(
    name="sets",
    collection=ItemCollection,
    mechanisms=tuple(METHODS),
    reports=reports,
    charges=charges,
    claims=deferred("stream_ldp.sets.audit.audited:subject"),
    per_turn=lambda collection: epoch_epsilon(collection.method),
    specified=specified,
    layout=PhaseLayout,
    solve=deferred("stream_ldp.sets.solve:solve"),
    answer=Ranking,
    messages=(Round,),
    vocabulary={"Ranking.method": tuple(METHODS)},
    summary=deferred("stream_ldp.sets.plan:summary"),
    plan=deferred("stream_ldp.sets.plan:plan"),
    published=deferred("stream_ldp.sets.published:published"),
    leverages=deferred("stream_ldp.sets.plan:leverages"),
    totals=deferred("stream_ldp.sets.truth:totals"),
    libraries=always("scipy.linalg", "scipy.optimize", "scipy.special"),
    solve_times=deferred("stream_ldp.sets.solve_time:solve_times"),
    rounds=ROUNDS,
    evaluation=deferred("stream_ldp.sets.evaluation:EVALUATION"),
)
