"""The plan of a collection of places: its bits, privacy, memory and expected error, before it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.leverage import Leverage
from stream_ldp.pipeline.plan import ErrorPlan, Section, errors_in_short, guess_in_short
from stream_ldp.pipeline.published import published_among
from stream_ldp.quantity import quantity
from stream_ldp.questions.plan import AskingPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.pipeline.answer import Published
    from stream_ldp.places.collection import PlaceCollection


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionPlan:
    """The plan of the regions of one size, at one epsilon.

    regions: their number.
    places: of each.
    epsilon: in nats, that the ledger charges for all reports of a user who has chosen it.
    mechanism: the randomizer.
    errors: of a place's count, if all users choose such regions and this epsilon, evenly.
    """

    regions: int
    places: int
    epsilon: float
    mechanism: str
    errors: tuple[ErrorPlan, ...]


@dataclass(frozen=True, kw_only=True)
class Plan(AskingPlan):
    """The plan of a collection.

    epsilons: in nats, for all reports; each user chooses one.
    """

    epsilons: tuple[float, ...]
    regions: tuple[RegionPlan, ...]

    def in_short(self) -> Iterator[str]:
        """Iterate over sentences about two places, and the count of a place."""
        seen = f"all reports of a user{', who has chosen the weakest noise,' if len(self.epsilons) > 1 else ''}"
        yield guess_in_short(max(self.epsilons), seen=seen, between="places of the same region")
        region = self.regions[0]
        what = f"The standard error of the count of one of {quantity(region.places, 'place')}"
        yield errors_in_short(what, [(error.users, error.standard_error) for error in region.errors])

    def sections(self) -> Iterator[Section]:
        """Iterate over the costs of a report, and the regions."""
        yield self.head(
            (
                "all reports of a user's lifetime",
                f"epsilon {' or '.join(map(shown_epsilon, self.epsilons))}, as the user has chosen, for two users of "
                "the same region",
            ),
            ("not hidden", "the region and the epsilon, which reports state as they are"),
        )
        yield Section(
            title="Regions, with the standard error of a place's count to expect",
            columns=(
                "regions",
                "places",
                "epsilon",
                "response",
                *(quantity(error.users, "user") for error in self.regions[0].errors),
            ),
            rows=tuple(
                (
                    f"{region.regions:,}",
                    f"{region.places:,}",
                    shown_epsilon(region.epsilon),
                    region.mechanism,
                    *(f"{error.standard_error:.4g}" for error in region.errors),
                )
                for region in self.regions
            ),
            notes=("If all users choose regions of this size and this epsilon, evenly.",),
        )


def summary(collection: PlaceCollection) -> str:
    """Describe a collection on one line."""
    tree, epsilons = collection.tree, collection.mechanism_spec.epsilon
    return (
        f"{quantity(len(tree.places), 'place')} in {quantity(len(tree.regions), 'region')}, each user states one of "
        f"the user's choice, and is hidden within it at epsilon {' or '.join(map(shown_epsilon, epsilons))}, "
        f"{quantity(collection.bits, 'bit')} a report"
    )


def plan(collection: PlaceCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:
    """Work out the cost of a collection.

    populations: numbers of users who report in a window, for which to state the error.
    """
    places = len(collection.tree.places)
    sizes = [region.size for region in collection.tree.regions]
    by_size = {(each.region.size, each.epsilon): each.randomizer for each in collection.asked}
    return Plan.of(
        collection,
        epsilons=collection.mechanism_spec.epsilon,
        regions=tuple(
            RegionPlan(
                regions=sizes.count(size),
                places=size,
                epsilon=epsilon,
                mechanism=oracle.title,
                # A region with a share size / places of the users.
                errors=tuple(
                    ErrorPlan(users=users, standard_error=math.sqrt(users * size / places * oracle.mean_variance))
                    for users in populations
                ),
            )
            for (size, epsilon), oracle in sorted(by_size.items(), key=lambda each: (-each[0][0], each[0][1]))
        ),
    )


def leverages(collection: PlaceCollection) -> tuple[Leverage, ...]:
    """Return what one crafted report can do to the count of a place; see `Kind.leverages`.

    It is one about the region, and with the epsilon, that moves most: users choose both. With weights by variance, it
    moves as much only where all others have chosen that epsilon, too.
    """
    return (Leverage(series="places", of_one=max(each.leverage for each in collection.oracles), counts=True),)


def published(collection: PlaceCollection, reports: int, *, windows: int = 1) -> Published | None:
    """See `PublishedBound`; the reports are those of the user's region and epsilon, which are not hidden.

    It is that of the region and epsilon whose users are hidden least.
    """
    found = [
        published_among(
            collection,
            reports,
            windows=windows,
            epsilon=randomizer.epsilon,
            lifetime=randomizer.memoised.epsilon,
            hidden="any two places of a region, among reports of that region with the same epsilon",
            blanket=randomizer.blanket,
        )
        for randomizer in dict.fromkeys(each.randomizer for each in collection.questions.questions)
    ]
    return max((each for each in found if each is not None), key=lambda each: each.epsilon, default=None)
