"""A kind of collection as one object, which holds all that the service needs to know about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from stream_ldp.collection import Collection
from stream_ldp.deferred import Deferred, deferred, imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from stream_ldp.audit.audited import AuditSubject
    from stream_ldp.audit.wire.client import Specified
    from stream_ldp.collection.collection import Series
    from stream_ldp.evaluation.trial import Evaluation
    from stream_ldp.ledger.reports import AttributeReport, PhaseReport
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.pipeline.answer import Answer, Published
    from stream_ldp.pipeline.cells import Totals
    from stream_ldp.pipeline.changing import ChangingValues
    from stream_ldp.pipeline.content_type import Headers
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.leverage import Leverage
    from stream_ldp.pipeline.plan import Plan
    from stream_ldp.pipeline.schedule import Schedule
    from stream_ldp.pipeline.solve_time import SolveTime, Timer
    from stream_ldp.pipeline.synthetic import SyntheticRecords
    from stream_ldp.pipeline.window_task import WindowTask

#: By name, since a client that reports needs no answers.
AnswerT = TypeVar("AnswerT", bound="Answer")
SeriesT = TypeVar("SeriesT", bound="Series")
CollectionT = TypeVar("CollectionT", bound=Collection)
CollectionT_contra = TypeVar("CollectionT_contra", bound=Collection, contravariant=True)

#: Numbers of users or reports for which a plan states the error by default.
POPULATIONS = (1_000, 10_000, 100_000, 1_000_000)


class Planner(Protocol[CollectionT_contra]):
    """A function that works out the cost of a collection before it runs."""

    def __call__(self, collection: CollectionT_contra, *, populations: Sequence[int] = POPULATIONS) -> Plan:
        """Work out a plan.

        populations: numbers of users, or of reports in a window, for which to state the error.
        """
        ...


class SolveTimes(Protocol[CollectionT_contra]):
    """A function that measures the time of solves."""

    def __call__(
        self, collection: CollectionT_contra, *, populations: Sequence[int], timer: Timer
    ) -> Iterable[SolveTime]:
        """Work out the time of each series and population.

        populations: numbers of reports in a window.
        timer: measures the work that it is given.
        """
        ...


class Reports(Protocol[CollectionT_contra]):
    """A function that perturbs what users hold, on their side.

    That of a kind with rounds takes the round that the reports answer, too, as `asked`.
    """

    def __call__(
        self,
        collection: CollectionT_contra,
        table: NDArray[Any],
        *,
        secrets: Sequence[bytes] | None,
        memoises: bool,
        time_ms: int,
        entropy: Entropy,
    ) -> NDArray[np.uint8]:
        """Make one report of each user: packed rows, uint8, shape (n, row width).

        table: users, one a row, as the collection's `table` makes them.
        secrets: of each user, 32 bytes; None for users who report once in their life.
        memoises: whether the permanent noise comes from the secrets, and not from the source of fresh noise.
        time_ms: event time, in milliseconds since 1970-01-01 UTC.
        entropy: source of fresh noise.
        """
        ...


class PublishedBound(Protocol[CollectionT_contra]):
    """A function that bounds what readers of final answers alone could learn of a user."""

    def __call__(self, collection: CollectionT_contra, reports: int, *, windows: int = 1) -> Published | None:
        """State it, with its conditions in words; None where the collection's file leaves no bound.

        reports: honest ones in each window, or honest users of each epoch; at least one.
        windows: in how many of them, or of epochs, the user reports: in more than one with noise that everybody draws
            anew.
        """
        ...


class RoundMessage(Protocol):
    """An inquiry as a record of a rounds topic: one phase of one epoch.

    epoch, phase: their numbers.
    start_ms, end_ms: event times at which its window begins and ends.
    fingerprint: the fingerprint of the batches that report to it, 16 bytes.
    key: record key.
    headers: headers of the record.
    """

    @property
    def epoch(self) -> int: ...

    @property
    def phase(self) -> int: ...

    @property
    def start_ms(self) -> int: ...

    @property
    def end_ms(self) -> int: ...

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def key(self) -> bytes: ...

    @property
    def headers(self) -> Headers: ...

    def to_bytes(self) -> bytes:
        """Encode the round as the value of a record."""
        ...

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode what `to_bytes` has encoded; raises ValueError if the bytes are no round."""
        ...

    def check(self, collection: Any) -> object:
        """Raise ValueError if the collection never publishes such a round."""
        ...


