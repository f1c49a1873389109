"""The rounds of item collections as the functions of their kind."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Rounds
from stream_ldp.quantity import quantity
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.rounds import Round, RoundRefused

if TYPE_CHECKING:
    from stream_ldp.sets.answer import Ranking
    from stream_ldp.sets.collection import ItemCollection


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

#: What the service sends beside answers.
MESSAGES = (Round,)
