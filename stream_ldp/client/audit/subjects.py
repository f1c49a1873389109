"""What the audit of reporters of records needs to know of each kind of collection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from stream_ldp.client.audit.repeatable import SameWords
from stream_ldp.mechanisms import BloomResponse, SeededEntropy
from stream_ldp.questions.permanent import asked, permanent_answers
from stream_ldp.strings import permanent as string_answers

if TYPE_CHECKING:
    from stream_ldp.collection.records import CollectionOfRecords
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.questions.collection import AskingCollection
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.strings.collection import StringCollection

    #: A record as a collection encodes it.
    Record = tuple[Any, ...]


class Subject(Protocol):
    """A collection whose reporter is audited, and what is expected of it.

    records: at least two different ones; the last differs from the first in every attribute that is hidden.
    noises: sources of fresh noise with which two reports of a user must be the same.
    equal_noise: a bound on the chance that two reports of one permanent response are the same.
    asks_part: whether users are asked about a part of their record.
    linked_ms: length of the periods, in milliseconds, in which reports carry one pseudonym; None if they have none.
    """

    records: list[Record]
    noises: list[Entropy]
    equal_noise: float
    asks_part: bool
    linked_ms: int | None

    @property
    def collection(self) -> CollectionOfRecords: ...

    def row(self, record: Record, secret: bytes, entropy: Entropy) -> bytes:
        """Return the report that shows a user's permanent response to a record, with this fresh noise."""
        ...

    def pseudonym(self, secret: bytes, *, time_ms: int) -> bytes:
        """Return the pseudonym that stands before a user's row at a time; empty where reports are not linked."""
        ...

    def epsilon(self, secret: bytes, *, reports: int) -> float:
        """Return what so many reports of one record cost the user, in nats."""
        ...

    def unasked(self, record: Record, secret: bytes) -> Record:
        """Return a record that differs, if possible, where the user is not asked: the report has to be the same."""
        ...


class JointSubject:
    """A collection of joint distributions."""

    def __init__(self, collection: JointCollection) -> None:
        self.collection = collection
        mechanism = collection.mechanism
        first, last = (0,) * len(mechanism.sizes), tuple(size - 1 for size in mechanism.sizes)
        self.records: list[Record] = list(dict.fromkeys([first, (1, *first[1:]), (*first[:-1], last[-1]), last]))
        # Words between p and q, where a report shows the permanent response.
        midways = {(each.one + each.zero) / 2 for each in mechanism.supports}
        self.noises: list[Entropy] = [SameWords(probability) for probability in sorted({*midways, 0.5})]
        self.asks_part, self.linked_ms = False, collection.linked_ms
        self.equal_noise = math.prod(
            max(float(sum(chance**2 for chance in row)) for row in symbol.stages.response)
            for symbols in mechanism.stated()
            for symbol in symbols
        )

    def row(self, record: Record, secret: bytes, entropy: Entropy) -> bytes:
        words = self.collection.permanent_words().words(secret, record)
        return self.collection.mechanism.perturb(
            np.array([record]), entropy=entropy, permanent_words=words[None]
        ).tobytes()

    def pseudonym(self, secret: bytes, *, time_ms: int) -> bytes:
        return self.collection.pseudonyms(1, secrets=[secret], time_ms=time_ms, entropy=SeededEntropy(0)).tobytes()

    def epsilon(self, secret: bytes, *, reports: int) -> float:  # noqa: ARG002
        return self.collection.mechanism.epsilon(reports=reports)

    def unasked(self, record: Record, secret: bytes) -> Record:  # noqa: ARG002
        """See `Subject.unasked`: reports show all attributes."""
        return record


class _Unlinked:
    """A collection that does not link what its users answer."""

    linked_ms: int | None = None

    def pseudonym(self, secret: bytes, *, time_ms: int) -> bytes:  # noqa: ARG002
        """See `Subject.pseudonym`: there is none."""
        return b""