class RoundPhase(Protocol):
    """What one phase of every epoch asks of its users.

    epsilon: the most that a report may cost, in nats.
    memoised: the cost of a permanent response, where reports show one; None where each is made afresh.
    """

    @property
    def epsilon(self) -> float: ...

    @property
    def memoised(self) -> object | None: ...

    def asks(self, words: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Decide which users, given by their partition words, are asked; bool, of the words' shape."""
        ...


RoundT = TypeVar("RoundT", bound=RoundMessage)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds(Generic[CollectionT, AnswerT, RoundT]):
    """The functions of a kind whose inquiries depend on earlier answers.

    message: the class of its rounds.
    schedule: returns the windows of the phases of each epoch.
    phases: returns the phases of every epoch, in order.
    first: makes the round of the first phase of an epoch, which needs no publishing.
    layout: makes the layout of the batches that report to a round.
    after: derives the round that follows a final answer; None if none does. Raises ValueError if the collection never
        publishes such a round.
    about: says what a round asks about, such as "3 items".
    asked: lists the rounds that an epoch may ask, one of each phase, for audits.
    """

    message: type[RoundT]
    schedule: Callable[[CollectionT], Schedule]
    phases: Callable[[CollectionT], Sequence[RoundPhase]]
    first: Callable[[CollectionT, int], RoundT]
    layout: Callable[[CollectionT, RoundT], Layout]
    after: Callable[[CollectionT, AnswerT], RoundT | None]
    about: Callable[[CollectionT, RoundT], str]
    asked: Callable[[CollectionT, int], list[RoundT]]

    def read(self, collection: CollectionT, data: bytes) -> RoundT:
        """Decode the round in a record.

        Raises:
            ValueError: it is no round that the collection may publish.
        """
        asked = self.message.from_bytes(data)
        asked.check(collection)
        return asked

    def phase(self, collection: CollectionT, asked: RoundT) -> RoundPhase:
        """Return the phase that a round belongs to."""
        return self.phases(collection)[asked.phase - 1]

    def memoises(self, collection: CollectionT) -> bool:
        """Decide whether reports to any phase show permanent responses."""
        return any(phase.memoised is not None for phase in self.phases(collection))


class Iteration(Protocol):
    """The iteration that produced an answer.

    start: name of the starting point.
    iterations: number of evaluations of the EM map.
    certified: whether the answer is certified to be within tolerance.
    """

    @property
    def start(self) -> str: ...

    @property
    def iterations(self) -> int: ...

    @property
    def certified(self) -> bool: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """Another mechanism with the collection's lifetime epsilon between any two records.

    kind: its name in a collection file.
    parameters: with which it has that epsilon.
    per_report: epsilon of one report, between any two records.
    instead_of: that of the collection's mechanism.
    collection: the collection that has it.
    is_alike: whether it sends the same, as two mechanisms may where values are few.
    """

    kind: str
    parameters: Mapping[str, float]
    per_report: float
    instead_of: float
    collection: Any
    is_alike: bool


def always(*libraries: str) -> Callable[[Collection], tuple[str, ...]]:
    """Return the function that names these modules for every collection."""
    return lambda _: libraries


#: Where the parts of a kind are in a room, by their fields.
_PLACES = {
    "reports": "reports:reports",
    "charges": "reports:charges",
    "claims": "audited:subject",
    "solve": "solve:solve",
    "summary": "plan:summary",
    "plan": "plan:plan",
    "published": "plan:published",
    "leverages": "plan:leverages",
    "totals": "evaluation:totals",
    "evaluation": "evaluation:EVALUATION",
}


def parts_in(room: str, *fields: str) -> dict[str, Any]:
    """Return parts of a kind that are in a room, each deferred, by its field of `Kind`; all of them by default."""
    return {field: deferred(f"stream_ldp.{room}.{_PLACES[field]}") for field in fields or _PLACES}


_special = always("scipy.special")


_fewest_users = deferred("stream_ldp.pipeline.window_task:fewest_users")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind(Generic[CollectionT, SeriesT, AnswerT]):
    """A kind of collection.

    A field may be `deferred`: it is imported when it is first read. A client that only reports then loads no solver.

    name: its name, by which tables in other packages refer to it.
    collection: the class of its collections, whose `topics` and `series` belong to the kind as well.
    mechanisms: every `mechanism.kind` that a file of this kind may name.
    takes: decides which files with such a mechanism are of this kind, where another kind has it too; None for the
        rest of them.
    reports: perturbs what users hold, a `Reports`.
    charges: describes for the user's ledger what the user's reports show and what they cost: as AttributeReports, or
        as the PhaseReport of one report to a round, which it takes as `asked`.
    claims: returns what is claimed of a collection's privacy, to be enumerated and attacked.
    per_turn: returns the most that all reports of a user in one window, or epoch, cost in nats, if their noise is all
        fresh, whatever the user holds.
    specified: makes, of a collection's file as data and its meaning, a client that is written from the specification
        and shares no function with the others, for audits.
    layout: makes the layout of the batches under a collection's own fingerprint.
    solve: solves a task; slow, so it belongs on a thread of its own.
    answer: the class of its answers.
    messages: the classes of its other messages.
    vocabulary: the words that are values of a field, by `Message.field`: text to readers, and an enum in the schema.
    summary: describes a collection on one line.
    plan: works out what a collection costs before it runs.
    published: bounds what readers of final answers alone could learn of a user.
    leverages: says what one crafted report can do to the raw numbers of each series.
    changing: lists the attributes with values whose answers users repeat; a plan shows what changes cost.
    totals: sums the truth over some users, cell by cell: given their table as the kind's reporters take it, by the
        target of an answer and the key of a cell; cells with a total of 0 may be missing.
    for_budget: finds the collection that spends a given budget, in nats: `lifetime`, and `per_report` or None; raises
        ParameterError. None where the file itself gives epsilon.
    for_finals: finds the collection that is best after some final answers, and says what it is; raises
        ParameterError. None where there is no design to choose.
    rounds: its rounds; None if the collection's file says all that users are asked.
    synthetic: its synthetic records; None if its windows cannot be answered with any.
    alternatives: lists the other mechanisms that can have a collection's lifetime epsilon; None where there are none.
    is_large: decides whether the solves of a collection may take so long that `check` measures them.
    solve_times: measures what solves take, before it runs; None if nobody can say.
    fit: returns the iteration that produced an answer, for the metrics; None if answers are not iterated to.
    users: returns the least number of users who reported in a task's window.
    libraries: names the modules that nearly every solve of a collection needs, and that are imported when the first
        one does: see `stream_ldp.kinds.load_solver`.
    narrowed_to: makes a collection with the same reports whose only series is about other attributes, given by name,
        and estimated by a method, or by the default one; raises ParameterError. None if there are no others.
    evaluation: how its collections are evaluated on known populations.
    """

    name: str
    collection: type[CollectionT]
    mechanisms: tuple[str, ...]
    takes: Callable[[Mapping[str, Any]], bool] | None = None
    reports: Callable[..., NDArray[np.uint8]]
    charges: Callable[..., tuple[AttributeReport | PhaseReport, ...]]
    claims: Callable[[CollectionT], AuditSubject]
    per_turn: Callable[[CollectionT], float]
    specified: Callable[[Mapping[str, Any], str], Specified]
    layout: Callable[[CollectionT], Layout]
    solve: Callable[[CollectionT, WindowTask[SeriesT, AnswerT]], AnswerT]
    answer: type[AnswerT]
    messages: tuple[type[BaseModel], ...] = ()
    vocabulary: Mapping[str, Iterable[str]] = field(default_factory=dict)
    summary: Callable[[CollectionT], str]
    plan: Planner[CollectionT]
    published: PublishedBound[CollectionT]
    leverages: Callable[[CollectionT], tuple[Leverage, ...]]
    changing: Callable[[CollectionT], tuple[ChangingValues, ...]] = lambda _: ()
    totals: Callable[[CollectionT, Any], Totals]
    for_budget: Callable[..., CollectionT] | None = None
    for_finals: Callable[[CollectionT, Sequence[AnswerT]], tuple[CollectionT, str]] | None = None
    evaluation: Evaluation
    alternatives: Callable[[CollectionT], Iterable[Alternative]] | None = None
    rounds: Rounds[CollectionT, AnswerT, Any] | None = None
    synthetic: SyntheticRecords | None = None
    is_large: Callable[[CollectionT], bool] = lambda _: False
    solve_times: SolveTimes[CollectionT] | None = None
    fit: Callable[[AnswerT], Iteration] | None = None
    users: Callable[[CollectionT, WindowTask[SeriesT, AnswerT]], int] = _fewest_users
    libraries: Callable[[CollectionT], tuple[str, ...]] = _special
    narrowed_to: Callable[[CollectionT, Sequence[str], str | None], CollectionT] | None = None

    @property
    def reports_at_once(self) -> Reports[CollectionT] | None:
        """What perturbs what users hold, where they report it whenever they like; None where they answer rounds."""
        return self.reports if self.rounds is None else None

    def has(self, collection: Collection) -> bool:
        """Decide whether a collection is of this kind, without importing the class of its collections."""
        given = type(collection)
        return object.__getattribute__(self, "collection") in (
            given,
            Deferred(f"{given.__module__}:{given.__qualname__}"),
        )

    def __getattribute__(self, name: str) -> Any:
        return imported(object.__getattribute__(self, name))
