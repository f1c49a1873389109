"""This module reads what `stream-ldp audit` checks: a collection of any kind, or a mechanism in one word."""

from __future__ import annotations

import asyncio
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from stream_ldp.cli.failure import fail
from stream_ldp.cli.kinds import face_of
from stream_ldp.cli.options import load_collections
from stream_ldp.collection.located import suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import FrequencyOracle, Mechanism, PermanentWords, RepeatedResponse
from stream_ldp.mechanisms.notation import EXAMPLES, read_mechanism
from stream_ldp.privacy.audit.attacks import attacks
from stream_ldp.privacy.audit.enumeration import Enumeration, TooLarge
from stream_ldp.privacy.audit.item_attacks import randomizer_attacks, set_attacks
from stream_ldp.privacy.audit.item_enumeration import DOMAIN, MOST_PADDING, ItemEnumeration
from stream_ldp.privacy.audit.output_distribution import (
    all_sets,
    epsilon_of,
    in_miniature,
    realised_distribution,
    realised_set_distribution,
    repeated_epsilon,
    stated_distribution,
)
from stream_ldp.privacy.audit.record_reports import record_differences
from stream_ldp.privacy.audit.repeated_attacks import repeated_attacks
from stream_ldp.privacy.audit.repeated_reports import changing_losses, repeated_differences, repeated_losses
from stream_ldp.privacy.audit.set_reports import (
    WideLoss,
    method_differences,
    oracle_differences,
    wide_loss,
    wide_losses,
)
from stream_ldp.privacy.audit.several_users import several_users_differences
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.permanent import permanent_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream_ldp.client.audit.finding import Finding
    from stream_ldp.mechanisms import Entropy, Randomizer
    from stream_ldp.mechanisms.randomizer import OutputDistribution
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.places.questions import PlaceQuestion
    from stream_ldp.privacy.audit.attacks import Attack
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.sampled.collection import AskingCollection
    from stream_ldp.sampled.questions import QuestionSet
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.phases import Method
    from stream_ldp.strings.collection import StringCollection
    from stream_ldp.strings.questions import StringQuestions

__all__ = [
    "EXAMPLES",
    "Audited",
    "Exact",
    "OneReport",
    "audited_places",
    "audited_records",
    "audited_sampled",
    "audited_sets",
    "audited_strings",
    "read",
]

#: Numbers of reports for which a record that does not change is enumerated, and one that may change.
_REPORTS = (1, 2, 3, math.inf)
_CHANGING_REPORTS = (2, 3, 4, 5, 6)

#: The most by which an enumerated epsilon may differ from the claimed one: both are rounded, at 50 digits and again.
_TOLERANCE = 1e-9

#: Most values of a symbol that are enumerated at full width; so many take ten seconds, and the time grows with the
#: fourth power.
_MAX_SYMBOL = 32

#: Slots of the sets whose sampling is enumerated for an oracle by itself; a method says its own.
_PADDING = 6

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Exact:
    """The results of an enumeration.

    title: title of the results.
    results: a row for each claim.
    changing: a row for each case that no claim covers.
    changes: what may change in them.
    wide: a row for each oracle that was enumerated at its real width, for some values and sets.
    differences: where the code does not have the probabilities that it states, and how.
    wrong: number of claims that are disproved.
    miniature: description of what was enumerated in place of something too large.
    """

    title: str
    results: list[Row]
    differences: tuple[str, ...]
    wrong: int
    changing: list[Row] | None = None
    changes: str = "A record"
    wide: list[Row] | None = None
    miniature: str | None = None


class Audited(Protocol):
    """A collection or mechanism to audit."""

    def enumerated(self) -> Exact:
        """Compute epsilon from the probabilities with which the code produces its outputs.

        Raises:
            UnknownDistribution: the probabilities cannot be found.
        """
        ...

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        """Return the attacks to try on it."""
        ...

    def findings(self, directory: Path) -> list[Finding] | None:
        """Return what an audit of its clients has found; None if there is no audit of them.

        directory: an empty directory, for the files of the audit's users.
        """
        ...


