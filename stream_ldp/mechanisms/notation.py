"""Mechanisms written in one word, such as `hadamard:size=8,epsilon=1`, with the parameters of a collection file."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from stream_ldp.collection.located import raise_mistake, right_value
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import MECHANISMS, RANDOMIZERS, Mechanism, MechanismSpec, Randomizer

Built = TypeVar("Built")

_RANDOMIZERS = {randomizer.kind: randomizer for randomizer in RANDOMIZERS}

#: An example of the notation of each mechanism for records, and of each for one value; k-subset is both.
OF_RECORDS = {kind: f"{kind}:{spec.example},sizes=2x3" for kind, spec in MECHANISMS.items()}
OF_VALUES = {kind: f"{kind}:{randomizer.example}" for kind, randomizer in _RANDOMIZERS.items()}
EXAMPLES: dict[str, str] = {
    **OF_RECORDS,
    **{kind: example for kind, example in OF_VALUES.items() if kind not in OF_RECORDS},
}


def read_mechanism(word: str) -> Mechanism | Randomizer:
    """Read a mechanism from its notation in one word.

    For a mechanism for records, `sizes` gives the number of values of each attribute: `rr-ldp:f=0.5,sizes=2x3`.

    Raises:
        ParameterError: the word describes no mechanism; the message says what would be right.
    """
    kind, given = _parts(word)
    if kind not in MECHANISMS or (kind in _RANDOMIZERS and "sizes" not in given):
        randomizer = _RANDOMIZERS[kind]
        known = {field.name: field for field in fields(randomizer) if field.init}  # type: ignore[arg-type]  # a dataclass
        required = {name for name, field in known.items() if field.default is MISSING}
        _require(required <= given.keys() <= known.keys(), OF_VALUES[kind])
        return _built(lambda: TypeAdapter(randomizer).validate_python(given), OF_VALUES[kind])
    _require("sizes" in given, EXAMPLES[kind])
    sizes = given.pop("sizes")
    return _built(lambda: _spec(kind, given).of(sizes=_sizes(sizes)), EXAMPLES[kind])


def _parts(word: str) -> tuple[str, dict[str, str]]:
    kind, _, parameters = word.partition(":")
    if kind not in EXAMPLES:
        raise ParameterError(f"{kind!r} is no mechanism here; known are {', '.join(EXAMPLES)}")
    given = [part.partition("=")[::2] for part in parameters.split(",")]
    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{name!r} is given twice in {word!r}")
    return kind, dict(given)


def _spec(kind: str, given: Mapping[str, str]) -> MechanismSpec:
    known = MECHANISMS[kind].model_fields
    required = {name for name, field in known.items() if field.is_required()} - {"kind"}
    _require(required <= given.keys() <= known.keys() - {"kind"}, EXAMPLES[kind])
    return MECHANISMS[kind].model_validate({"kind": kind, **given})


def _sizes(word: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in word.split("x"))
    except ValueError as error:
        raise ParameterError(str(error)) from None


def _require(complete: bool, example: str) -> None:
    if not complete:
        raise _NotWritten(f"not a mechanism; write it like {example}")


class _NotWritten(ParameterError):
    """A word lacks a parameter, or has an unknown one."""


def _built(build: Callable[[], Built], example: str) -> Built:
    """Build a mechanism; explain a mistake in one line, and in another what would be right."""
    try:
        return build()
    except _NotWritten:
        raise
    except ValidationError as error:
        raise_mistake(error)
        first = error.errors(include_url=False)[0]
        place = "".join(f"{step}: " for step in first["loc"])
        raise ParameterError(f"{place}{right_value(first)}\n  -> write it like {example}") from error
    except ParameterError as error:
        raise ParameterError(f"{error}\n  -> write it like {example}") from error
