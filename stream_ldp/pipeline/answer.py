"""The interface of all answers of the service, and the parts that their messages share."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.message_part import Finite, MessagePart
from stream_ldp.pipeline.content_type import Headers, content_type_of
from stream_ldp.pipeline.judgement import Judgement, Look, Measure
from stream_ldp.pipeline.solver_state import state_of, with_state
from stream_ldp.pipeline.windows import FIRST_MS, LAST_MS
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stream_ldp.collection.labels import Labels
    from stream_ldp.pipeline.cells import Cell, CellKey

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

#: A number of reports: JSON has no limit, and an integer that no float64 and no counter holds would end its readers.
Count = Annotated[int, Field(ge=0, lt=2**63)]

#: A number of what there is at least one of, and the rank of the first.
Positive = Annotated[int, Field(ge=1, lt=2**63)]

#: An integer of 64 bits, as other languages have them.
Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]

#: Milliseconds since 1970-01-01 UTC that every reader can write as a date.
EventTime = Annotated[int, Field(ge=FIRST_MS, le=LAST_MS)]


class Message(MessagePart):
    """A whole message, which is the value of a Kafka record."""

    @property
    def headers(self) -> Headers:
        """The headers of its record."""
        return content_type_of(type(self))

    def to_bytes(self) -> bytes:
        """Encode the message as UTF-8 JSON.

        Every number has full precision, so that a solver that starts from a published answer starts from its values.
        """
        return self.model_dump_json().encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode what `to_bytes` has encoded.

        Raises:
            ValueError: the bytes are no such message, or have a schema version that this release does not read.
        """
        return cls.model_validate_json(data)


class Status(StrEnum):
    """An answer's account of its window."""

    ANSWERED = "answered"
    """It is the answer to the reports of the window."""
    NO_REPORTS = "no-reports"
    """Nobody reported in the window, or in any of the windows that its bounds span: there is nothing to answer."""


class RegionState(StrEnum):
    """How much of a window's reports from a region is in an answer."""

    WHOLE = "whole"
    """All that came in time."""
    CUT_OFF = "cut-off"
    """What had arrived when the window was closed without the region, which was behind the others."""
    OPEN = "open"
    """What has been counted so far: the region has not closed the window yet."""


class RegionPart(MessagePart):
    """The part of a region in an answer, where several regions count."""

    region: str
    state: RegionState
    reports: Count | None = Field(
        description="number of its reports counted in the window; null for all regions if any has fewer than "
        "min_reports"
    )

    def __str__(self) -> str:
        """Say it in a few words."""
        reports = "" if self.reports is None else f"{quantity(self.reports, 'report')}, "
        return f"{self.region}: {reports}{self.state}"


class WindowBounds(MessagePart):
    """Event time of the window: start included, end excluded, milliseconds since 1970-01-01 UTC."""

    start_ms: EventTime
    end_ms: EventTime

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.end_ms <= self.start_ms:
            raise ValueError(f"a window ends after it begins, and this one lasts {self.end_ms - self.start_ms} ms")
        return self

    def __str__(self) -> str:
        """Show it as an ISO 8601 interval, UTC."""
        return f"{moment(self.start_ms)}/{moment(self.end_ms)}"


class Plausibility(MessagePart):
    """A test of whether the reports look as the mechanism makes them; a window that fails is marked, not hidden."""

    statistic: Finite = Field(description="chi-square statistic of what honest reports have in common")
    degrees_of_freedom: Positive
    p_value: Probability = Field(description="probability that honest reports fit no better")
    flagged: bool = Field(description="whether the test rejects that all reports are honest")


class Moved(MessagePart):
    """The most that a share of all users, who send what they like, can have moved some raw numbers of an answer."""

    about: str = Field(description="such as an attribute; empty for all numbers")
    liars: Probability = Field(description="the share of the users who lie")
    most: Finite = Field(ge=0, description="in units of the numbers, up or down")


class Published(MessagePart):
    """What a reader of final answers alone, who sees no report, could learn of one user.

    It needs trust in the service, which sees the reports; against the service itself, the local epsilon holds.
    """

    epsilon: Finite = Field(ge=0, description="in nats, by amplification by shuffling; never above the local one")
    delta: Probability = Field(description="chance that it is more")
    assumption: str = Field(
        description="against whom, for which user, among how many honest reports, and what is hidden"
    )

    @classmethod
    def among(cls, reports: str, *, epsilon: float, delta: float, once: str = "once", hidden: str) -> Self:
        """State it with its conditions.

        reports: the number of reports that hide each other, in words. All have to be honest: reports that an attacker
            has made up hide nobody from the attacker.
        once: how often a user reports.
        hidden: what cannot be distinguished.
        """
        return cls(
            epsilon=epsilon,
            delta=delta,
            assumption=f"against readers of final answers who trust the service, for a user who reports {once} among "
            f"{reports} honest reports: {hidden}",
        )

    def __str__(self) -> str:
        """Say it in one sentence, with its conditions."""
        return f"(epsilon, delta) = ({shown_epsilon(self.epsilon)}, {self.delta:g}) {self.assumption}"