def read(subject: str) -> Audited:
    """Read a collection file or a mechanism, or end the command with what is wrong with it."""
    kind, colon, _ = subject.partition(":")
    if Path(subject).exists() or not (colon or kind in EXAMPLES):
        (collection,) = load_collections([Path(subject)]).values()
        audited: Audited = face_of(collection).audited(collection)
        return audited
    if kind in METHODS:
        fail(
            f"{subject}: {kind} is a method of item collections: write it in a collection file, and audit that",
            code=2,
        )
    if kind not in EXAMPLES:
        fail(f"{subject}: no such file, and {kind!r} is no mechanism{suggestion(kind, EXAMPLES)}", code=2)
    try:
        mechanism = read_mechanism(subject)
    except ParameterError as error:
        fail(f"{subject}: {error}", code=2)
    if not isinstance(mechanism, Mechanism):
        return OneReport(randomizer=mechanism)
    attributes = [(str(place), [str(value) for value in range(size)]) for place, size in enumerate(mechanism.sizes)]
    words = PermanentWords(collection=subject, attributes=attributes, noise=mechanism.noise, counts=mechanism.words)
    return _Records(mechanism=mechanism, words=words)


def audited_records(collection: JointCollection) -> Audited:
    """Return the mechanism of a collection of records, with the permanent words of its clients."""
    return _Records(mechanism=collection.mechanism, words=collection.permanent_words(), collection=collection)


def audited_sets(collection: ItemCollection) -> Audited:
    """Return the method of a collection of item sets."""
    return _Sets(method=collection.method, collection=collection)


def audited_sampled(collection: AskingCollection) -> Audited:
    """Return the questions of a sampled collection."""
    return _Questions(questions=collection.questions, collection=collection)


def audited_places(collection: PlaceCollection) -> Audited:
    """Return the questions of a collection of places."""
    return _Places(collection=collection)


