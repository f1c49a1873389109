"""What is collected: attributes, mechanism, windows and estimates, read from YAML and validated once."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from stream_ldp.mechanisms import RRLDP, PermanentWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Attribute", "Collection", "CollectionError", "EstimateSpec", "MechanismSpec", "Window"]

#: Bytes of a fingerprint: by chance, two of a billion collections share one with probability below 10^-20.
FINGERPRINT_BYTES = 16

#: Cells of one estimate: at 40 bytes of JSON each, an estimate then stays below 6 MB, well within the 16 MiB that
#: an estimates topic takes in one record.
MAX_CELLS = 2**17

#: Bits of a report: a batch says the bytes of a row in 16 bits.
MAX_BITS = 8 * (2**16 - 1)

#: Panes of one window: a day by the minute. All of them are added up for every window, once a hop.
MAX_PANES = 1_440

#: Memory at which 459 windows are remembered, all of them added up for every estimate.
MAX_MEMORY = 0.99

#: A window with memory forgets a window whose weight has fallen below this share of its own.
MEMORY_CUTOFF = 0.01

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: A century: added to event times, such durations stay far within 64 bits.
_MAX_DURATION = "36600d"
_MAX_DURATION_MS = 36_600 * _UNITS_MS["d"]
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)")


class _Misplaced(ValueError):
    """A problem that only the whole collection shows, with the place of the part that is wrong."""

    def __init__(self, message: str, *place: str | int) -> None:
        super().__init__(message)
        self.place = place


class CollectionError(ValueError):
    """A collection file that cannot be used; one line of text for each problem, with its place."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def _milliseconds(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ValueError(
            f"{value!r} is not a duration; write a whole number and a unit, such as 500ms, 60s, 5m, 2h or 1d"
        )
    milliseconds = int(match[1]) * _UNITS_MS[match[2]]
    if milliseconds > _MAX_DURATION_MS:
        raise ValueError(f"{value!r} is too long; at most {_MAX_DURATION}")
    return milliseconds


def _milliseconds_or_never(value: object) -> object:
    return None if value == "never" else _milliseconds(value)


