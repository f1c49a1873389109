"""The plan of a collection of places: its bits, privacy, memory and expected error, before it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.statistics import SUM_BYTES, row_width
from stream_ldp.sampled.oracles import mean_variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.places.collection import PlaceCollection

__all__ = ["Plan", "RegionPlan", "plan"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionPlan:
    """The plan of the regions of one size, at one epsilon.

    regions: their number.
    places: of each.
    epsilon: in nats, that the ledger charges for all reports of a user who has chosen it.
    mechanism: the randomizer.
    errors: pairs (users, expected standard error of a place's count), if all users choose such regions and this
        epsilon, evenly.
    """

    regions: int
    places: int
    epsilon: float
    mechanism: str
    errors: tuple[tuple[int, float], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The plan of a collection.

    bits, report_bytes: size of one report.
    epsilons: in nats, of which each user chooses one, for all reports for ever.
    counters, state_bytes: memory of a window, for each source partition.
    """

    collection: str
    fingerprint: str
    bits: int
    report_bytes: int
    epsilons: tuple[float, ...]
    counters: int
    state_bytes: int
    regions: tuple[RegionPlan, ...]


def plan(collection: PlaceCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:
    """Work out the cost of a collection.

    populations: numbers of users who report in a window, for which to state the error.
    """
    questions, places = collection.questions, len(collection.tree.places)
    sizes = [each.size for each in collection.tree.regions]
    by_size = {(each.region.size, each.epsilon): each.randomizer for each in collection.asked}
    return Plan(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        bits=questions.bits,
        report_bytes=row_width(questions.bits),
        epsilons=collection.mechanism_spec.epsilon,
        counters=questions.counters,
        state_bytes=questions.counters * SUM_BYTES,
        regions=tuple(
            RegionPlan(
                regions=sizes.count(size),
                places=size,
                epsilon=epsilon,
                mechanism=oracle.title,
                # A region with a share size / places of the users.
                errors=tuple(
                    (users, math.sqrt(users * size / places * mean_variance(oracle))) for users in populations
                ),
            )
            for (size, epsilon), oracle in sorted(by_size.items(), key=lambda each: (-each[0][0], each[0][1]))
        ),
    )
