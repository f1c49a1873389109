"""The message that publishes the most frequent strings of a window, with their errors and privacy."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from stream_ldp.filtering.filtered import FilteredEstimate
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.message_part import Finite, MessagePart
from stream_ldp.pipeline.answer import (
    Answer,
    Count,
    EventTime,
    LiarsField,
    PlausibilityField,
    Positive,
    PrivacyPart,
    Probability,
    PublishedField,
)
from stream_ldp.pipeline.cells import Cell, CellKey
from stream_ldp.pipeline.judgement import WITHHELD, Judgement, Look, Measure, found, previous
from stream_ldp.quantity import quantity

#: What is said of shares that are not the middle of their intervals, and the least distance at which it is.
_AROUND_RAW = "intervals are around raw estimates, which add up to more than 1: shares are the nearest that do not"
_APART = 5e-5

Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class RankedString(MessagePart):
    """A string that stands out of the noise."""

    rank: Positive = Field(description="1 for the most frequent")
    string: str
    raw: Finite = Field(
        description="estimated share of the users who have it, shrunk towards what all candidates suggest, so that "
        "without the selection bias; with previous windows, where they have it"
    )
    standard_error: Error = Field(
        description="of the raw estimate, around which intervals are: noise, the sampling of users, and the choice "
        "of strings"
    )
    projected: Probability = Field(description="in the nearest distribution over these strings and all others")
    expected_false: Error = Field(
        description="how many strings that nobody has would look at least as frequent, if nobody had any of the "
        "candidates; at most 1"
    )
    alone: Finite | None = Field(
        default=None, description="the raw estimate of the window alone, where previous windows are a prior for it"
    )


class FilteredStrings(MessagePart):
    """What previous windows contribute to strings that they have found; see `stream_ldp.strings.temporal`."""

    strings: tuple[str, ...]
    shares: FilteredEstimate = Field(
        description="of the users who have each of them, as the windows measure them: with selection bias"
    )
    found: tuple[str, ...] = Field(description="strings that this window has found; none in a provisional answer")
    start_ms: EventTime = Field(description="start of the window that has measured the strings, event time")

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        return self._require_as_many("strings and shares", self.strings, self.shares.estimate)


class QuestionReports(MessagePart):
    """The reports that answer one question."""

    asked: str
    reports: Count
    withheld: bool = Field(
        default=False, description="whether they are left out, since fewer users than min_reports have answered"
    )


class StringPrivacy(PrivacyPart):
    """Epsilon, in nats, of any two strings, and the assumption that it rests on."""

    per_report: float
    lifetime: float
    assumption: str
    published: PublishedField = None


class StringRanking(Answer):
    """The most frequent strings of one window; the message of a strings topic."""

    series: ClassVar[str] = "strings"

    attribute: str = Field(description="name of the string")
    method: str = Field(description="pem or rappor-unknown")
    questions: tuple[QuestionReports, ...]
    candidates: Count = Field(description="whole strings that were tried")
    strings: tuple[RankedString, ...] | None = Field(
        description="those that stand out of the noise, at most k, most frequent first; null where a question that "
        "they take has no answers"
    )
    learnt: FilteredStrings | None = Field(
        default=None,
        description="estimates of the strings found so far; null where windows are not combined",
    )
    plausibility: PlausibilityField
    liars: LiarsField = ()
    privacy: StringPrivacy

    @property
    def look(self) -> Look:
        return Look(title="strings", names=(self.attribute,), ranked=True, others={"expected_false": "by chance"})

    def judgement(self) -> Judgement:
        asked = ", ".join(f"{question.reports:,} of {question.asked}" for question in self.questions)
        match self.strings:
            case None:
                nothing = f"is {WITHHELD}" if any(each.withheld for each in self.questions) else "has no answers"
                number, by_chance = "none", f"a question that the ranking takes {nothing}"
            case ():
                number, by_chance = "0", "no string stands out of the noise"
            case (*_, last) as strings:
                number = f"{len(strings)}"
                by_chance = (
                    f"of {self.candidates:,} candidates, {last.expected_false:.2g} that nobody has are expected to "
                    "look as frequent as the last"
                )
        weight = 0.0 if self.learnt is None else self.learnt.shares.weight
        return Judgement(
            facts={"reported": number},
            evidence=(
                f"{quantity(self.reports, 'report')}: {asked}",
                by_chance,
                *(
                    (_AROUND_RAW,)
                    if any(abs(each.raw - each.projected) > _APART for each in self.strings or ())
                    else ()
                ),
            ),
            previous=(previous(quantity(weight, "report")),) if weight else (),
            privacy=(
                f"{self.method} at epsilon {shown_epsilon(self.privacy.lifetime)} a lifetime: "
                f"{self.privacy.assumption}",
                *self.privacy.sentences,
            ),
        )

    def score(self, truth: Mapping[CellKey, float]) -> dict[str, Measure]:
        return {"found": found((cell.key for cell in self.cells()), truth)}

    def cells(self) -> Iterator[Cell]:
        """Iterate over the strings that stand out, most frequent first."""
        for each in self.strings or ():
            yield Cell(
                labels={"rank": each.rank, self.attribute: each.string},
                estimate=each.projected,
                standard_error=each.standard_error,
                raw=each.raw,
                others={"expected_false": each.expected_false},
                names=(each.string,),
            )
