"""The message that publishes how many users reported from each place in a window."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from stream_ldp.collection.labels import Labels, label_of, labels_of
from stream_ldp.collection.located import suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.filtering.filtered import FilteredEstimate, columns
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.message_part import Finite, MessagePart
from stream_ldp.pipeline.answer import (
    Answer,
    Count,
    LiarsField,
    PlausibilityField,
    PrivacyPart,
    PublishedField,
)
from stream_ldp.pipeline.cells import Cell
from stream_ldp.pipeline.judgement import WITHHELD, Judgement, Look, filtered_lines
from stream_ldp.quantity import quantity

#: The most regions of a sentence.
_REGIONS = 6

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class RegionCount(MessagePart):
    """The reports whose users have chosen a region, which they report in the clear."""

    region: str
    reports: tuple[Count, ...] = Field(description="with each of the epsilons")


class PlacePrivacy(PrivacyPart):
    """Epsilon, in nats, of two users who have chosen the same region and the same epsilon."""

    epsilons: tuple[float, ...] = Field(description="each user has chosen one of them, permanently")
    assumption: str
    published: PublishedField = None


class PlaceCounts(Answer):
    """The number of reports from each place over one window; the message of a places topic."""

    series: ClassVar[str] = "places"

    places: tuple[str, ...]
    raw: tuple[Finite, ...] = Field(description="reports from each place; unbiased, and may be negative")
    standard_error: tuple[Amount, ...] = Field(description="of each raw count, for the users who have reported")
    projected: tuple[Amount, ...] = Field(
        description="the nearest possible counts: in each region at least 0, with the region's reports as their sum"
    )
    weights: str = Field(description="how answers at different epsilons were put together: users or variance")
    regions: tuple[RegionCount, ...] = Field(description="those that enough users have chosen, with the same epsilon")
    withheld: Count = Field(
        default=0,
        description="reports that no other number is made of, since fewer users than min_reports have chosen their "
        "region with their epsilon",
    )
    learnt: FilteredEstimate | None = Field(
        default=None,
        description="the share of all users at each place with previous windows; null where nothing can be learnt",
    )
    plausibility: PlausibilityField
    liars: LiarsField = ()
    privacy: PlacePrivacy

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        learnt = () if self.learnt is None else (self.learnt.estimate,)
        found = self.raw, self.standard_error, self.projected, *learnt
        return self._require_as_many("places, counts and errors", self.places, *found)

    @property
    def look(self) -> Look:
        return Look(title="places", names=("place",), number="users", scale=float(self.reports))

    def judgement(self) -> Judgement:
        by_region = [f"{region.region} {sum(region.reports):,}" for region in self.regions]
        more = f" and {len(by_region) - _REGIONS} others" if len(by_region) > _REGIONS else ""
        regions = f"{', '.join(by_region[:_REGIONS]) or 'none'}{more}"
        weighted = "weighted by variance, which is unbiased only if the choice of epsilon is independent of the place"
        return Judgement(
            evidence=(
                f"{quantity(self.reports, 'report')}, by region: {regions}",
                *((f"{quantity(self.withheld, 'report')} {WITHHELD}",) if self.withheld else ()),
                *((weighted,) if self.weights == "variance" else ()),
            ),
            previous=filtered_lines(self.learnt, self.places, about="shares", unit="report"),
            privacy=(
                f"epsilon {' or '.join(map(shown_epsilon, self.privacy.epsilons))} a lifetime: "
                f"{self.privacy.assumption}",
                *self.privacy.sentences,
            ),
        )

    def labelled(self, labels: Labels) -> Self:
        regions = (
            each.model_copy(update={"region": label_of(labels, "region", each.region)}) for each in self.regions
        )
        places = labels_of(labels, "place", self.places)
        return self.model_copy(update={"places": places, "regions": tuple(regions)})

    def cells(self) -> Iterator[Cell]:
        """Iterate over the counts of the places; beside each, what is learnt is a share of all users."""
        learnt = columns(self.learnt, numbers=len(self.places))
        counts = zip(self.places, self.projected, self.standard_error, self.raw, learnt, strict=True)
        for place, projected, error, raw, more in counts:
            yield Cell(
                labels={"place": place},
                estimate=projected,
                standard_error=error,
                raw=raw,
                range=(0.0, float(self.reports)),
                others=more,
                names=(place,),
            )

    def narrowed_to(self, of: Sequence[str], *, given: Sequence[str] = ()) -> Iterator[Cell]:
        """Iterate over the counts; the only attribute is the place."""
        for name in (*of, *given):
            if name != "place" or given:
                raise ParameterError(
                    f"{name!r} cannot be chosen: the only attribute is 'place'{suggestion(name, ['place'])}"
                )
        yield from self.cells()