class WEvent(MessagePart):
    """What all reports of a user in some windows that follow each other reveal, where users take turns."""

    windows: Positive = Field(description="w, or epochs of item sets, of which a user has one")
    epsilon: Finite = Field(ge=0, description="in nats, of any w of them, whatever the user reports before and after")
    assumption: str = Field(description="of whom, and what is hidden")

    def __str__(self) -> str:
        """Say it in one sentence, with its conditions."""
        epsilon = f"epsilon {shown_epsilon(self.epsilon)} in any {self.windows} consecutive turns"
        return f"{epsilon}: {self.assumption}"


class PrivacyPart(MessagePart):
    """The part of an answer that says what reports reveal; each kind adds its epsilons.

    w_event: see `WEvent`.
    """

    w_event: WEvent | None = Field(
        default=None,
        description="of windows, or epochs, that follow each other; null where users do not take turns",
    )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it says beside the epsilons of the kind, in words."""
        promises = (self.w_event, getattr(self, "published", None))
        return tuple(str(each) for each in promises if each is not None)


AllAnswersField = Annotated[
    float | None,
    Field(
        description="most nats of all reports of a user whose value changes, each of which perturbs a permanent "
        "answer again; null where reports are not perturbed again, and where no number bounds it"
    ),
]


def shown_costs(*, per_report: float, lifetime: float, all_answers: float | None) -> str:
    """Say what reports cost, in words; see `AllAnswersField`."""
    costs = f"epsilon {shown_epsilon(per_report)} a report, {shown_epsilon(lifetime)} a lifetime"
    if all_answers is None:
        return costs
    return f"{costs} of one permanent answer, at most {shown_epsilon(all_answers)} of all of a user's"


PublishedField = Annotated[
    Published | None,
    Field(
        description="for readers of final answers alone who trust the service; null where no theorem says how much "
        "less, and where it would not hold: of users who return with permanent noise, or report several times, and "
        "of reports that do not look honest"
    ),
]

StatusField = Annotated[
    Status,
    Field(
        description="no-reports if nobody reported in the window, or in any of those that its bounds span: the other "
        "numbers then say nothing"
    ),
]


class Answer(Message):
    """A message that answers one window of one series, or says that nobody reported in some."""

    #: Why there are no shares of users between two numbers, where an answer does not say them.
    no_ranges: ClassVar[str] = "answers of this kind have no numbers with a `range`: leave out what they lie between"

    #: It rises when a field changes its meaning or is removed, but not when an optional field is added.
    schema_version: Literal[1] = 1
    collection: str
    fingerprint: str = Field(description="of the collection, hexadecimal", pattern="^[0-9a-f]{32}$")
    sources: tuple[RegionPart, ...] | None = Field(
        default=None,
        exclude_if=lambda sources: sources is None,
        description="what the brokers of each region have of the window, the home first; left out where there are no "
        "regions",
    )
    window: WindowBounds
    status: StatusField = Status.ANSWERED
    final: bool = Field(description="false while the window is open; what is final never changes")
    reports: Count = Field(description="reports counted in the window, each once")

    if TYPE_CHECKING:  # Where these stand among its fields is up to each kind.

        @property
        def series(self) -> str:
            """Name of the series of answers, one a window, that it belongs to."""

        @property
        def plausibility(self) -> Plausibility | None:
            """Whether the reports look honest; None where nothing can be tested."""

        @property
        def liars(self) -> tuple[Moved, ...]:
            """What few users who send crafted reports can have moved."""

    def __repr__(self) -> str:
        """Say what it is, on one line: all that it holds, which a notebook would show, fills a screen."""
        kind = "final" if self.final else "provisional"
        reports = quantity(self.reports, "report")
        return f"<{type(self).__name__} {self.series} of {self.collection}, {kind}, {self.window}, {reports}>"

    __str__ = __repr__

    @property
    def key(self) -> bytes:
        """Record key, as `answer_key` makes it."""
        return answer_key(self.series, self.window, final=self.final)

    @property
    def headers(self) -> Headers:
        """The headers of its record: of a final, also with what the next one starts from."""
        return super().headers + state_of(self)

    @classmethod
    def from_record(cls, value: bytes, headers: Sequence[tuple[str, bytes | None]]) -> Self:
        """Decode an answer with what it leaves to the next one, from the value and the headers of its record.

        `from_bytes` decodes what it says to its readers.

        Raises:
            ValueError: they are no such message, or have a schema version that this release does not read.
        """
        return cls.from_bytes(with_state(value, headers))

    @property
    def settled(self) -> bool:
        """Whether it says what its kind is asked for, and no later answer replaces it."""
        return self.final

    @property
    def target(self) -> str:
        """Name of what it estimates, which the answers of several series may have in common."""
        return self.series

    @property
    def turn(self) -> int:
        """Number of its turn among the answers with its target, which rises from one to the next."""
        return self.window.start_ms

    @property
    def look(self) -> Look:
        """How a display shows its cells."""
        return Look(title=self.series)

    def labelled(self, labels: Labels) -> Self:  # noqa: ARG002
        """Return it as people read it, with labels in place of values; a kind without listed values has none."""
        return self

    def cells(self) -> Iterable[Cell]:
        """Return its numbers one by one, as the rows of a table; a kind without such a table has none."""
        return ()

    def judgement(self) -> Judgement:
        """Say how far to trust it."""
        return Judgement()

    def score(self, truth: Mapping[CellKey, float]) -> dict[str, Measure]:  # noqa: ARG002
        """Measure how near it is to the truth, by the names of the measures.

        truth: true numbers of cells, of each user on average; it is 0 for a cell that is missing.
        """
        return {}

    def narrowed_to(self, of: Sequence[str], *, given: Sequence[str] = ()) -> Iterable[Cell]:  # noqa: ARG002
        """Return the numbers that are about some attributes alone, or about them among those with given others.

        Raises:
            ParameterError: an attribute is not one of its own, or its kind has no such numbers.
        """
        raise ParameterError("answers of this kind have no attributes to choose from: leave them out")

    def between(
        self,
        low: float,  # noqa: ARG002
        high: float,  # noqa: ARG002
        *,
        of: Sequence[str] = (),  # noqa: ARG002
        below: bool = False,  # noqa: ARG002
    ) -> Iterable[Cell]:
        """Return the share of users from one number to another, and their mean, for all attributes or some.

        below: whether users at the second number are left out, and with them the mean.

        Raises:
            ParameterError: an attribute is not one of its own, the numbers bound no part of its range, or its kind
                has no such numbers.
        """
        raise ParameterError(self.no_ranges)

    def within(self, ranges: Mapping[str, tuple[float, float]], *, of: Sequence[str] = ()) -> Iterable[Cell]:  # noqa: ARG002
        """Return the share of users whose numbers are all in their ranges, for each value of some attributes.

        ranges: the least and the largest number, by the names of attributes.

        Raises:
            ParameterError: an attribute is not one of its own, or is no number; the numbers bound no part of its
                range; or its kind has no such numbers.
        """
        raise ParameterError(self.no_ranges)

    def with_sources(self, sources: tuple[RegionPart, ...] | None) -> Self:
        """Say what each region has counted."""
        return self.model_copy(update={"sources": sources})

    def with_turns(self, w_event: WEvent) -> Self:
        """Say what turns bound, where it says what reports reveal."""
        part: PrivacyPart | None = getattr(self, "privacy", None)
        if part is None:
            return self
        return self.model_copy(update={"privacy": part.model_copy(update={"w_event": w_event})})

    def without_reports(self, *, until_ms: int) -> Self:
        """Turn the answer to no reports into the message that there were none up to `until_ms`, a window's end."""
        window = self.window.model_copy(update={"end_ms": until_ms})
        return self.model_copy(update={"status": Status.NO_REPORTS, "window": window})


