"""Mechanisms written in one word, such as `hadamard:size=8,epsilon=1`, with the parameters of a collection file."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter, ValidationError

from stream_ldp.collection.located import raise_mistake
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import MECHANISMS, ORACLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from stream_ldp.mechanisms import FrequencyOracle, Mechanism, MechanismSpec

__all__ = ["EXAMPLES", "read_mechanism", "read_spec"]

Built = TypeVar("Built")

_ORACLES = {oracle.kind: oracle for oracle in ORACLES}

#: How a mechanism is written, by kind.
EXAMPLES: dict[str, str] = {
    **{kind: f"{kind}:{spec.example},sizes=2x3" for kind, spec in MECHANISMS.items()},
    **{kind: f"{kind}:{oracle.example}" for kind, oracle in _ORACLES.items()},
}


def read_mechanism(word: str) -> Mechanism | FrequencyOracle:
    """The mechanism that a word describes.

    Of a mechanism for records, `sizes` says the number of values of each attribute: `rr-ldp:f=0.5,sizes=2x3`.

    Raises:
        ParameterError: there is none; says what would be right.
    """
    kind, given = _parts(word, EXAMPLES)
    if kind in _ORACLES:
        oracle = _ORACLES[kind]
        known = {field.name: field for field in fields(oracle) if field.init}  # type: ignore[arg-type]  # a dataclass
        required = {name for name, field in known.items() if field.default is MISSING}
        _require(required <= given.keys() <= known.keys(), EXAMPLES[kind])
        return _built(lambda: TypeAdapter(oracle).validate_python(given), EXAMPLES[kind])
    _require("sizes" in given, EXAMPLES[kind])
    sizes = given.pop("sizes")
    return _built(lambda: _spec(kind, given, EXAMPLES[kind]).of(sizes=_sizes(sizes)), EXAMPLES[kind])


def read_spec(word: str) -> MechanismSpec:
    """The parameters of a mechanism for records that a word describes, without attributes: `rr-ldp:f=0.5`.

    Raises:
        ParameterError: there are none; says what would be right.
    """
    kind, given = _parts(word, MECHANISMS)
    example = f"{kind}:{MECHANISMS[kind].example}"
    return _built(lambda: _spec(kind, given, example), example)


def _parts(word: str, known: Iterable[str]) -> tuple[str, dict[str, str]]:
    kind, _, parameters = word.partition(":")
    if kind not in known:
        raise ParameterError(f"{kind!r} is no mechanism here; known are {', '.join(known)}")
    return kind, dict(part.partition("=")[::2] for part in parameters.split(","))


def _spec(kind: str, given: Mapping[str, str], example: str) -> MechanismSpec:
    known = MECHANISMS[kind].model_fields
    required = {name for name, field in known.items() if field.is_required()} - {"kind"}
    _require(required <= given.keys() <= known.keys() - {"kind"}, example)
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
    """A word that lacks a parameter, or has another one."""


def _built(build: Callable[[], Built], example: str) -> Built:
    """What `build` builds, or what is wrong in one line and what would be right in another."""
    try:
        return build()
    except _NotWritten:
        raise
    except ValidationError as error:
        raise_mistake(error)
        first = error.errors(include_url=False, include_input=False)[0]
        place = "".join(f"{step}: " for step in first["loc"])
        raise ParameterError(
            f"{place}{first['msg'].removeprefix('Value error, ')}\n  -> write it like {example}"
        ) from error
    except ParameterError as error:
        raise ParameterError(f"{error}\n  -> write it like {example}") from error
