"""What `stream-ldp audit` is asked to look at: a collection of either kind, or a mechanism written in one word."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import load_collections
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import (
    RRLDP,
    DirectResponse,
    HadamardResponse,
    PermanentWords,
    SetHadamardResponse,
    UnaryResponse,
)
from stream_ldp.privacy.audit.attacks import attacks
from stream_ldp.privacy.audit.enumeration import Enumeration, TooLarge
from stream_ldp.privacy.audit.item_attacks import oracle_attacks, set_attacks
from stream_ldp.privacy.audit.item_enumeration import DOMAIN, MOST_PADDING, ItemEnumeration
from stream_ldp.privacy.audit.response_law import in_miniature, law_epsilon, realised_law, stated_law
from stream_ldp.privacy.audit.set_law import (
    all_sets,
    answers_to,
    realised_set_law,
    small_set_response,
    stated_set_law,
)
from stream_ldp.sets.collection import ItemCollection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from stream_ldp.mechanisms import Entropy, FrequencyOracle
    from stream_ldp.privacy.audit.attacks import Attack
    from stream_ldp.privacy.audit.response_law import Law
    from stream_ldp.sets.phases import Method

__all__ = ["EXAMPLES", "Audited", "Exact", "read"]

#: How mechanisms are written, by kind.
EXAMPLES = {
    "rr-ldp": "rr-ldp:f=0.5,p=0.5,q=0.75,sizes=2x3",
    "hadamard": "hadamard:size=8,epsilon=1,hash_bits=1",
    "direct": "direct:size=8,dummies=2,epsilon=1",
    "unary": "unary:size=8,epsilon=1",
    "set-hadamard": "set-hadamard:size=8,slots=2,epsilon=1,hash_bits=3",
}

#: Reports for which a record that does not change is enumerated, and one that may.
_REPORTS = (1, 2, 3, math.inf)
_CHANGING_REPORTS = (2, 3, 4, 5, 6)

#: By which an enumerated epsilon may differ from the claimed one: both are rounded, at 50 digits and then once more.
_TOLERANCE = 1e-9

Row = dict[str, Any]

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, kw_only=True, slots=True)
class Exact:
    """What an enumeration has found.

    title: of the results.
    results: a row for each claim.
    changing: a row for each question that no claim covers.
    as_stated: whether the code has the probabilities that it states.
    wrong: claims that are disproved.
    miniature: what was enumerated instead of something too large.
    """

    title: str
    results: list[Row]
    as_stated: bool
    wrong: int
    changing: list[Row] | None = None
    miniature: str | None = None


class Audited(Protocol):
    """What is audited."""

    def enumerated(self) -> Exact:
        """Epsilon from the probabilities that the code realises.

        Raises:
            UnknownLaw: they cannot be found.
        """
        ...

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        """What to try on it."""
        ...


def read(subject: str) -> Audited:
    """A collection file or a mechanism, or the end of the command with what is wrong with it."""
    kind, _, parameters = subject.partition(":")
    if kind not in EXAMPLES or ":" not in subject:
        (collection,) = load_collections([Path(subject)]).values()
        if isinstance(collection, ItemCollection):
            return _Sets(method=collection.method)
        return _Records(mechanism=collection.mechanism, words=collection.permanent_words())
    given = dict(part.partition("=")[::2] for part in parameters.split(","))
    try:
        return _rr_ldp(subject, given) if kind == "rr-ldp" else _with_oracle(kind, given)
    except (KeyError, TypeError):
        fail(f"{subject}: not a mechanism; write it like {EXAMPLES[kind]}", code=2)
    except ParameterError as error:
        fail(f"{subject}: {error}\n  -> write it like {EXAMPLES[kind]}", code=2)


def _number(word: str, kind: type[_Number]) -> _Number:
    try:
        return kind(word)
    except ValueError as error:
        raise ParameterError(str(error)) from None


def _rr_ldp(subject: str, given: Mapping[str, str]) -> _Records:
    sizes = tuple(_number(size, int) for size in given["sizes"].split("x"))
    mechanism = RRLDP(sizes=sizes, **{name: _number(word, float) for name, word in given.items() if name != "sizes"})
    attributes = [(str(place), [str(value) for value in range(size)]) for place, size in enumerate(sizes)]
    words = PermanentWords(collection=subject, attributes=attributes, flip_threshold=mechanism.flip_threshold)
    return _Records(mechanism=mechanism, words=words)


def _with_oracle(kind: str, given: Mapping[str, str]) -> Audited:
    parameters: dict[str, Any] = {
        name: _number(word, float if name == "epsilon" else int) for name, word in given.items()
    }
    match kind:
        case "hadamard":
            return _Values(oracle=HadamardResponse(**parameters))
        case "direct":
            return _Values(oracle=DirectResponse(**parameters))
        case "unary":
            return _Values(oracle=UnaryResponse(**parameters))
        case _:
            return _WholeSets(oracle=SetHadamardResponse(**parameters))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Records:
    """RR-LDP, and the permanent words of its clients."""

    mechanism: RRLDP
    words: PermanentWords

    def enumerated(self) -> Exact:
        realised = Enumeration.realised(self.mechanism)
        as_stated = realised == Enumeration.stated(self.mechanism)
        results = [
            {
                "neighbours": neighbours,
                "reports": reports,
                "claimed": self.mechanism.epsilon(neighbours=neighbours, reports=reports),
                "enumerated": realised.epsilon(neighbours=neighbours, reports=reports),
            }
            for neighbours in range(1, len(self.mechanism.sizes) + 1)
            for reports in _REPORTS
        ]
        return Exact(
            title="A record that does not change",
            results=results,
            # Values can be renamed, and so enumerated, only where all of them are perturbed alike.
            changing=list(self._changing(realised)) if as_stated else [],
            as_stated=as_stated,
            wrong=sum(abs(each["enumerated"] - each["claimed"]) > _TOLERANCE for each in results),
        )

    def _changing(self, realised: Enumeration) -> Iterator[Row]:
        """What few reports of a record that may change tell, beside what the formula would say."""
        for reports in _CHANGING_REPORTS:
            for neighbours in range(1, len(self.mechanism.sizes) + 1):
                try:
                    enumerated = realised.changing_epsilon(neighbours=neighbours, reports=reports)
                except TooLarge:
                    return
                yield {
                    "neighbours": neighbours,
                    "reports": reports,
                    "if_constant": self.mechanism.epsilon(neighbours=neighbours, reports=reports),
                    "enumerated": enumerated,
                }

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        return attacks(self.mechanism, self.words, noise=noise, secrets=secrets)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Values:
    """A frequency oracle."""

    oracle: FrequencyOracle

    def enumerated(self) -> Exact:
        small = in_miniature(self.oracle)
        return _one_report(self.oracle, small, "value", realised_law(small), stated_law(small))

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return oracle_attacks(self.oracle, noise=noise)


@dataclass(frozen=True, kw_only=True, slots=True)
class _WholeSets:
    """A response to whole sets."""

    oracle: SetHadamardResponse

    def enumerated(self) -> Exact:
        small = small_set_response(self.oracle)
        sets = all_sets(small.size)
        realised = realised_set_law(small, sets, answers_to(small, sets))
        return _one_report(self.oracle, small, "set", realised, stated_set_law(small, sets))

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return oracle_attacks(self.oracle, noise=noise)


def _one_report(oracle: FrequencyOracle, small: FrequencyOracle, of: str, realised: Law, stated: Law) -> Exact:
    enumerated = law_epsilon(realised)
    return Exact(
        title=f"One report of a {of}",
        results=[
            {
                "neighbours": f"any two {of}s",
                "reports": 1,
                "claimed": small.epsilon,
                "enumerated": enumerated,
            }
        ],
        as_stated=bool((realised == stated).all()),
        wrong=int(enumerated > small.epsilon + _TOLERANCE),
        miniature=None if small == oracle else str(small),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sets:
    """A heavy-hitter method."""

    method: Method

    def enumerated(self) -> Exact:
        realised = ItemEnumeration.realised(self.method)
        whole: Row = {
            "phase": "all",
            "neighbours": "any two sets",
            "reports": "epoch",
            "allowed": realised.allowed,
            "claimed": realised.claimed,
            "enumerated": realised.epsilon,
        }
        phases: list[Row] = [
            {
                **whole,
                "phase": phase.number,
                "reports": 1,
                "allowed": phase.allowed,
                "claimed": phase.claimed,
                "enumerated": phase.epsilon,
            }
            for phase in realised.phases
        ]
        results = [*phases, whole]
        return Exact(
            title="The answers of one user",
            results=results,
            as_stated=realised == ItemEnumeration.stated(self.method),
            wrong=sum(
                each["enumerated"] > each["claimed"] + _TOLERANCE or each["claimed"] > each["allowed"] + _TOLERANCE
                for each in results
            ),
            miniature=f"{DOMAIN} items, sets padded to at most {MOST_PADDING}, oracles of the same kinds and epsilon",
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return set_attacks(self.method, noise=noise)
