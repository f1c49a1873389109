"""Reports as a ledger charges them: which permanent responses they show, by name, and at what price; no value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.collection import Collection
    from stream_ldp.mechanisms import ReportCost
    from stream_ldp.mechanisms.randomness.permanent import KeyedWords

#: Words of a tag of 32 bits each. By these 64 bits, any two of 1,000 values share a tag with probability 3e-14.
TAG_WORDS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeReport:
    """The part of a report that shows some attributes, without their values.

    responses: names a set of permanent responses to each attribute: equal where, and only where, equal values of one
        user have the same permanent response.
    mechanisms: what a response to each of them costs.
    tags: name the permanent responses that are shown; None where they were drawn for this report alone.
    times: number of reports that show it.
    linked: whether they carry what is the same in all reports of the user for a time, and long enough to be a
        pseudonym.
    """

    collection: str
    attributes: tuple[str, ...]
    responses: tuple[str, ...]
    mechanisms: tuple[ReportCost, ...]
    tags: tuple[str, ...] | None
    times: int
    linked: bool = False
    #: The phases that it reports to.
    phases: ClassVar[tuple[PhaseReport, ...]] = ()

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is about, in words."""
        return self.attributes

    @property
    def shown(self) -> tuple[AttributeReport, ...]:
        """The permanent responses that it shows."""
        return (self,)


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseReport:
    """A report to one phase of one epoch of an item collection, without its content.

    fingerprint: of the collection, hexadecimal; epochs are counted anew for each fingerprint.
    epsilon: what the collection's method allows the report to cost, in nats; 0 to a phase that memoises, whose
        permanent responses have an account of their own.
    shown: the permanent responses that it shows; none unless the phase memoises.
    """

    collection: str
    fingerprint: str
    phase: int
    epoch: int
    epsilon: float
    shown: tuple[AttributeReport, ...] = ()
    linked: ClassVar[bool] = False

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is about, in words."""
        return (f"a set, in phase {self.phase}",)

    @property
    def phases(self) -> tuple[PhaseReport, ...]:
        """The phases that it reports to."""
        return (self,)


def tag_of(words: KeyedWords) -> str:
    """Make the tag of a permanent response: as the response is made, but with another key.

    So it depends on exactly what the response depends on, and shows nothing without its key.
    """
    return words.words(TAG_WORDS).tobytes().hex()


def answers_shown(
    collection: Collection,
    number: int,
    *,
    attribute: str,
    cost: ReportCost,
    tags: Iterable[str | None],
    linked: bool = False,
) -> tuple[AttributeReport, ...]:
    """Describe reports of one user that show permanent answers, all charged to one account.

    number: of the question that they answer, or of the epsilon that their user has chosen.
    tags: of the answer that each report shows; None where it was drawn for the report alone.
    linked: see `AttributeReport`.
    """
    return tuple(
        AttributeReport(
            collection=collection.name,
            attributes=(attribute,),
            responses=(f"{collection.fingerprint.hex()} {number}",),
            mechanisms=(cost,),
            tags=None if tag is None else (tag,),
            times=times,
            linked=linked,
        )
        for tag, times in Counter(tags).items()
    )
