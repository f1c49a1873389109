"""The message that publishes a ranking: the heavy hitters after a phase of an epoch, with errors and privacy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from stream_ldp.collection.labels import Labels, label_of, labels_of
from stream_ldp.filtering.local_level import DRIFTS
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.message_part import Finite, MessagePart, SolverState, StateField
from stream_ldp.pipeline.answer import (
    Answer,
    Count,
    Integer,
    LiarsField,
    PlausibilityField,
    Positive,
    PrivacyPart,
    Published,
)
from stream_ldp.pipeline.cells import Cell, CellKey
from stream_ldp.pipeline.judgement import Judgement, Look, Measure, found, previous
from stream_ldp.quantity import quantity
from stream_ldp.sets.phases import FoundSizes, Inquiry, RankingEstimate, candidates_of, phase_name

#: What is said of frequencies that are no shares of users.
_DRAWN = (
    "set sizes are not known: a frequency is that among items drawn one from each set, below the share of the users "
    "who hold the item, and only the order counts"
)

#: What is said of errors that are mostly a doubt.
_UNSEEN = (
    "intervals are wide since sets may exceed the slots, and reports do not show by how much; `set_size: ask` "
    "has sizes reported"
)


def itemset_name(items: Iterable[str]) -> str:
    """Return the name of an itemset in displays and tables, from those of its items."""
    return " + ".join(items)


class HeavyHitter(MessagePart):
    """One of the k most frequent items."""

    rank: Positive = Field(description="1 for the most frequent")
    item: str
    frequency: float = Field(
        ge=0,
        le=1,
        description="estimated part of the users who hold it, too low where sets exceed the set size; its part of "
        "items drawn one from each set, where the ranking is `drawn`",
    )
    standard_error: Finite | None = Field(
        ge=0, description="null where the ranking is `drawn`: of the part of the users who hold it, none is known"
    )


class FrequentItemset(MessagePart):
    """One of the most frequent itemsets."""

    rank: Positive = Field(description="1 for the most frequent")
    items: tuple[str, ...] = Field(description="its items, in the order of the collection's")
    frequency: float = Field(ge=0, le=1, description="estimated part of the users who hold all of its items")
    standard_error: Finite = Field(ge=0)
    by_chance: float = Field(
        ge=0, le=1, description="the frequency if its items were held independently: the product of theirs"
    )


class SetSizes(MessagePart):
    """The users whose sets are of about the same size."""

    of: str = Field(description="the numbers of items, such as `5 to 8`")
    frequency: float = Field(ge=0, le=1, description="estimated part of the users")
    standard_error: Finite = Field(ge=0)


class Candidate(MessagePart):
    """An item that may yet be one, as the next phase's solver needs it."""

    number: Count = Field(description="of the item in the collection, from 0")
    frequency: Finite = Field(description="not held to [0, 1], so that noise averages out")
    standard_error: Finite = Field(ge=0)


class NextPhase(MessagePart):
    """The question of the epoch's next phase."""

    padding: Positive = Field(description="slots that a set is padded to")
    correction: Finite = Field(gt=0, description="factor for sets that do not fit the slots")
    doubt: Finite = Field(
        ge=0,
        description="after numbers of candidates, the standard deviation of what else they may cost a frequency, as "
        "a share of it; otherwise the scale of the share of users whose sets are larger than the slots so far",
    )
    share: Finite = Field(
        gt=0, le=1, description="the candidates' part of all items that were estimated, by their frequencies"
    )
    sizes: FoundSizes | None = Field(
        default=None, description="the sizes of sets that phase 1 has found; null if it does not ask for them"
    )
    missing: bool = Field(
        default=False, description="whether the candidates that a set lacks are asked for, not those that it holds"
    )
    candidates: tuple[Count, ...] | tuple[tuple[Count, ...], ...] | None = Field(
        description="numbers of the items asked about, ascending; of itemsets, those of the items of each; null "
        "for all items"
    )

    @classmethod
    def of(cls, inquiry: Inquiry) -> Self:
        """Convert an inquiry about candidates to its part of a message, in canonical order."""
        return cls(
            padding=inquiry.padding,
            correction=inquiry.correction,
            doubt=inquiry.doubt,
            share=inquiry.share,
            sizes=inquiry.sizes,
            missing=inquiry.missing,
            candidates=inquiry.canonical.listed,
        )


class EpochPrivacy(PrivacyPart):
    """Epsilon, in nats, of any two sets of a user."""

    per_epoch: float = Field(description="of all reports of one user to one epoch")
    phases: tuple[float, ...] = Field(description="of one report to each phase")
    lifetime: float | None = Field(
        default=None,
        description="of all reports of one user to all epochs, where they show a permanent response; null where "
        "another epoch costs as much again",
    )
    assumption: str
    published: Published | None = Field(
        default=None,
        description="of all reports of one user to the epoch so far, for readers of final answers who trust the "
        "service; null in provisional ones",
    )


