"""The message that publishes key-value data of a window: the share of users with each key, and the mean of each."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Self

from pydantic import Field

from stream_ldp.collection.labels import Labels, label_of
from stream_ldp.collection.located import suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.message_part import Finite, MessagePart
from stream_ldp.pipeline.answer import (
    Answer,
    LiarsField,
    PlausibilityField,
    Positive,
    PrivacyPart,
    Probability,
    PublishedField,
)
from stream_ldp.pipeline.cells import Cell
from stream_ldp.pipeline.judgement import WITHHELD, Judgement, Look
from stream_ldp.quantity import quantity

Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class KeyMean(MessagePart):
    """The mean of the numbers that users hold with a key."""

    raw: Finite = Field(description="ratio of two unbiased estimates, which may lie outside the range")
    standard_error: Error = Field(description="of the raw mean, to the first order")
    projected: Finite = Field(description="the nearest number in the range")


class KeyEstimate(MessagePart):
    """What is known of one key."""

    key: str
    range: tuple[Finite, Finite]
    raw: Finite = Field(description="share of users who hold the key; unbiased, and may be negative or above 1")
    standard_error: Error = Field(description="of the raw share: noise, and the sampling of users")
    projected: Probability = Field(description="the nearest possible share")
    mean: KeyMean | None = Field(
        default=None, description="null where the share is not above 0 by 2.58 standard errors: nobody may hold it"
    )


class PairPrivacy(PrivacyPart):
    """Epsilon, in nats, of any two users, and the assumption that it rests on."""

    epsilon: float = Field(description="of all reports of a user's lifetime")
    assumption: str
    published: PublishedField = None


class PairEstimates(Answer):
    """The frequencies and means of all keys over one window; the message of a pairs topic."""

    series: ClassVar[str] = "pairs"
    # A report says which end of the range a number was rounded to.
    no_ranges: ClassVar[str] = (
        "the mean of a key's numbers is known, and not how many lie between two: leave out what they lie between"
    )

    padding: Positive = Field(description="keys that a user may hold without counting for less")
    keys: tuple[KeyEstimate, ...] = Field(description="none where nobody has answered, or the numbers are withheld")
    withheld: bool = Field(
        default=False,
        description="whether the numbers are withheld, since fewer users than min_reports have answered",
    )
    plausibility: PlausibilityField
    liars: LiarsField = ()
    privacy: PairPrivacy

    @property
    def look(self) -> Look:
        return Look(title="pairs", names=("key",), number="estimate", group="of")

    def judgement(self) -> Judgement:
        nobody = [each.key for each in self.keys if each.mean is None]
        hardly = f"{quantity(len(nobody), 'key')} without a mean, since nobody may hold them"
        return Judgement(
            evidence=(
                f"{quantity(self.reports, 'report')}; users with more than {quantity(self.padding, 'key')} count for "
                "less",
                *((WITHHELD,) if self.withheld else ()),
                *((hardly,) if nobody else ()),
            ),
            privacy=(
                f"epsilon {shown_epsilon(self.privacy.epsilon)} a lifetime: {self.privacy.assumption}",
                *self.privacy.sentences,
            ),
        )

    def labelled(self, labels: Labels) -> Self:
        keys = (each.model_copy(update={"key": label_of(labels, "key", each.key)}) for each in self.keys)
        return self.model_copy(update={"keys": tuple(keys)})

    def cells(self) -> Iterator[Cell]:
        """Iterate over the shares of users who hold the keys, and the means."""
        return self.narrowed_to([each.key for each in self.keys])

    def narrowed_to(self, of: Sequence[str], *, given: Sequence[str] = ()) -> Iterator[Cell]:
        """Iterate over the numbers of some keys; see `Answer`."""
        if given:
            raise ParameterError("a report is about one key: nothing is known of one, given another")
        known = {each.key: each for each in self.keys}
        for name in of:
            if name not in known:
                raise ParameterError(f"{name!r} is not a key of this answer{suggestion(name, list(known))}")
        for each in map(known.__getitem__, of):
            yield Cell(
                labels={"quantity": "frequency", "key": each.key},
                estimate=each.projected,
                standard_error=each.standard_error,
                raw=each.raw,
                names=(each.key,),
                group="frequency",
            )
        for each in map(known.__getitem__, of):
            if each.mean is not None:
                yield Cell(
                    labels={"quantity": "mean", "key": each.key},
                    estimate=each.mean.projected,
                    standard_error=each.mean.standard_error,
                    raw=each.mean.raw,
                    range=each.range,
                    names=(each.key,),
                    group=f"mean of {each.key}",
                )