def audited_strings(collection: StringCollection) -> Audited:
    """Return the questions of a collection of strings."""
    return _Strings(questions=collection.method.questions)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Records:
    """A mechanism for records, the permanent words of its clients, and their collection if there is one."""

    mechanism: Mechanism
    words: PermanentWords
    collection: JointCollection | None = None

    def enumerated(self) -> Exact:
        small = self.mechanism.small()
        mechanism = self.mechanism if max(self.mechanism.symbol_sizes) <= _MAX_SYMBOL else small
        realised = Enumeration.realised(mechanism)
        differences = tuple(record_differences(self.mechanism, self.words, realised=realised))
        results = [
            {
                "neighbours": neighbours,
                "reports": reports,
                "claimed": mechanism.epsilon(neighbours=neighbours, reports=reports),
                "enumerated": realised.epsilon(neighbours=neighbours, reports=reports),
            }
            for neighbours in range(1, len(mechanism.sizes) + 1)
            for reports in _REPORTS
        ]
        return Exact(
            title="A record that does not change",
            results=results,
            # Values can be renamed, and so enumerated, only where all of them are perturbed alike.
            changing=[] if differences else list(_changing(mechanism, realised)),
            differences=differences,
            wrong=sum(abs(each["enumerated"] - each["claimed"]) > _TOLERANCE for each in results),
            miniature=None if mechanism is self.mechanism else str(mechanism),
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        return attacks(self.mechanism, self.words, noise=noise, secrets=secrets)

    def findings(self, directory: Path) -> list[Finding] | None:
        # Imported here, since other audits need not wait for the import of clients.
        from stream_ldp.client.audit.reporter import audit_reporter  # noqa: PLC0415
        from stream_ldp.client.audit.subjects import JointSubject  # noqa: PLC0415

        if self.collection is None:
            return None
        return asyncio.run(audit_reporter(JointSubject(self.collection), directory))


def _both(wide: WideLoss) -> tuple[float, float]:
    return wide.enumerated, wide.claimed


def _changing(mechanism: Mechanism, realised: Enumeration) -> Iterator[Row]:
    """Yield the epsilon of a few reports of a record that may change, beside that of one that does not."""
    for reports in _CHANGING_REPORTS:
        for neighbours in range(1, len(mechanism.sizes) + 1):
            try:
                enumerated = realised.changing_epsilon(neighbours=neighbours, reports=reports)
            except TooLarge:
                return
            yield {
                "neighbours": neighbours,
                "reports": reports,
                "if_constant": mechanism.epsilon(neighbours=neighbours, reports=reports),
                "enumerated": enumerated,
            }


@dataclass(frozen=True, kw_only=True, slots=True)
class OneReport:
    """A local randomizer, of which a user sends one report."""

    randomizer: Randomizer

    def enumerated(self) -> Exact:
        small = in_miniature(self.randomizer)
        if not isinstance(small, FrequencyOracle) or small.set_slots is None:
            of = "value" if isinstance(small, FrequencyOracle) else "number"
            return self._exact(small, of, realised_distribution(small), stated_distribution(small))
        sets = all_sets(small.size)
        realised = realised_set_distribution(small, sets, padding=small.set_slots)
        return self._exact(small, "set", realised, small.stated_sets(sets, padding=small.set_slots))

    def _exact(self, small: Randomizer, of: str, realised: OutputDistribution, stated: OutputDistribution) -> Exact:
        enumerated = epsilon_of(realised)
        as_stated = bool((realised == stated).all())
        differences, wide = list(several_users_differences(self.randomizer)), []
        if isinstance(self.randomizer, FrequencyOracle):
            # Only an oracle that knows dummies reports sets.
            if self.randomizer.inputs > self.randomizer.size:
                padding = self.randomizer.set_slots or _PADDING
                differences += oracle_differences(self.randomizer, padding=padding)
            wide = [loss for loss in [wide_loss(self.randomizer)] if loss is not None]
        if not as_stated:
            differences.insert(
                0, f"{type(small).__name__}, one user: its reports of a {of} are not as likely as stated"
            )
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
            differences=tuple(differences),
            wide=list(map(asdict, wide)),
            wrong=sum(
                each > claimed + _TOLERANCE for each, claimed in [(enumerated, small.epsilon), *map(_both, wide)]
            ),
            miniature=None if small == self.randomizer else str(small),
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return randomizer_attacks(self.randomizer, noise=noise)

    def findings(self, directory: Path) -> list[Finding] | None:  # noqa: ARG002
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Questions:
    """The questions of a sampled collection, of which a user answers one, drawn whatever the user holds."""

    questions: QuestionSet
    collection: AskingCollection

    def enumerated(self) -> Exact:
        # Cohorts share their randomizer.
        enumerated = {
            each: OneReport(randomizer=each).enumerated()
            for each in dict.fromkeys(each.randomizer for each in self.questions.questions)
        }
        found = [enumerated[each.randomizer] for each in self.questions.questions]
        small = [in_miniature(each.randomizer) for each in self.questions.questions]
        results: list[Row] = [
            {
                "question": number,
                "about": " and ".join(attribute.name for attribute in question.attributes),
                **exact.results[0],
            }
            for number, (question, exact) in enumerate(zip(self.questions.questions, found, strict=True))
        ]
        # All reports of a user reveal what they repeat, and no more.
        repeated = [
            OneReport(randomizer=each).enumerated()
            for each in dict.fromkeys(each.randomizer.memoised for each in self.questions.questions)
        ]
        results += [
            {
                **results[number],
                "reports": reports,
                "claimed": small[number].loss(reports=reports),
                "enumerated": repeated_epsilon(small[number], reports=reports),
            }
            for number, question in enumerate(self.questions.questions)
            if isinstance(question.randomizer, RepeatedResponse)
            for reports in _REPORTS[1:]
        ]
        results.append(
            {
                "question": "any",
                "about": "any",
                "neighbours": "any two users",
                "reports": math.inf,
                "claimed": max(each.results[0]["claimed"] for each in repeated),
                "enumerated": max(each.results[0]["enumerated"] for each in repeated),
            }
        )
        miniatures = [str(each) for each, exact in zip(small, found, strict=True) if exact.miniature is not None]
        return Exact(
            title="The answers of one user, who answers one question, and repeats the answer",
            results=results,
            differences=tuple(dict.fromkeys(difference for each in found for difference in each.differences)),
            wide=[row for each in found for row in each.wide or ()],
            wrong=sum(each.wrong for each in found)
            + sum(
                abs(each["enumerated"] - each["claimed"]) > _TOLERANCE
                for each in results
                if each["question"] != "any"
            ),
            miniature=", ".join(dict.fromkeys(miniatures)) or None,
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return tuple(
            replace(attack, target=f"question {number}, {attack.target}")
            for number, question in enumerate(self.questions.questions)
            for attack in randomizer_attacks(question.randomizer, noise=noise)
        )

    def findings(self, directory: Path) -> list[Finding] | None:
        from stream_ldp.client.audit.reporter import audit_reporter  # noqa: PLC0415
        from stream_ldp.client.audit.subjects import SampledSubject  # noqa: PLC0415

        return asyncio.run(audit_reporter(SampledSubject(self.collection), directory))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Places:
    """The questions of a collection of places: a region and an epsilon, both told, and an answer within the region.

    Regions of one size have the same randomizers. Two users of different regions, or of different epsilons, are told
    apart by what they tell: no epsilon is claimed for them.
    """

    collection: PlaceCollection

    def enumerated(self) -> Exact:
        found = {each: OneReport(randomizer=each).enumerated() for each in self._asked}
        results: list[Row] = [
            {
                "places": question.region.size,
                "neighbours": "any two places of a region",
                "reports": math.inf,
                "claimed": question.epsilon,
                "enumerated": found[each].results[0]["enumerated"],
            }
            for each, question in self._asked.items()
        ]
        miniatures = [str(in_miniature(each)) for each, exact in found.items() if exact.miniature is not None]
        return Exact(
            title="The answers of one user, who tells the region and the epsilon, and repeats the answer",
            results=results,
            differences=tuple(
                dict.fromkeys(difference for each in found.values() for difference in each.differences)
            ),
            wide=[row for each in found.values() for row in each.wide or ()],
            wrong=sum(each.wrong for each in found.values())
            + sum(each["enumerated"] > each["claimed"] + _TOLERANCE for each in results),
            miniature=", ".join(dict.fromkeys(miniatures)) or None,
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return tuple(
            replace(attack, target=f"{question.region.size} places, {attack.target}")
            for each, question in self._asked.items()
            for attack in randomizer_attacks(each, noise=noise)
        )

    def findings(self, directory: Path) -> list[Finding] | None:  # noqa: ARG002
        return None

    @property
    def _asked(self) -> dict[Randomizer, PlaceQuestion]:
        """A question for each randomizer, the largest regions first."""
        ordered = sorted(self.collection.asked, key=lambda each: (-each.region.size, each.epsilon))
        return {each.randomizer: each for each in ordered}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Strings:
    """The questions of a collection of strings, whose answers are made by the same randomizers, one after another.

    The question and the seed are drawn whatever the string is. Given both, each randomizer has an input of its own,
    and the draws of all are independent: the losses add up, and two strings attain the sum if all inputs differ.
    """

    questions: StringQuestions

    def enumerated(self) -> Exact:
        found = [OneReport(randomizer=each).enumerated() for each in self.questions.randomizers]
        results: list[Row] = [
            {"randomizer": each.title, **exact.results[0]}
            for each, exact in zip(self.questions.randomizers, found, strict=True)
        ]
        results.append(
            {
                "randomizer": "all",
                "neighbours": "any two strings",
                "reports": math.inf,
                "claimed": self.questions.epsilon,
                "enumerated": sum(each["enumerated"] for each in results),
            }
        )
        miniatures = [
            str(in_miniature(each))
            for each, exact in zip(self.questions.randomizers, found, strict=True)
            if exact.miniature is not None
        ]
        whole = results[-1]
        return Exact(
            title="The answers of one user, who answers one question, and repeats the answer",
            results=results,
            differences=tuple(dict.fromkeys(difference for each in found for difference in each.differences)),
            wide=[row for each in found for row in each.wide or ()],
            wrong=sum(each.wrong for each in found) + (whole["enumerated"] > whole["claimed"] + _TOLERANCE),
            miniature=", ".join(dict.fromkeys(miniatures)) or None,
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return tuple(
            attack for each in self.questions.randomizers for attack in randomizer_attacks(each, noise=noise)
        )

    def findings(self, directory: Path) -> list[Finding] | None:  # noqa: ARG002
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sets:
    """A heavy-hitter method, and its collection."""

    method: Method
    collection: ItemCollection

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
        repeated: list[Row] = [
            {"phase": "all", "neighbours": "any two sets", **asdict(each)} for each in repeated_losses(self.method)
        ]
        results = [*phases, whole, *repeated]
        stated = ItemEnumeration.stated(self.method)
        wide = wide_losses(self.method)
        return Exact(
            title="The reports of one user",
            results=results,
            changing=[{"neighbours": "any two users", **asdict(each)} for each in changing_losses(self.method)]
            or None,
            changes="A set",
            differences=(
                *realised.differences(stated),
                *method_differences(self.method),
                *repeated_differences(self.method),
            ),
            wide=list(map(asdict, wide)),
            wrong=sum(each > claimed + _TOLERANCE for each, claimed in map(_both, wide))
            + sum(
                each["enumerated"] > each["claimed"] + _TOLERANCE or each["claimed"] > each["allowed"] + _TOLERANCE
                for each in results
            )
            + sum(abs(each["enumerated"] - each["claimed"]) > _TOLERANCE for each in repeated),
            miniature=f"{DOMAIN} items, sets padded to at most {MOST_PADDING}, oracles of the same kinds and epsilon",
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        repeated = repeated_attacks(
            self.method,
            keyed=lambda secret: permanent_words(self.collection, key=secret),
            noise=noise,
            secrets=secrets,
        )
        return (*set_attacks(self.method, noise=noise), *repeated)

    def findings(self, directory: Path) -> list[Finding] | None:
        from stream_ldp.client.audit.item_reporter import audit_item_reporter  # noqa: PLC0415

        return asyncio.run(audit_item_reporter(self.collection, directory))