class FilteredCandidates(MessagePart):
    """What earlier epochs have contributed to the candidates of a result."""

    alone: tuple[Finite, ...] = Field(description="frequency of each candidate as the epoch alone gives it")
    weight: Finite = Field(ge=0, description="weight of previous epochs, in reports; 0 if they are not used")
    drift: Finite | None = Field(
        description="expected squared change of a frequency from one epoch to the next, as a share of its variance "
        "among users; null in a first epoch"
    )
    jumped: bool = Field(description="whether frequencies have moved as never before; the past is then not used")


class EarlierEpochs(SolverState):
    """What the result of an epoch leaves to the next one."""

    epoch: Integer
    items: tuple[Count, ...] = Field(description="numbers of the items in the collection, from 0")
    frequency: tuple[Finite, ...] = Field(description="of each, not held to [0, 1]")
    variance: tuple[Finite, ...] = Field(
        description="expected squared error of each, without the doubt about larger sets, the same in all epochs"
    )
    doubt: tuple[Finite, ...] = Field(description="standard deviation of that doubt in each; 0 if there is none")
    scores: tuple[Finite, ...] = Field(
        description="how far behind each has lately been, in standard deviations; 0 if nothing is known"
    )
    evidence: tuple[Finite, ...] = Field(
        description="log-likelihood of each drift, up to a constant", min_length=len(DRIFTS), max_length=len(DRIFTS)
    )

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        found = self.frequency, self.variance, self.doubt, self.scores
        return self._require_as_many("items and what belongs to them", self.items, *found)


