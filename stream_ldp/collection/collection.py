"""Collections of any kind: a name, event-time windows, and the fingerprint of a report's meaning."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from stream_ldp.collection.labels import Labels, require_labels
from stream_ldp.collection.located import (
    NAME_PATTERN,
    Misplaced,
    parse_document,
    parse_model,
    read_text,
)
from stream_ldp.collection.turns import Turn, turn_places
from stream_ldp.errors import ParameterError
from stream_ldp.printable import UNSEEN

#: Bytes of a fingerprint: any two of a billion collections share one with probability below 10^-20.
FINGERPRINT_BYTES = 16

#: Most bits of a report: a batch states the bytes of a row in 16 bits.
MAX_BITS = 8 * (2**16 - 1)

#: Most panes of one window: a day of minutes. All of them are added up for every window, once a hop.
MAX_PANES = 1_440

#: Most windows of a period in which reports are linked: a week of minutes. All of the period until then are added up
#: for every window.
MAX_LINKED_WINDOWS = 10_080

#: The period of a file that has it found from the finals.
AUTO_PERIOD = 0

#: Most windows of a period: a week of hours. The answers of one are kept in memory, and read again at a start.
MAX_PERIOD = 168

#: Largest memory: with it, 459 windows are remembered, and all of them are added up for every estimate.
MAX_MEMORY = 0.99

#: An earlier window is forgotten when its weight has fallen below this share of the current window's.
MEMORY_CUTOFF = 0.01

#: Bounds of the chance that a stated epsilon does not hold. Below the least, the rounding of float64 would show in
#: what is computed; above the most, it would be that of one user of a small collection.
MIN_DELTA, MAX_DELTA = 1e-12, 1e-4

#: By default, event times are rounded to this part of a pane, and to a minute at most. A window closes when event
#: time has passed its end, so it closes later by as much: by a tenth of a window at most. Clocks that are set by the
#: network are hardly ever wrong by more than a minute.
PRECISION_PART = 10
MAX_PRECISION_MS = 60_000

DAY_MS = 86_400_000

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": DAY_MS}
#: Longest duration, a century: added to event times, it stays far within 64 bits.
_MAX_DURATION = "36600d"
_MAX_DURATION_MS = 36_600 * _UNITS_MS["d"]
_UNIT = "(ms|s|m|h|d)"
_DURATION = re.compile(rf"(\d+)\s*{_UNIT}", re.ASCII)

#: Subscribers find the answers of a month. Nobody could see more turns of all users than there are answers.
ANSWERS_MS = 30 * _UNITS_MS["d"]

#: Digits of a century in milliseconds. Of thousands of digits, Python makes no number.
_MAX_DIGITS = 13

#: Characters of what is no duration that a message shows.
_SHOWN = 40


def milliseconds(value: object) -> Any:
    """Read a duration such as 90s or 5m, in milliseconds; leave anything but text as it is.

    >>> milliseconds("90s"), milliseconds("5m")
    (90000, 300000)
    """
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ParameterError(
            f"{value[:_SHOWN]!r} is not a duration; write a whole number and a unit, such as 500ms, 60s, 5m, 2h or 1d"
        )
    digits = match[1].lstrip("0")
    milliseconds = int(digits[: _MAX_DIGITS + 1] or 0) * _UNITS_MS[match[2]]
    if milliseconds > _MAX_DURATION_MS:
        raise ParameterError(f"{value[:_SHOWN]!r} is too long; at most {_MAX_DURATION}")
    return milliseconds


def shown_duration(duration_ms: int) -> str:
    """Write a duration as `milliseconds` reads it, in the largest unit that divides it."""
    unit, length_ms = max(
        (each for each in _UNITS_MS.items() if duration_ms % each[1] == 0), key=lambda each: each[1]
    )
    return f"{duration_ms // length_ms}{unit}"


def _milliseconds_or_never(value: object) -> object:
    return None if value == "never" else milliseconds(value)


def _milliseconds_or_auto(value: object) -> object:
    if value == "auto":
        return AUTO_PERIOD
    try:
        found = milliseconds(value)
    except ParameterError:
        raise ParameterError(
            f"{str(value)[:_SHOWN]!r} is no period; write auto, or a whole number and a unit, such as 24h or 7d"
        ) from None
    if found == AUTO_PERIOD:
        raise ParameterError("a period is longer than nothing, such as 24h; or auto")
    return found


#: What a file may say of a duration, for its JSON Schema.
_Written = Annotated[str, Field(pattern=rf"^\s*{_DURATION.pattern}\s*$", examples=["500ms", "60s", "5m", "2h", "1d"])]
_WrittenPositive = Annotated[str, Field(pattern=rf"^\s*0*[1-9]\d*\s*{_UNIT}\s*$", examples=["60s", "5m", "2h", "1d"])]

Duration = Annotated[int, Field(ge=0), BeforeValidator(milliseconds, json_schema_input_type=_Written)]
PositiveDuration = Annotated[int, Field(gt=0), BeforeValidator(milliseconds, json_schema_input_type=_WrittenPositive)]
DurationOrNever = Annotated[
    Annotated[int, Field(gt=0)] | None,
    BeforeValidator(_milliseconds_or_never, json_schema_input_type=_WrittenPositive | Literal["never"]),
]
PeriodOrAuto = Annotated[
    Annotated[int, Field(ge=0)],
    BeforeValidator(_milliseconds_or_auto, json_schema_input_type=_WrittenPositive | Literal["auto"]),
]


def _rows(value: object) -> object:
    if isinstance(value, str) and value != "connect":
        truth = {"true": True, "false": False}.get(value.lower())
        if truth is None:
            raise ParameterError(f"expected true, false or connect, got {value[:_SHOWN]!r}")
        return truth
    return value


#: How finals are published as rows: not, as flat JSON, or as Kafka Connect's JSON, which brings its schema.
Rows = Annotated[bool | Literal["connect"], BeforeValidator(_rows, json_schema_input_type=bool | Literal["connect"])]
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
#: The share of the users who are asked at a time; None for all of them. Its resolution is that of all probabilities.
Sample = Annotated[float, Field(ge=2**-32, le=1)] | None

#: Why a file has no `sample` beside `rotate`.
ONE_CHOICE = (
    "rotate already asks some of the users at a time, and others at the next: leave it out, or make rotate larger"
)

#: Fewest users whose answers anything is published of, unless a file says otherwise: the threshold of Brave's P3A,
#: which adds noise of epsilon 1 to STAR. DAP obliges every task to state a least size of a batch, and Cobalt every
#: report a threshold; neither has a number for all. Nothing of use is lost: the standard error of the share of a yes
#: is 0.24 among 20 answers at epsilon 1, and 0.15 at epsilon 2.
DEFAULT_MIN_REPORTS = 20

#: Text without invisible characters, so that no two labels look alike, and none is obeyed by a terminal.
Label = Annotated[str, Field(min_length=1, max_length=200, pattern=rf"^[^{UNSEEN}]+$")]


#: What the reports of a window are held against: nothing from outside it, or the estimate of the previous window.
Prior = Literal["window", "temporal"]


def one_of(*keys: str) -> Callable[[dict[str, Any]], None]:
    """Let the JSON Schema of a part of a file say that exactly one of some keys is given: its `json_schema_extra`."""

    def say(schema: dict[str, Any]) -> None:
        schema["oneOf"] = [{"required": [key]} for key in keys]
        if left := [key for key in schema.get("required", ()) if key not in keys]:
            schema["required"] = left
        else:
            schema.pop("required", None)

    return say


class Part(BaseModel):
    """A part of a collection file."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class Window(Part):
    """Event-time windows; every duration in milliseconds.

    size: length of a window.
    hop: time between the starts of two consecutive windows; equal to size (tumbling) if it is not given.
    grace: how long after its end a window still takes reports, in event time.
    idle_timeout: silence after which a partition stops holding windows open; `never` for none.
    ahead: how far a report's event time may lie ahead of the broker's clock.
    max_age: how far it may lie behind.
    memory: weight of a window relative to the next one, in (0, 0.99]: exponential forgetting; by default, no
        window has a memory of those before.
    time_precision: clients round event times down to multiples of it, from the beginning of their pane, so that the
        offset of a client's clock does not show; by default a tenth of a pane, and at most a minute. Windows close up
        to so much later.
    reports_per_user: sum m^2 / sum m over users with m reports each in what an estimate looks at; 1 if nobody
        reports twice. Estimates, errors and tests allow for the permanent noise that a user's reports share.
    period: length of a cycle of the users, such as 24h for day and night or 7d for the week. Priors then come from
        the window one period earlier; by default, from the previous window. With `auto`, a period of up to 56 windows
        is found from the finals, when they have repeated twice.
    returning: share of a window's users who report in the other windows too, in [0, 1]. A temporal prior allows for
        the permanent noise that their windows share. If it is not known, leave it out, which counts as 1: of noise
        that may be permanent, nothing is then taken to average out.
    """

    size_ms: PositiveDuration = Field(alias="size")
    hop_ms: PositiveDuration | None = Field(alias="hop", default=None)
    grace_ms: Duration = Field(alias="grace", default=5_000)
    idle_timeout_ms: DurationOrNever = Field(alias="idle_timeout", default=10_000)
    ahead_ms: Duration = Field(alias="ahead", default=10_000)
    max_age_ms: PositiveDuration = Field(alias="max_age", default=_UNITS_MS["d"])
    memory: Annotated[float, Field(gt=0, le=MAX_MEMORY)] | None = None
    time_precision_ms: PositiveDuration | None = Field(alias="time_precision", default=None)
    reports_per_user: float = Field(default=1.0, ge=1, allow_inf_nan=False)
    returning: Annotated[float, Field(ge=0, le=1)] | None = None
    period_ms: PeriodOrAuto | None = Field(alias="period", default=None)

    @model_validator(mode="after")
    def _a_period_is_of_windows(self) -> Self:
        if self.period_ms is None:
            return self
        if self.shares_reports:
            raise Misplaced(
                "windows with hop or memory do not learn from each other, and nothing depends on it: leave it out",
                "period",
            )
        if self.period_ms % self.size_ms:
            raise Misplaced(
                f"a period is a whole number of windows of {shown_duration(self.size_ms)}, got "
                f"{shown_duration(self.period_ms)}",
                "period",
            )
        if self.period_ms > MAX_PERIOD * self.size_ms:
            raise Misplaced(
                f"a period has at most {MAX_PERIOD} windows, whose answers workers remember, got "
                f"{self.period_ms // self.size_ms:,}: make windows longer",
                "period",
            )
        return self

    @model_validator(mode="after")
    def _hop_divides_size(self) -> Self:
        if self.size_ms % self.pane_ms:
            raise Misplaced(
                f"size must be a whole multiple of hop, got size {self.size_ms} ms and hop {self.hop_ms} ms", "hop"
            )
        if self.panes > MAX_PANES:
            raise Misplaced(f"size is {self.panes:,} times hop; at most {MAX_PANES:,} times", "hop")
        if self.returning is not None and self.shares_reports:
            raise Misplaced(
                "windows with hop or memory do not learn from each other, and nothing depends on it: leave it out",
                "returning",
            )
        if self.time_precision_ms is not None and self.time_precision_ms > self.pane_ms:
            raise Misplaced(
                f"event times keep their window: at most {self.pane_ms} ms, got {self.time_precision_ms} ms",
                "time_precision",
            )
        return self

    def rounded(self, time_ms: int) -> int:
        """Return the event time that a client writes for a time: rounded down, within the same pane."""
        precision_ms = self.time_precision_ms or min(max(1, self.pane_ms // PRECISION_PART), MAX_PRECISION_MS)
        within_ms = time_ms % self.pane_ms
        return time_ms - within_ms % precision_ms

    @property
    def pane_ms(self) -> int:
        """Length of a pane, in milliseconds: the hop. Windows consist of panes."""
        return self.hop_ms or self.size_ms

    @property
    def panes(self) -> int:
        """Number of panes of a window."""
        return self.size_ms // self.pane_ms

    @property
    def shares_reports(self) -> bool:
        """Whether the answers to two windows can come from the same reports."""
        return self.panes > 1 or self.memory is not None

    def can_learn(self, prior: Prior | None) -> bool:
        """Decide whether the estimate of one window is the prior of the next; None where it is possible."""
        return prior != "window" and not self.shares_reports

    def check_prior(self, prior: Prior | None, *place: str | int) -> None:
        """Refuse a prior that these windows cannot have; `place` is where it stands in the file.

        Raises:
            Misplaced: it is temporal, and the windows share reports.
        """
        if prior == "temporal" and self.shares_reports:
            raise Misplaced("temporal needs windows without reports in common: leave out hop and memory", *place)

    @property
    def memory_windows(self) -> int:
        """Number of windows, the current one included, that an estimate looks at."""
        if self.memory is None:
            return 1
        return 1 + math.floor(math.log(MEMORY_CUTOFF) / math.log(self.memory))


class Series(Protocol):
    """A series of answers, one for each window.

    name: of the series.
    every_ms: time between two provisional answers of an open window, in milliseconds.
    """

    @property
    def name(self) -> str: ...

    @property
    def every_ms(self) -> int: ...

    def statistic(self, before: Any) -> tuple[str, ...] | None:
        """Return the name of the statistic from which the answer to a window is made; None if nothing was asked.

        before: the final answer from which this one continues, of the kind's own class; None if there is none.
        """
        ...

    def period_ms(self, window: Window) -> int | None:
        """Return the time from one window to the next, in milliseconds; None if an answer decides what is asked."""
        ...

    def follows(self, window_ms: int) -> tuple[str, int | None]:
        """Return the final answer from which the answer to the window beginning at `window_ms` continues.

        Returns:
            The name of its series, and the start of its window; None for the last one before.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Topics:
    """The topics of a kind of collection, beside those that every kind has.

    The class of a kind's collections declares them, so that a producer finds their names without loading the solver.

    answers: last part of the name of the topic of final answers.
    rounds: whether the kind has a topic on which rounds are published.
    records: whether there is one for synthetic records; it depends on the collection, not on its kind. See
        `stream_ldp.collection.synthesis.topics_of`.
    rows: whether there is one for finals as flat rows, which also depends on the collection.
    """

    answers: str
    rounds: bool = False
    records: bool = False
    rows: bool = False


class Collection(Part):
    """The part of a collection that every kind has; subclasses add what the reports are about.

    topics: the topics of its kind.
    collection: its name, whose meaning is permanent, and which is part of the names of its topics.
    title, question: its subject, and what users were asked, as people read them. They change no report, and may be
        written at any time.
    labels: text that people read in place of a value, by attribute and value, such as `{mobility: {full: Needs help
        at every step}}`; of item sets by `item`, of key-value data by `key`, and of places by `place` and `region`.
        They change no report, and may be written at any time.
    window: the event-time windows, each with an answer.
    min_reports: the fewest users behind anything that is published: a window, and in it each attribute, view, region
        and epsilon, or question; `DEFAULT_MIN_REPORTS` by default, 1 for no floor. Where reports are linked, the
        users are counted; elsewhere, `reports_per_user` says how many there are.
    delta: the delta of the (epsilon, delta) that finals state for readers who trust the service; 10^-8 by default.
    rows: whether each final is also published as flat rows, one for each cell, on their own topic; `connect` for rows
        that carry their Kafka Connect schema.
    rotate: w, number of windows, of item sets of epochs, in which each user reports once; by default, users may
        report in all.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics]

    name: Name = Field(alias="collection")
    title: Label | None = None
    wording: Label | None = Field(alias="question", default=None)
    given_labels: dict[str, dict[str, Label]] | None = Field(alias="labels", default=None)
    window: Window = Field(examples=[{"size": "60s"}])
    min_reports: Annotated[int, Field(ge=1)] | None = None
    delta: Annotated[float, Field(ge=MIN_DELTA, le=MAX_DELTA)] | None = None
    rows: Rows = False
    rotate: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _labels_are_of_values(self) -> Self:
        require_labels(self.labels, self.labelled)
        return self

    @property
    def labels(self) -> Labels:
        """What people read in place of values, by what these are of and by value; empty for none."""
        return self.given_labels or {}

    @property
    def labelled(self) -> Mapping[str, Container[str]]:
        """The values that may have labels, by what they are of."""
        return {}

    @model_validator(mode="after")
    def _turns_have_windows_of_their_own(self) -> Self:
        if self.rotate is None:
            return self
        window = self.window
        for name, stated, why in (
            ("hop", window.panes > 1, "a turn is a window of its own"),
            ("memory", window.memory is not None, "a turn is a window of its own"),
            ("reports_per_user", window.reports_per_user != 1.0, "a user reports once in a turn"),
            ("returning", window.returning is not None, "nobody has two of the turns that follow each other"),
        ):
            if stated:
                raise Misplaced(f"with rotate, {why}: leave it out", "window", name)
        most = max(ANSWERS_MS // self.turn_ms, 1)
        if self.rotate > most:
            raise Misplaced(
                f"each user would have a turn once in {shown_duration(self.rotate * self.turn_ms)}, and answers are "
                f"kept for {shown_duration(ANSWERS_MS)}, in which all have to have had theirs: give at most {most:,}",
                "rotate",
            )
        return self

    @property
    def turn_ms(self) -> int:
        """Time from the beginning of one turn to that of the next, in milliseconds."""
        return self.window.size_ms

    @property
    def period_turns(self) -> int:
        """Number of windows, or epochs, of the file's period; 0 where it has none, or `auto`."""
        return (self.window.period_ms or 0) // self.turn_ms

    def same_phase_ms(self, window_ms: int, *, period_ms: int | None) -> int | None:
        """Return the start of the window, one period before another, whose answer that one learns from.

        period_ms: the file's, or that found from the finals; None where the last window is the prior.

        Returns:
            None where the previous window is the prior. Of item sets, it is that of the last phase of an epoch.
        """
        return None if period_ms is None else window_ms - period_ms + self.turn_ms - self.window.size_ms

    @property
    def asked_share(self) -> float:
        """Share of the users who are asked in a window, or in an epoch, on average over users."""
        return 1.0 / (self.rotate or 1)

    @property
    def returning(self) -> float | None:
        """Share of a window's users whose permanent noise is in previous windows, too; None if it is not known.

        Where users take turns, no user is in two of w consecutive windows, and each is in one of the next w. So two
        windows that are further apart share one w-th of the users that they would share otherwise.
        """
        return self.window.returning if self.rotate is None else 1.0 / self.rotate

    def has_turn(self, secrets: Sequence[bytes], *, number: int) -> NDArray[np.bool_]:
        """Decide which users have a turn, bool, shape (n,); all of them, where the file has no `rotate`.

        secrets: secret of each user, 32 bytes.
        number: of the window, or of the epoch.
        """
        if self.rotate is None:
            return np.ones(len(secrets), dtype=np.bool_)
        chosen: NDArray[np.bool_] = (
            turn_places(secrets, fingerprint=self.fingerprint, every=self.rotate) == number % self.rotate
        )
        return chosen

    def turn(self, number: int) -> Turn | None:
        """Return a turn as a ledger remembers it; None where users take none."""
        if self.rotate is None:
            return None
        return Turn(fingerprint=self.fingerprint.hex(), number=number, every=self.rotate)

    @property
    def refused(self) -> tuple[str, ...]:
        """What users hold of whom nothing can be reported, in words: the missing report reveals it, at no epsilon."""
        return ()

    @property
    def floor(self) -> int:
        """The fewest users whose answers anything that is published is made of."""
        return DEFAULT_MIN_REPORTS if self.min_reports is None else self.min_reports

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a collection of this class from a YAML file."""
        return cls.parse(read_text(path), source=str(path))

    @classmethod
    def parse(cls, text: str, *, source: str = "<collection>") -> Self:
        """Read a collection of this class from YAML text; `source` names it in problems."""
        return parse_model(cls, *parse_document(text, source=source), source=source)

    @property
    def series(self) -> Sequence[Series]:
        """The series of answers."""
        raise NotImplementedError

    @property
    def _meaning(self) -> list[Any]:
        """All that changes the meaning of a report, as plain data; name and kind of mechanism come first."""
        raise NotImplementedError

    @property
    def synthesizes(self) -> bool:
        """Whether synthetic records are published with each final."""
        return False

    @property
    def links_reports(self) -> bool:
        """Whether the reports of a user carry a pseudonym, so that each is held until its period ends."""
        return False

    def windows_before(self, window_ms: int) -> tuple[tuple[float, int], ...]:
        """List the earlier windows whose reports the answer to a window is made of as well, the newest first.

        window_ms: start of the window, event time in milliseconds.

        Returns:
            The weight of each, relative to the window's own, and its start.
        """
        window = self.window
        return tuple(
            ((window.memory or 1.0) ** age, window_ms - age * window.size_ms)
            for age in range(1, window.memory_windows)
        )

    @property
    def most_windows(self) -> int:
        """Largest number of windows, the one itself included, that an answer is made of."""
        return self.window.memory_windows

    @cached_property
    def document(self) -> dict[str, Any]:
        """The whole collection as plain data, equal for equal collections however they are written."""
        found = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        if self.window.idle_timeout_ms is None:
            found["window"]["idle_timeout"] = "never"  # where nothing would be the default
        return found if self.rows else {name: part for name, part in found.items() if name != "rows"}

    @property
    def meaning(self) -> str:
        """The text behind the fingerprint, canonical JSON, from which clients in other languages make reports."""
        return _canonical(self._all_meaning)

    @cached_property
    def fingerprint(self) -> bytes:
        """Digest, of 16 bytes, of exactly what changes the meaning of a report.

        It is the first 16 bytes of the SHA-256 of `meaning` in UTF-8.
        """
        return fingerprint_of(self._all_meaning)

    @property
    def _all_meaning(self) -> list[Any]:
        """What the kind's reports mean, and who makes them when."""
        turns = [] if self.rotate is None else [["rotate", self.rotate, self.turn_ms]]
        return [*self._meaning, *turns]


def fingerprint_of(meaning: list[Any]) -> bytes:
    """Return the fingerprint of plain data, 16 bytes."""
    return hashlib.sha256(_canonical(meaning).encode()).digest()[:FINGERPRINT_BYTES]


def _canonical(meaning: list[Any]) -> str:
    return json.dumps(meaning, ensure_ascii=False, separators=(",", ":"))


def require_distinct(names: Sequence[str], what: str, field: str, *leaf: str) -> None:
    """Raise Misplaced if a name is given twice; `field`, and the key `leaf` of its items, locate the names."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise Misplaced(f"{what} must be distinct, {name!r} is given twice", field, index, *leaf)
        seen.add(name)
