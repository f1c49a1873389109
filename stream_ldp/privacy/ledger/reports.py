"""Reports as a ledger charges them: which permanent responses they show, by name, and at what price; no value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.mechanisms import KRR, SECRET_BYTES, AnyMechanismSpec
from stream_ldp.places.questions import CLASS
from stream_ldp.questions.cost import AnswerCost, RepeatedCost
from stream_ldp.questions.permanent import asked, held_words
from stream_ldp.sets.cost import SignCost
from stream_ldp.sets.permanent import held_sign, sign_words
from stream_ldp.strings import permanent as string_answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms.randomness.permanent import KeyedWords
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.questions.collection import AskingCollection
    from stream_ldp.questions.questions import Table
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.strings.collection import StringCollection

__all__ = [
    "AttributeReport",
    "PhaseReport",
    "ReportCost",
    "answer_reports",
    "attribute_reports",
    "place_reports",
    "set_reports",
    "string_reports",
]

#: Words of an attribute in a tag. By these 64 bits, any two of 1,000 values share a tag with probability 3e-14.
_TAG_WORDS = 2
_PUBLIC_KEY = bytes(SECRET_BYTES)

#: What a report costs: the parameters of a mechanism for records, those of an answer, or those of a permanent sign.
ReportCost = AnyMechanismSpec | AnswerCost | RepeatedCost | SignCost


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeReport:
    """The part of a report that shows one attribute, without the attribute's value.

    responses: names a set of permanent responses: equal where, and only where, equal values of one user have the
        same permanent response.
    tag: names the permanent response that is shown; None where it was drawn for this report alone.
    times: number of reports that show it.
    linked: whether they carry the user's pseudonym.
    """

    collection: str
    attribute: str
    responses: str
    mechanism: ReportCost
    tag: str | None
    times: int
    linked: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseReport:
    """A report to one phase of one epoch of an item collection, without its content.

    fingerprint: of the collection, hexadecimal; epochs are counted anew for each fingerprint.
    epsilon: what the collection's method allows the report to cost, in nats; 0 to a phase that memoises, whose
        permanent responses have an account of their own.
    """

    collection: str
    fingerprint: str
    phase: int
    epoch: int
    epsilon: float

    @classmethod
    def to(cls, collection: ItemCollection, *, phase: int, epoch: int) -> Self:
        """Describe a report to this phase."""
        asked_by = collection.method.phases[phase - 1]
        return cls(
            collection=collection.name,
            fingerprint=collection.fingerprint.hex(),
            phase=phase,
            epoch=epoch,
            epsilon=asked_by.epsilon if asked_by.memoised is None else 0.0,
        )


def attribute_reports(
    collection: JointCollection, values: Iterable[Sequence[int]], *, tag_key: bytes | None
) -> tuple[AttributeReport, ...]:
    """Describe what reports of these records of one user show of each attribute.

    values: value indices as `JointCollection.encode` gives them, shape (n, attributes).
    tag_key: 32 bytes that only the user has; None where the permanent responses are drawn afresh.
    """
    words = collection.permanent_words(least=_TAG_WORDS)
    counts = [max(_TAG_WORDS, count) for count in collection.mechanism.words]
    starts = [sum(counts[:position]) for position in range(len(counts))]

    def tags(key: bytes, record: Sequence[int]) -> list[str]:
        # A tag is made as a permanent response is, with another key. So it depends on exactly what the response
        # depends on, and shows nothing without its key.
        made = words.words(key, record)
        return [made[start : start + _TAG_WORDS].tobytes().hex() for start in starts]

    responses = tags(_PUBLIC_KEY, [0] * len(starts))
    return tuple(
        AttributeReport(
            collection=collection.name,
            attribute=attribute.name,
            responses=response,
            mechanism=cost,
            tag=tag,
            times=times,
            # Without permanent noise, every report has a pseudonym of its own.
            linked=collection.linked_ms is not None and tag_key is not None,
        )
        for record, times in Counter(map(tuple, values)).items()
        for attribute, response, cost, tag in zip(
            collection.attributes,
            responses,
            _costs(collection),
            [None] * len(starts) if tag_key is None else tags(tag_key, record),
            strict=True,
        )
    )


def _costs(collection: JointCollection) -> list[ReportCost]:
    """Return the cost of the reports of each attribute."""
    mechanism = collection.mechanism
    if isinstance(mechanism, KRR) and mechanism.report_epsilon is not None:
        return [
            RepeatedCost(size=size, permanent=kept, fresh=fresh)
            for size, kept, fresh in zip(mechanism.sizes, mechanism.kept, mechanism.fresh, strict=True)
        ]
    return [collection.mechanism_spec] * len(collection.attributes)


def answer_reports(
    collection: AskingCollection, table: Table, *, secret: bytes, tag_key: bytes | None
) -> tuple[AttributeReport, ...]:
    """Describe what reports of these records of one user show of what the user is asked about.

    table: the records, one a row.
    secret: the user's, which determines the question.
    tag_key: as for `attribute_reports`.
    """
    (number,) = asked(collection, secrets=[secret]).tolist()
    question = collection.questions.questions[number]
    shown = [
        None if tag_key is None else _tag(held_words(collection, number, table[[place]], key=tag_key))
        for place in range(len(table))
    ]
    return _shown_answers(
        collection,
        number,
        attribute=" and ".join(each.name for each in question.attributes),
        cost=question.cost,
        tags=shown,
    )


def place_reports(collection: PlaceCollection, table: Table, *, tag_key: bytes | None) -> tuple[AttributeReport, ...]:
    """Describe what reports of these records of one user show of where the user is.

    They cost what the file says of the epsilon that the user has chosen. Whoever chooses another one, or another
    region, gives another answer, which costs as well.

    table: the records, one a row.
    tag_key: as for `answer_reports`.
    """
    numbers = collection.chosen(table)
    found: list[AttributeReport] = []
    for chosen in np.unique(table[CLASS]).tolist():
        tags = [
            None if tag_key is None else _tag(held_words(collection, number, table[[place]], key=tag_key))
            for place, number in enumerate(numbers.tolist())
            if table[CLASS][place] == chosen
        ]
        epsilon = collection.mechanism_spec.epsilon[chosen]
        found += _shown_answers(collection, chosen, attribute="place", cost=AnswerCost(epsilon=epsilon), tags=tags)
    return tuple(found)


def string_reports(
    collection: StringCollection, table: NDArray[np.integer], *, secret: bytes, tag_key: bytes | None
) -> tuple[AttributeReport, ...]:
    """Describe what reports of these strings of one user show of them.

    table: symbols of the strings, shape (n, length).
    secret, tag_key: as for `answer_reports`.
    """
    questions, users = collection.method.questions, len(table)
    (number,), seeds = string_answers.asked(collection, secrets=[secret])
    shown = [
        None if tag_key is None else _tag(string_answers.held_words(collection, int(number), inputs, key=tag_key))
        for inputs in questions.inputs(np.full(users, number), np.repeat(seeds, users), table)
    ]
    return _shown_answers(
        collection,
        int(number),
        attribute=collection.string.name,
        cost=AnswerCost(epsilon=questions.epsilon),
        tags=shown,
    )


def _tag(words: KeyedWords) -> str:
    """Make the tag of an answer: as the answer is made, but with another key."""
    return words.words(_TAG_WORDS).tobytes().hex()


def _shown_answers(
    collection: AskingCollection | StringCollection | PlaceCollection,
    number: int,
    *,
    attribute: str,
    cost: ReportCost,
    tags: Iterable[str | None],
) -> tuple[AttributeReport, ...]:
    """Describe reports of one user, all of which are charged to one account.

    number: of the question that they answer, or of the epsilon that their user has chosen.
    """
    return tuple(
        AttributeReport(
            collection=collection.name,
            attribute=attribute,
            responses=f"{collection.fingerprint.hex()} {number}",
            mechanism=cost,
            tag=tag,
            times=times,
        )
        for tag, times in Counter(tags).items()
    )


def set_reports(
    collection: ItemCollection, user: ItemSets, *, phase: int, secret: bytes, tag_key: bytes | None
) -> tuple[AttributeReport, ...]:
    """Describe the permanent response that a report of one user to a phase shows; none unless the phase memoises.

    user: the set of the one user.
    secret: the user's, which determines the sign.
    tag_key: as for `attribute_reports`.
    """
    cost = collection.method.phases[phase - 1].memoised
    if cost is None:
        return ()
    sign = held_sign(collection, user, secret=secret)
    # As for records: a tag is made as the response is, with another key.
    tag = None if tag_key is None else sign_words(collection, sign, key=tag_key).words(_TAG_WORDS).tobytes().hex()
    shown = AttributeReport(
        collection=collection.name,
        attribute="sign of the set",
        responses=collection.fingerprint.hex(),
        mechanism=cost,
        tag=tag,
        times=1,
    )
    return (shown,)