Duration = Annotated[int, BeforeValidator(_milliseconds), Field(ge=0)]
PositiveDuration = Annotated[int, BeforeValidator(_milliseconds), Field(gt=0)]
DurationOrNever = Annotated[Annotated[int, Field(gt=0)] | None, BeforeValidator(_milliseconds_or_never)]
# It becomes part of topic names and of record keys.
_NAME_PATTERN = r"^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$"
Name = Annotated[str, Field(pattern=_NAME_PATTERN)]
Label = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Attribute(_Part):
    """One question: its name and its possible answers, in the order of their bits."""

    name: Label
    values: tuple[Label, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _values_are_distinct(self) -> Self:
        _require_distinct(self.values, f"values of attribute {self.name!r}", "values")
        return self


class MechanismSpec(_Part):
    """RR-LDP's parameters as written; see `stream_ldp.mechanisms.RRLDP`."""

    kind: Literal["rr-ldp"]
    f: float
    p: float | None = None
    q: float | None = None

    @model_validator(mode="after")
    def _parameters_are_possible(self) -> Self:
        self.of(sizes=(2,))
        return self

    def of(self, *, sizes: tuple[int, ...]) -> RRLDP:
        """The mechanism for attributes of these sizes."""
        return RRLDP(sizes=sizes, f=self.f, p=self.p, q=self.q)


class Window(_Part):
    """Event-time windows; every duration in milliseconds.

    size: length of a window.
    hop: distance between the starts of two windows; equal to size (tumbling) when it is not given.
    grace: how long after its end a window still takes reports, in event time.
    idle_timeout: silence after which a partition stops holding windows open; None (written `never`) for never.
    ahead: how far a report's event time may lie ahead of the broker's clock.
    max_age: how far it may lie behind.
    memory: weight of the window before relative to this one, in (0, 0.99]: exponential forgetting; None for none.
    reports_per_user: sum m^2 / sum m over users with m reports each in what an estimate looks at; 1 where nobody
        reports twice. The test of plausibility allows for the permanent noise that a user's reports share.
    """

    size_ms: PositiveDuration = Field(alias="size")
    hop_ms: PositiveDuration | None = Field(alias="hop", default=None)
    grace_ms: Duration = Field(alias="grace", default=5_000)
    idle_timeout_ms: DurationOrNever = Field(alias="idle_timeout", default=10_000)
    ahead_ms: Duration = Field(alias="ahead", default=10_000)
    max_age_ms: PositiveDuration = Field(alias="max_age", default=_UNITS_MS["d"])
    memory: Annotated[float, Field(gt=0, le=MAX_MEMORY)] | None = None
    reports_per_user: float = Field(default=1.0, ge=1, allow_inf_nan=False)

    @model_validator(mode="after")
    def _hop_divides_size(self) -> Self:
        if self.size_ms % self.pane_ms:
            raise _Misplaced(
                f"size must be a whole multiple of hop, got size {self.size_ms} ms and hop {self.hop_ms} ms", "hop"
            )
        if self.size_ms // self.pane_ms > MAX_PANES:
            panes = self.size_ms // self.pane_ms
            raise _Misplaced(f"size is {panes:,} times hop; at most {MAX_PANES:,} times", "hop")
        return self

    @property
    def pane_ms(self) -> int:
        """Length of a pane, the stretch of time that windows are made of: the hop."""
        return self.hop_ms or self.size_ms

    @property
    def memory_windows(self) -> int:
        """Number of windows, this one included, that an estimate looks at."""
        if self.memory is None:
            return 1
        return 1 + math.floor(math.log(MEMORY_CUTOFF) / math.log(self.memory))


class EstimateSpec(_Part):
    """One joint distribution to estimate.

    of: the attributes, in the order of the axes of the result.
    method: the estimator.
    stop: its stopping rule: `certificate`, ours, or `paper`, max |P_t - P_(t-1)| < delta.
    every: time between two provisional estimates of an open window, in milliseconds.
    """

    name: Name
    of: tuple[str, ...] = Field(min_length=1)
    method: Literal["em", "lasso", "lremh"] = "lremh"
    stop: Literal["certificate", "paper"] = "certificate"
    delta: float = Field(default=0.001, gt=0, allow_inf_nan=False)
    every_ms: PositiveDuration = Field(alias="every", default=2_000)

    @model_validator(mode="after")
    def _attributes_are_distinct(self) -> Self:
        _require_distinct(self.of, f"attributes of estimate {self.name!r}", "of")
        return self


class Collection(_Part):
    """What a collection file says.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    name: Name = Field(alias="collection")
    mechanism_spec: MechanismSpec = Field(alias="mechanism")
    attributes: tuple[Attribute, ...] = Field(min_length=1)
    window: Window
    estimates: tuple[EstimateSpec, ...] = Field(min_length=1)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a collection from a YAML file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise CollectionError([f"{path}: cannot be read: {error.strerror}"]) from error
        except UnicodeDecodeError as error:
            raise CollectionError([f"{path}: not UTF-8 text: {error.reason} at byte {error.start}"]) from error
        return cls.parse(text, source=str(path))

    @classmethod
    def parse(cls, text: str, *, source: str = "<collection>") -> Self:
        """Read a collection from YAML text; `source` names it in problems."""
        try:
            # The base loader keeps every scalar a string: `values: [no, yes]` is two answers, not two booleans.
            root = yaml.compose(text, Loader=yaml.BaseLoader)
            document = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  (the base loader makes only strings)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
            raise CollectionError([f"{place}: not YAML: {error.problem or error.context}"]) from error
        except yaml.reader.ReaderError as error:
            before = text[: error.position].split("\n")
            place = f"{source}:{len(before)}:{len(before[-1]) + 1}"
            raise CollectionError([f"{place}: not YAML: character U+{error.character:04X} is not allowed"]) from error
        if not isinstance(root, yaml.MappingNode):
            place = f"{source}:1:1" if root is None else _at(source, root)
            raise CollectionError([f"{place}: expected keys such as `collection:` and `attributes:`"])
        if repeated := [f"{_at(source, key)}: key {key.value!r} is given twice" for key in _repeated_keys(root)]:
            raise CollectionError(repeated)
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise CollectionError([_explained(problem, root, source) for problem in _causes(error)]) from error

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        _require_distinct([attribute.name for attribute in self.attributes], "attribute names", "attributes", "name")
        _require_distinct([estimate.name for estimate in self.estimates], "estimate names", "estimates", "name")
        if sum(self.sizes) > MAX_BITS:
            raise _Misplaced(f"{sum(self.sizes):,} values in all; at most {MAX_BITS:,} fit a report", "attributes")
        for index, estimate in enumerate(self.estimates):
            for axis, name in enumerate(estimate.of):
                if name not in self._positions:
                    raise _Misplaced(
                        f"{name!r} is not an attribute{_suggestion(name, self._positions)}",
                        "estimates",
                        index,
                        "of",
                        axis,
                    )
            cells = math.prod(self.sizes_of(estimate))
            if cells > MAX_CELLS:
                raise _Misplaced(f"{cells:,} cells; at most {MAX_CELLS:,} can be solved", "estimates", index, "of")
        return self

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {attribute.name: position for position, attribute in enumerate(self.attributes)}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(len(attribute.values) for attribute in self.attributes)

    @cached_property
    def mechanism(self) -> RRLDP:
        """The mechanism, which both perturbs and tells the decoder its probabilities."""
        return RRLDP(sizes=self.sizes, f=self.mechanism_spec.f, p=self.mechanism_spec.p, q=self.mechanism_spec.q)

    def permanent_words(self) -> PermanentWords:
        """The keyed words of its users' permanent responses."""
        return PermanentWords(
            collection=self.name,
            attributes=[(attribute.name, attribute.values) for attribute in self.attributes],
            flip_threshold=self.mechanism.flip_threshold,
        )

    def attributes_of(self, estimate: EstimateSpec) -> tuple[Attribute, ...]:
        """The attributes of an estimate, in the order of its axes."""
        return tuple(self.attributes[self._positions[name]] for name in estimate.of)

    def sizes_of(self, estimate: EstimateSpec) -> tuple[int, ...]:
        """The shape of an estimate."""
        return tuple(len(attribute.values) for attribute in self.attributes_of(estimate))

    def bits_of(self, of: Sequence[str]) -> tuple[int, ...]:
        """Positions, in a report, of the bits of some attributes, in the given order."""
        positions: list[int] = []
        for name in of:
            position = self._positions[name]
            start = sum(self.sizes[:position])
            positions.extend(range(start, start + self.sizes[position]))
        return tuple(positions)

    @cached_property
    def document(self) -> dict[str, Any]:
        """All of it as plain data, equal for equal collections however they are written."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @cached_property
    def fingerprint(self) -> bytes:
        """16 bytes over exactly what changes the meaning of a report.

        The first 16 bytes of the SHA-256 of the compact JSON array [name, "rr-ldp", [f/2, p, q in units of 2^-32],
        [[attribute, [value, ...]], ...]] in UTF-8. Windows and estimates may change without it.
        """
        meaning = [
            self.name,
            self.mechanism_spec.kind,
            self.mechanism.thresholds,
            [[attribute.name, list(attribute.values)] for attribute in self.attributes],
        ]
        canonical = json.dumps(meaning, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).digest()[:FINGERPRINT_BYTES]

    def encode(self, record: Mapping[str, str]) -> tuple[int, ...]:
        """The value indices of a record that gives every attribute one of its values.

        Raises:
            ValueError: an attribute is missing, unknown, or has another value. The message never repeats the value.
        """
        if unknown := [name for name in record if name not in self._positions]:
            raise ValueError(
                f"{unknown[0]!r} is not an attribute of collection {self.name!r}"
                f"{_suggestion(unknown[0], self._positions)}"
            )
        codes = []
        for attribute in self.attributes:
            if attribute.name not in record:
                raise ValueError(f"attribute {attribute.name!r} is missing")
            try:
                codes.append(attribute.values.index(record[attribute.name]))
            except ValueError:
                raise ValueError(
                    f"attribute {attribute.name!r}: the given value is not one of {', '.join(attribute.values)}"
                ) from None
        return tuple(codes)


def _require_distinct(names: Sequence[str], what: str, field: str, *leaf: str) -> None:
    """`field`, and the key `leaf` of its items, tell where the names are."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise _Misplaced(f"{what} must be distinct, {name!r} is given twice", field, index, *leaf)
        seen.add(name)


def _suggestion(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def _at(source: str, node: yaml.Node) -> str:
    return f"{source}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _repeated_keys(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Keys that a mapping holds twice: YAML itself would silently keep the last."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield key
            seen.add(key.value)
            yield from _repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated_keys(item)


def _causes(error: ValidationError) -> list[Any]:
    """The problems, without those that only follow: a list is too short since pydantic left out its bad items."""
    problems = error.errors()
    return [
        problem
        for problem in problems
        if problem["type"] != "too_short"
        or not any(len(other["loc"]) > len(problem["loc"]) and _within(other, problem) for other in problems)
    ]


def _within(inner: Any, outer: Any) -> bool:
    return bool(inner["loc"][: len(outer["loc"])] == outer["loc"])


def _explained(problem: Any, root: yaml.Node, source: str) -> str:
    """One line for one validation problem: where, what is wrong, what would be right."""
    error = problem.get("ctx", {}).get("error")
    path: tuple[str | int, ...] = problem["loc"] + (error.place if isinstance(error, _Misplaced) else ())
    node, given = root, []
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = {key.value: (key, value) for key, value in node.value}
            given = list(found)
            if step not in found:
                break
            node = found[step][0] if problem["type"] == "extra_forbidden" and step == path[-1] else found[step][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
    return f"{_at(source, node)}: {'.'.join(map(str, path)) or 'collection'}: {_advice(problem, given)}"


def _advice(problem: Any, given: Sequence[str]) -> str:
    """What is wrong, and what would be right; `given` are the keys of the mapping that it is about."""
    path, value = problem["loc"], problem["input"]
    match problem["type"]:
        case "missing":
            return "this key is required"
        case "extra_forbidden":
            return f"unknown key{_suggestion(str(path[-1]), [key for key in _keys(path[:-1]) if key not in given])}"
        case "model_type":
            return f"expected keys such as {' and '.join(f'`{key}:`' for key in _keys(path)[:2])}"
        case "tuple_type":
            return "expected a list, such as [no, yes]"
        case "string_type" | "string_unicode":
            return "expected text"
        case "float_parsing":
            return f"{value!r} is not a number"
        case "literal_error":
            return f"expected {problem['ctx']['expected']}, got {value!r}"
        case "string_pattern_mismatch" if problem["ctx"]["pattern"] == _NAME_PATTERN:
            return "use at most 63 lower-case letters, digits, - and _, with a letter or digit at both ends"
        case "string_pattern_mismatch":
            return "control characters, such as a tab or a new line, are not allowed"
        case "too_short":
            return f"at least {problem['ctx']['min_length']} needed"
        case _:
            message: str = problem["msg"]
            return message.removeprefix("Value error, ").replace("Input", "it")


def _keys(path: Sequence[str | int]) -> list[str]:
    """The keys of the mapping at `path`."""
    part = _PARTS[path[0]] if path and isinstance(path[0], str) else Collection
    return [field.alias or name for name, field in part.model_fields.items()]


_PARTS: dict[str, type[_Part]] = {
    "mechanism": MechanismSpec,
    "attributes": Attribute,
    "window": Window,
    "estimates": EstimateSpec,
}