def _tested(value: object) -> object:
    """Turn a test of nothing into None."""
    return None if getattr(value, "degrees_of_freedom", None) == 0 else value


PlausibilityField = Annotated[
    Plausibility | None, BeforeValidator(_tested), Field(description="null where nothing can be tested")
]


LiarsField = Annotated[
    tuple[Moved, ...],
    Field(description="the most that few users can have moved its raw numbers, whatever they sent and others have"),
]


AnswerT = TypeVar("AnswerT", bound=Answer)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(time_ms: int) -> str:
    """Write an event time in ISO 8601, UTC; in milliseconds if no calendar has it, such as 2^63 - 1."""
    # Not from a float64 of seconds, which has no more milliseconds in the year 9999.
    try:
        time = _EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return f"{time_ms} ms"
    return time.isoformat(timespec="milliseconds" if time_ms % 1000 else "seconds").replace("+00:00", "Z")


def answer_key(series: str, window: WindowBounds, *, final: bool) -> bytes:
    """Return the record key of an answer.

    Every final answer has a key of its own, so that compaction keeps the history; all provisional answers of a
    series, which are on another topic, share one, so that compaction keeps the newest.
    """
    return f"{series}|{f'final|{window.start_ms}' if final else 'live'}".encode()


def final_of(key: bytes) -> tuple[str, int] | None:
    """Return the series and the start of the window of the final answer with a record key; None for any other key."""
    series, _, start = key.decode(errors="replace").rpartition("|final|")
    # No event time has more than 15 digits; of thousands, Python would refuse to make a number.
    return (series, int(start)) if series and re.fullmatch(r"-?[0-9]{1,15}", start) else None
