"""Rounds: inquiries of an item collection, as the service publishes them to the clients.

The inquiry of a phase after the first depends on earlier reports, so it is sent to the clients, on a compacted topic.
A client's privacy does not depend on it: `Round.check` refuses a round that does not fit the client's own collection,
and no list of candidates makes a report cost more.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal, Self

from pydantic import ConfigDict, Field, ValidationError

from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms.privacy_loss import MAX_EPSILON, shown_epsilon
from stream_ldp.pipeline.answer import Count, EventTime, Integer, Message, Positive
from stream_ldp.sets.item_sets import largest_padding
from stream_ldp.sets.phases import MAX_CANDIDATES, Inquiry, Phase, candidates_of, may_ask_for_missing, whole_phases

if TYPE_CHECKING:
    from stream_ldp.sets.collection import ItemCollection


class RoundRefused(StreamLDPError, ValueError):
    """A round does not fit the client's collection: nothing is reported to it."""


class Round(Message):
    """One phase of one epoch.

    epsilon: what a report costs, in nats, according to the service.
    candidates: numbers of the items asked about, ascending; None in the first phase, which asks about all, and in
        the second if the first asks for the size of sets. Each itemset is the list of the numbers of its items,
        ascending, in the order of these lists.
    padding: number of slots that a set is padded to.
    missing: whether the candidates that a set lacks are asked for, in place of those that it holds.
    """

    # Strict, so that text or a truth value is not read as a number: clients in other languages would not do so.
    model_config = ConfigDict(strict=True)

    schema_version: Literal[1] = 1
    collection: str
    collection_fingerprint: str = Field(pattern="^[0-9a-f]{32}$")
    epoch: Integer
    phase: Positive
    start_ms: EventTime = Field(description="event time at which its window begins")
    end_ms: EventTime = Field(description="event time at which its window ends")
    epsilon: float = Field(gt=0, le=MAX_EPSILON)
    candidates: tuple[Count, ...] | tuple[tuple[Count, ...], ...] | None
    padding: Positive
    missing: bool = False

    @classmethod
    def of(cls, collection: ItemCollection, inquiry: Inquiry, *, epoch: int) -> Self:
        """Make the round that publishes an inquiry of an epoch."""
        start_ms = collection.schedule.window_of(epoch, inquiry.phase)
        return cls(
            collection=collection.name,
            collection_fingerprint=collection.fingerprint.hex(),
            epoch=epoch,
            phase=inquiry.phase,
            start_ms=start_ms,
            end_ms=start_ms + collection.schedule.size_ms,
            epsilon=collection.method.phases[inquiry.phase - 1].epsilon,
            candidates=inquiry.listed,
            padding=inquiry.padding,
            missing=inquiry.missing,
        )

    @classmethod
    def first(cls, collection: ItemCollection, epoch: int) -> Self:
        """Make the round of an epoch's first phase, which needs no publishing."""
        return cls.of(collection, collection.method.first(), epoch=epoch)

    @property
    def fingerprint(self) -> bytes:
        """The fingerprint of the batches that report to it, 16 bytes; see `Inquiry.fingerprint`."""
        return self.inquiry.fingerprint(self.collection_fingerprint, epoch=self.epoch)

    @property
    def inquiry(self) -> Inquiry:
        """The inquiry that it publishes."""
        candidates = None if self.candidates is None else candidates_of(self.candidates)
        return Inquiry(phase=self.phase, candidates=candidates, padding=self.padding, missing=self.missing)

    @property
    def key(self) -> bytes:
        """The record key."""
        return f"{self.epoch}|{self.phase}".encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode what `to_bytes` has encoded.

        Raises:
            ValueError: the bytes are no round, or have a schema version that this release does not read.
        """
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            # Between them stands which of its forms a field was read as.
            field, *within = first["loc"] or ("record",)
            place = ".".join(map(str, [field, *(each for each in within if isinstance(each, int))]))
            raise ValueError(f"{place}: {first['msg']}") from error

    def check(self, collection: ItemCollection) -> Phase:
        """Return the phase that it belongs to, after checking that the collection permits every report to it.

        Raises:
            RoundRefused: it is not a round of this collection, or the collection never makes such an inquiry.
        """
        if self.collection_fingerprint != collection.fingerprint.hex():
            ours = collection.fingerprint.hex()
            raise RoundRefused(f"made for collection fingerprint {self.collection_fingerprint}, ours is {ours}")
        phases = collection.method.phases
        if self.phase > len(phases):
            raise RoundRefused(f"phase {self.phase} of a method that has {len(phases)}")
        phase = phases[self.phase - 1]
        if self.epsilon > phase.epsilon:
            wanted, allowed = shown_epsilon(self.epsilon), shown_epsilon(phase.epsilon)
            raise RoundRefused(f"asks for epsilon {wanted}, the collection allows {allowed}")
        start_ms = collection.schedule.window_of(self.epoch, self.phase)
        if (self.start_ms, self.end_ms) != (start_ms, start_ms + collection.schedule.size_ms):
            raise RoundRefused(f"phase {self.phase} of epoch {self.epoch} begins at {start_ms} ms and lasts a window")
        if (self.candidates is None) != (self.phase <= whole_phases(collection.method)):
            raise RoundRefused("the first phase asks about all items, the later ones about candidates")
        if self.missing and not may_ask_for_missing(collection.method, self.phase):
            raise RoundRefused(f"phase {self.phase} asks for what sets lack, and follows no count of what they hold")
        self._check_candidates(collection, phase)
        return phase

    def _check_candidates(self, collection: ItemCollection, phase: Phase) -> None:
        if self.candidates is None:
            if self.phase > 1 and self.padding > largest_padding(collection.items.count):
                raise RoundRefused(f"pads sets to {self.padding}; at most {largest_padding(collection.items.count)}")
            if self.phase == 1 and self.padding != collection.method.first().padding:
                raise RoundRefused(f"pads sets to {self.padding}, the collection to another number")
            return
        possible = sum(math.comb(collection.items.count, size) for size in phase.sizes or (1,))
        most = min(possible, MAX_CANDIDATES)
        if not 1 <= len(self.candidates) <= most:
            raise RoundRefused(f"{len(self.candidates)} candidates; from 1 to {most}")
        named = [each if isinstance(each, tuple) else (each,) for each in self.candidates]
        if any(isinstance(each, tuple) != bool(phase.sizes) for each in self.candidates):
            raise RoundRefused(f"phase {self.phase} asks about {'itemsets' if phase.sizes else 'single items'}")
        if not all(len(each) in (phase.sizes or (1,)) for each in named):
            raise RoundRefused(f"an itemset has another number of items than {' or '.join(map(str, phase.sizes))}")
        if any(second <= first for each in named for first, second in itertools.pairwise(each)):
            raise RoundRefused("the items of an itemset are not in ascending order, each of them once")
        # One order: a broker that showed each user another would find the user's reports again by their fingerprint.
        if any(second <= first for first, second in itertools.pairwise(named)):
            raise RoundRefused("candidates are not in ascending order, each of them once")
        if not all(0 <= item < collection.items.count for each in named for item in each):
            raise RoundRefused(f"a candidate is not one of the items 0 to {collection.items.count - 1}")
        if self.padding > len(self.candidates):
            raise RoundRefused(f"pads sets to {self.padding}, with only {len(self.candidates)} candidates")