class SampledSubject(_Unlinked):
    """A collection whose users are each asked one question, and repeat their answer."""

    def __init__(self, collection: AskingCollection) -> None:
        self.collection: AskingCollection = collection
        first, last = (
            collection.encode({each.name: str((each.range or each.labels)[end]) for each in collection.attributes})
            for end in (0, -1)
        )
        if collection.attributes[-1].candidates is not None:
            # A text that is none of the candidates.
            last = (*last[:-1], "?".join(collection.attributes[-1].labels)[-60:] + "?")
        self.records: list[Record] = list(dict.fromkeys([first, (*first[:-1], last[-1]), last]))
        second = [
            (each.randomizer.p, each.randomizer.q, each.randomizer.size)
            for each in collection.questions.questions
            if isinstance(each.randomizer, BloomResponse)
        ]
        # Other answers have no noise but the permanent one, whatever the source says.
        self.noises: list[Entropy] = [SameWords((p + q) / 2) for p, q, _ in dict.fromkeys(second)] or [
            SeededEntropy(0)
        ]
        self.equal_noise, self.asks_part = 1.0, True
        if len(second) == len(collection.questions.questions):
            # The chance that two bits are equal is least certain where a permanent bit is least noisy.
            self.equal_noise = max(max(p**2 + (1 - p) ** 2, q**2 + (1 - q) ** 2) ** size for p, q, size in second)
        if any(each.randomizer.charged_by_report for each in collection.questions.questions):
            # Word 0 keeps what is remembered.
            self.noises = [SameWords(0.0)]
            self.equal_noise = max(each.randomizer.equal_noise for each in collection.questions.questions)

    def row(self, record: Record, secret: bytes, entropy: Entropy) -> bytes:
        answers = permanent_answers(self.collection, self.collection.table([record]), secrets=[secret])
        return self.collection.questions.instantaneous(answers, entropy=entropy).tobytes()

    def epsilon(self, secret: bytes, *, reports: int) -> float:
        """See `Subject.epsilon`: that of the one answer."""
        (number,) = asked(self.collection, secrets=[secret]).tolist()
        randomizer = self.collection.questions.questions[number].randomizer
        loss: float = randomizer.loss(reports=reports if randomizer.charged_by_report else math.inf)
        return loss

    def unasked(self, record: Record, secret: bytes) -> Record:
        (number,) = asked(self.collection, secrets=[secret]).tolist()
        of = self.collection.questions.questions[number].of
        last = self.records[-1] if record != self.records[-1] else self.records[0]
        return tuple(value if place in of else last[place] for place, value in enumerate(record))


class StringSubject(_Unlinked):
    """A collection of strings, which are short and long."""

    def __init__(self, collection: StringCollection) -> None:
        self.collection: StringCollection = collection
        letters = collection.string.alphabet or "ab"
        length = collection.string.length
        self.records: list[Record] = list(
            map(collection.string.encode, dict.fromkeys([letters[0], letters[0] * length, letters[1] * length]))
        )
        self.noises: list[Entropy] = [SeededEntropy(0)]
        self.equal_noise, self.asks_part = 1.0, True

    def row(self, record: Record, secret: bytes, entropy: Entropy) -> bytes:  # noqa: ARG002
        table = self.collection.table([record])
        return string_answers.permanent_answers(self.collection, table, secrets=[secret]).tobytes()

    def epsilon(self, secret: bytes, *, reports: int) -> float:  # noqa: ARG002
        """See `Subject.epsilon`: that of the one answer."""
        return self.collection.method.questions.epsilon

    def unasked(self, record: Record, secret: bytes) -> Record:
        """See `Subject.unasked`: a string with another end."""
        string = self.collection.string
        ends = ((*record[:cut], *other[cut:]) for other in self.records for cut in range(1, string.length))
        others = [each for each in ends if each != record and string.valid(np.array([each]))[0]]
        held = self._held(record, secret)
        return next((each for each in others if self._held(each, secret) == held), record)

    def _held(self, record: Record, secret: bytes) -> list[int]:
        """Return what the randomizers are given."""
        numbers, seeds = string_answers.asked(self.collection, secrets=[secret])
        (held,) = self.collection.method.questions.inputs(numbers, seeds, self.collection.table([record])).tolist()
        found: list[int] = held
        return found


class PlaceSubject(_Unlinked):
    """A collection of places, whose users have all chosen the root and the least epsilon, which they tell."""

    def __init__(self, collection: PlaceCollection) -> None:
        self.collection: PlaceCollection = collection
        last = len(collection.tree.places) - 1
        self.records: list[Record] = [(place, 0, 0) for place in sorted({0, last // 2, last})]
        self.noises: list[Entropy] = [SeededEntropy(0)]
        self.equal_noise, self.asks_part = 1.0, False

    def row(self, record: Record, secret: bytes, entropy: Entropy) -> bytes:  # noqa: ARG002
        table = self.collection.table([record])
        numbers = self.collection.chosen(table)
        return permanent_answers(self.collection, table, secrets=[secret], numbers=numbers).tobytes()

    def epsilon(self, secret: bytes, *, reports: int) -> float:  # noqa: ARG002
        """See `Subject.epsilon`: that which the users have chosen."""
        return self.collection.mechanism_spec.epsilon[0]

    def unasked(self, record: Record, secret: bytes) -> Record:  # noqa: ARG002
        """See `Subject.unasked`: all of a record is asked about."""
        return record