class Ranking(Answer):
    """Heavy hitters after a phase of an epoch; the message of a heavy-hitters topic."""

    method: str = Field(description="gfim, gfim-users, ldpminer, svim or loloha")
    epoch: Integer
    phase: Positive = Field(description="the epoch's phase to which the window's reports belong")
    phases: Positive = Field(description="of an epoch; after the last, the ranking is the epoch's result")
    about: Literal["sizes", "items", "itemsets"] = Field(
        default="items", description="what the phase asks about; an epoch has a result of items, and of itemsets"
    )
    final: bool = Field(
        description="false while the window is open; a final ranking never changes, and only a complete one is the "
        "result of its epoch"
    )
    complete: bool = Field(
        description="whether it is the result of its epoch: final, after the last phase about items or that about "
        "itemsets, with reports"
    )
    reports_per_phase: tuple[Count, ...] = Field(description="of the epoch, up to this phase")
    sizes: tuple[SetSizes, ...] = Field(
        default=(), description="how large sets are, smallest first; none after any other phase than that about sizes"
    )
    drawn: bool = Field(
        default=False,
        description="whether frequencies are those among items drawn one from each set, whose size is not known, so "
        "that only their order has a meaning: before the last phases, without a set size",
    )
    unseen: Finite | None = Field(
        default=None,
        ge=0,
        le=1,
        description="part of the squared standard errors of the items that is a doubt about sets larger than the "
        "slots, which reports leave open; null before the last phase about items",
    )
    items: tuple[HeavyHitter, ...] = Field(
        description="the k best, most frequent first; none where it is of sizes or itemsets"
    )
    itemsets: tuple[FrequentItemset, ...] = Field(
        default=(), description="the best, most frequent first; none before the phase that counts them"
    )
    candidates: tuple[Candidate, ...] = Field(description="all that may yet be among them, best first")
    next_phase: NextPhase | None
    learnt: FilteredCandidates | None = Field(
        default=None, description="null before the last phase, and with `prior: window`"
    )
    #: What earlier epochs have left: after the last phase, this one as well.
    earlier: StateField[EarlierEpochs] = None
    plausibility: PlausibilityField
    liars: LiarsField = ()
    privacy: EpochPrivacy

    @model_validator(mode="after")
    def _counts_its_phases(self) -> Self:
        if len(self.reports_per_phase) != self.phase or self.phase > self.phases:
            raise ValueError(f"reports of {len(self.reports_per_phase)} phases, after phase {self.phase}")
        if self.learnt is not None and len(self.learnt.alone) != len(self.candidates):
            raise ValueError(f"{len(self.learnt.alone)} frequencies of {len(self.candidates)} candidates")
        return self

    def without_reports(self, *, until_ms: int) -> Self:
        """Say that nobody reported: the epoch has no result, and no further phase."""
        return super().without_reports(until_ms=until_ms).model_copy(update={"complete": False})

    @property
    def series(self) -> str:
        """Name of the series of rankings that it belongs to."""
        return phase_name(self.phase)

    @property
    def settled(self) -> bool:
        """Whether it is the result of its epoch."""
        return self.complete

    @property
    def target(self) -> str:
        """See `Answer`: all phases about items rank the same, and those about itemsets others."""
        return self.about

    @property
    def turn(self) -> int:
        return self.epoch

    @property
    def look(self) -> Look:
        progress = "result" if self.complete else f"phase {self.phase} of {self.phases}"
        if self.about == "sizes":
            return Look(title=f"epoch {self.epoch} · sizes of sets · {progress}", names=("set size",))
        if self.about == "items":
            number = "frequency in draws" if self.drawn else "frequency"
            return Look(title=f"epoch {self.epoch} · {progress}", names=("item",), number=number, ranked=True)
        return Look(
            title=f"epoch {self.epoch} · itemsets · {progress}",
            names=("itemset",),
            ranked=True,
            others={"by_chance": "by chance"},
        )

    def labelled(self, labels: Labels) -> Self:
        items = (each.model_copy(update={"item": label_of(labels, "item", each.item)}) for each in self.items)
        itemsets = (
            each.model_copy(update={"items": labels_of(labels, "item", each.items)}) for each in self.itemsets
        )
        return self.model_copy(update={"items": tuple(items), "itemsets": tuple(itemsets)})

    def cells(self) -> Iterator[Cell]:
        """Iterate over the best items, or itemsets, most frequent first; or over the sizes of sets."""
        for each in self.sizes:
            yield Cell(
                labels={"epoch": self.epoch, "set size": each.of},
                estimate=each.frequency,
                standard_error=each.standard_error,
                names=(each.of,),
            )
        for itemset in self.itemsets:
            name = itemset_name(itemset.items)
            yield Cell(
                labels={"epoch": self.epoch, "rank": itemset.rank, "itemset": name},
                estimate=itemset.frequency,
                standard_error=itemset.standard_error,
                others={"by_chance": itemset.by_chance},
                names=(name,),
            )
        for item in self.items:
            yield Cell(
                labels={"epoch": self.epoch, "rank": item.rank, "item": item.item},
                estimate=item.frequency,
                standard_error=item.standard_error,
                names=(item.item,),
            )

    def judgement(self) -> Judgement:
        *earlier, last = self.reports_per_phase
        counts = " + ".join(f"{reports:,}" for reports in (*earlier, last))
        privacy, weight = self.privacy, 0.0 if self.learnt is None else self.learnt.weight
        lasting = "" if privacy.lifetime is None else f", {shown_epsilon(privacy.lifetime)} a lifetime"
        return Judgement(
            facts={"epoch": f"{self.epoch}", "phase": f"{self.phase}/{self.phases}"},
            evidence=(
                *(() if self.complete else (self._prospect,)),
                *((_DRAWN,) if self.drawn else ()),
                *((_UNSEEN,) if self.unseen is not None and self.unseen > 0.5 else ()),
                f"{counts} reports, phase by phase" if earlier else quantity(last, "report"),
            ),
            previous=(previous(f"{quantity(weight, 'report')} of the last phase", periods="epochs"),)
            if weight
            else (),
            privacy=(
                f"{self.method} at epsilon {shown_epsilon(privacy.per_epoch)} an epoch{lasting}: "
                f"{privacy.assumption}",
                *privacy.sentences,
            ),
        )

    @property
    def _prospect(self) -> str:
        """What follows in the epoch, as a sentence."""
        if self.about == "sizes" and self.next_phase is not None:
            slots = self.next_phase.padding
            return (
                f"the epoch goes on with sets padded to {slots}: in a file, set_size: {slots} would spare this phase"
            )
        return "the epoch goes on: candidates and their order may change"

    def score(self, truth: Mapping[CellKey, float]) -> dict[str, Measure]:
        errors = [abs(cell.estimate - truth.get(cell.key, 0.0)) for cell in self.cells()]
        return {
            "found": found((cell.key for cell in self.cells()), truth),
            "mean_error": Measure(value=math.fsum(errors) / max(len(errors), 1)),
        }

    @property
    def estimate(self) -> RankingEstimate:
        """The estimate of the candidates, in the form that the method uses."""
        return RankingEstimate(
            items=np.array([candidate.number for candidate in self.candidates], dtype=np.int64),
            frequency=np.array([each.frequency for each in self.candidates], dtype=np.float64),
            standard_error=np.array([each.standard_error for each in self.candidates], dtype=np.float64),
            drawn=self.drawn,
        )

    @property
    def next_inquiry(self) -> Inquiry | None:
        """The inquiry of the next phase; None after the last."""
        if self.next_phase is None:
            return None
        return Inquiry(
            phase=self.phase + 1,
            candidates=None if self.next_phase.candidates is None else candidates_of(self.next_phase.candidates),
            padding=self.next_phase.padding,
            correction=self.next_phase.correction,
            doubt=self.next_phase.doubt,
            share=self.next_phase.share,
            sizes=self.next_phase.sizes,
            missing=self.next_phase.missing,
        )

    @property
    def next_fingerprint(self) -> bytes | None:
        """Fingerprint of the batches that report to the next phase, as `Round.fingerprint`; None after the last."""
        inquiry = self.next_inquiry
        return None if inquiry is None else inquiry.fingerprint(self.fingerprint, epoch=self.epoch)
