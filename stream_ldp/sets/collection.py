"""Collections of users' item sets, whose heavy hitters are published epoch after epoch."""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from stream_ldp.collection import (
    ONE_CHOICE,
    Collection,
    Label,
    Part,
    PositiveDuration,
    Prior,
    Sample,
    Topics,
    one_of,
    require_distinct,
)
from stream_ldp.collection.located import Misplaced
from stream_ldp.collection.values import text_of
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.mechanisms.randomness.entropy import threshold
from stream_ldp.pipeline.schedule import Epochs, Schedule
from stream_ldp.sets.item_sets import ItemSets, class_count
from stream_ldp.sets.methods import AnyMethodSpec
from stream_ldp.sets.methods.itemsets import MAX_ITEMSETS, MAX_SIZE, SVSM
from stream_ldp.sets.methods.spec import MAX_DOMAIN, require_domain
from stream_ldp.sets.methods.usual import UsualOptions, with_kind
from stream_ldp.sets.methods.wrapped import UserSample
from stream_ldp.sets.phases import Method, Phase, item_phases
from stream_ldp.sets.series import PhaseSeries

#: Most items with names: names of 200 letters each fill a record of the registry. Larger domains are numbered.
MAX_NAMES = 2**16


class Items(Part):
    """The domain of items: `size` of them, called 0 to size - 1, or those with `names`.

    size: number of items.
    names: names of the items, in place of their number.
    """

    model_config = ConfigDict(json_schema_extra=one_of("size", "names"))

    size: int | None = Field(default=None, ge=1, le=MAX_DOMAIN)
    names: tuple[Label, ...] | None = Field(default=None, min_length=1, max_length=MAX_NAMES)

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.size is None) == (self.names is None):
            raise ParameterError("give either `size`, the number of items, or `names`, a list of them")
        if self.names is not None:
            require_distinct(self.names, "names of items", "names")
        require_domain(self.count)
        return self

    @cached_property
    def _positions(self) -> dict[str, int] | None:
        return None if self.names is None else {name: position for position, name in enumerate(self.names)}

    def __contains__(self, name: object) -> bool:
        """Decide whether an item has this name."""
        try:
            return self.name(self.number(name)) == name
        except DataError:
            return False

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self.names) if self.names is not None else self.size or 0

    def name(self, item: int) -> str:
        """Return the name of an item, given by its number."""
        return str(item) if self.names is None else self.names[item]

    def number(self, name: Any) -> int:
        """Return the number of the item with this name, in text; a number stands for its text.

        Raises:
            DataError: no item has this name. The message never repeats it, since a user may hold the item.
        """
        name = text_of(name, what="an item of the set") or ""
        if self._positions is not None:
            if name in self._positions:
                return self._positions[name]
            raise DataError("an item of the set is not among the collection's items")
        # No other spelling is accepted: with "007", an item would have two names.
        short = len(name) <= len(str(self.count))
        if short and name.isascii() and name.isdigit() and int(name) < self.count and name == str(int(name)):
            return int(name)
        raise DataError(f"an item of the set is not a whole number from 0 to {self.count - 1}")


class Itemsets(Part):
    """The itemsets that are asked about after the items: two more phases of each epoch, of other users.

    k: number of the most frequent itemsets to find.
    sizes: numbers of items of an itemset.
    """

    k: int = Field(ge=1, le=MAX_ITEMSETS)
    sizes: tuple[int, ...] = Field(default=(2,), min_length=1)

    @field_validator("sizes")
    @classmethod
    def _are_of_several_items(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        if not all(2 <= size <= MAX_SIZE for size in sizes):
            why = (
                "larger ones are too rare to be found"
                if max(sizes) > MAX_SIZE
                else "single items are found without `itemsets`"
            )
            raise ParameterError(f"an itemset has from 2 to {MAX_SIZE} items, and sizes are {_listed(sizes)}: {why}")
        if len(set(sizes)) < len(sizes):
            raise ParameterError(f"sizes of itemsets must be distinct, and they are {_listed(sizes)}")
        return tuple(sorted(sizes))


def _listed(sizes: Sequence[int]) -> str:
    return " or ".join(map(str, sizes))


class ItemCollection(Collection):
    """A collection of item sets, as a collection file describes it.

    mechanism: the method, which says what perturbs sets and how the most frequent items are found; without a `kind`,
        the usual one at its epsilon.
    items: the items that a set may have.
    epochs: whether an epoch begins after the one before (`sequential`), or with each window (`pipelined`).
    every: time between two provisional answers of an open window.
    sample: share of the users who are asked in each epoch; all by default.
    prior: what the result of an epoch is held against: nothing (`window`), or the results of previous epochs
        (`temporal`); by default `temporal` where it is possible. Itemsets are estimated from their epoch alone.
    itemsets: the itemsets that are asked about as well; none by default.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics] = Topics(answers="heavy-hitters", rounds=True)

    method_spec: AnyMethodSpec = Field(alias="mechanism", discriminator="kind")
    items: Items = Field(examples=[{"size": 1000}])
    epochs: Epochs = Epochs.SEQUENTIAL
    every_ms: PositiveDuration = Field(alias="every", default=2_000)
    sample: Sample = None
    prior: Prior | None = None
    itemsets: Itemsets | None = None

    @field_validator("method_spec", mode="before", json_schema_input_type=AnyMethodSpec | UsualOptions)
    @classmethod
    def _has_a_kind(cls, options: object) -> object:
        return with_kind(options)

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        try:
            _ = self.method
        except Misplaced as error:
            raise Misplaced(str(error), "mechanism", *error.place) from error
        self._check_itemsets()
        for phase in self.method.phases:
            low, high = phase.share
            if low == high:
                raise Misplaced(f"sample is {self.sample}: so small that phase {phase.number} asks nobody", "sample")
        if self.rotate is not None and self.sample is not None:
            raise Misplaced(ONE_CHOICE, "sample")
        window = self.window
        if window.hop_ms not in (None, window.size_ms):
            raise Misplaced("a phase takes a whole window: leave hop out", "window", "hop")
        if window.memory is not None:
            raise Misplaced("every epoch asks anew: leave memory out", "window", "memory")
        if window.reports_per_user != 1.0:
            raise Misplaced(
                "a user reports once to each phase of an epoch: leave it out",
                "window",
                "reports_per_user",
            )
        period_ms = window.period_ms or 0
        if period_ms % self.turn_ms:
            raise Misplaced(
                f"a period is a whole number of epochs of {self.turn_ms} ms, got {period_ms} ms", "window", "period"
            )
        if len(self.method.phases) == 1:
            return self
        if window.period_ms is not None and self.epochs is Epochs.PIPELINED:
            raise Misplaced(
                "an epoch of several phases learns from the last that has ended where epochs are pipelined: leave "
                "period out, or make epochs sequential",
                "window",
                "period",
            )
        if window.idle_timeout_ms is None:
            raise Misplaced(
                "clients are silent until they know what the next phase asks, so its window would never begin: "
                "give a duration",
                "window",
                "idle_timeout",
            )
        known_ms = window.idle_timeout_ms + window.grace_ms
        if known_ms >= window.size_ms:
            raise Misplaced(
                f"what a phase asks is known {known_ms} ms (idle_timeout + grace) after the previous phase, when "
                f"its window of {window.size_ms} ms is over: make size several times as long",
                "window",
                "size",
            )
        return self

    def _check_itemsets(self) -> None:
        if self.itemsets is None:
            return
        if self.method.memoising is not None:
            raise Misplaced(
                f"reports of {self.method.name} show a permanent response, and itemsets are asked afresh: leave "
                "itemsets out, or name another kind of mechanism",
                "itemsets",
            )
        k, sizes, largest = self.itemsets.k, self.itemsets.sizes, self.method_spec.known_size or self.items.count
        if sizes[-1] > largest:
            raise Misplaced(
                f"itemsets of {sizes[-1]} items are larger than the sets, of at most {largest}", "itemsets", "sizes"
            )
        possible = sum(math.comb(self.method.k, size) for size in sizes)
        if k > possible:
            raise Misplaced(
                f"k is {k}, and the {self.method.k} items that are found make {possible} itemsets of "
                f"{_listed(sizes)}: lower it, or raise mechanism.k",
                "itemsets",
                "k",
            )

    @cached_property
    def method(self) -> Method:
        """The heavy-hitter method, whose phases ask the sample of the users, with those about itemsets."""
        method: Method = self.method_spec.method(domain=self.items.count)
        if self.itemsets is not None:
            method = SVSM(
                method=method,
                itemsets=self.itemsets.k,
                sizes=self.itemsets.sizes,
                hash_bits=self.method_spec.hash_bits,
            )
        return method if self.sample is None else UserSample(method, words=threshold(self.sample))

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule, which assigns the phases of every epoch to windows."""
        return Schedule(size_ms=self.window.size_ms, phases=len(self.method.phases), epochs=self.epochs)

    def wanted(self, target: str) -> int:
        """Return how many of the most frequent are to be found: items, or itemsets, by the target of the answers.

        Of sizes, all classes are.
        """
        if target == "sizes":
            return class_count(self.items.count)
        return self.itemsets.k if self.itemsets is not None and target == "itemsets" else self.method.k

    @property
    def asked_share(self) -> float:
        return super().asked_share * (self.sample or 1.0)

    @property
    def turn_ms(self) -> int:
        """Time from the beginning of one epoch to that of the next, in milliseconds."""
        return self.schedule.stride * self.schedule.size_ms

    @property
    def is_temporal(self) -> bool:
        """Whether the result of one epoch is the prior of the next.

        Users who return with a permanent response would repeat their noise, which teaches nothing.
        """
        memoised = any(phase.memoised is not None for phase in self.method.phases)
        return self.window.can_learn(self.prior) and not (memoised and self.window.returning != 0.0)

    @cached_property
    def series(self) -> tuple[PhaseSeries, ...]:
        """The series of each phase, in order."""
        return tuple(
            PhaseSeries(
                number=phase.number,
                item_phases=item_phases(self.method),
                size_ms=self.window.size_ms,
                stride=self.schedule.stride,
                every_ms=self.every_ms,
            )
            for phase in self.method.phases
        )

    @property
    def _meaning(self) -> list[Any]:
        """The fingerprint's input, which says all that the meaning of a report depends on.

        It is [name, kind, phases, l, hash_bits or null, number of items or [name, ...], window size in ms, epochs]. A
        phase is [target, beginning and end of its share, epsilon]. One that memoises ends with the chances of the
        permanent and the fresh response, in units of 2^-32. One that asks about itemsets ends with their sizes.
        Window size and epochs are part of it, since they determine which phase of which epoch an event time belongs
        to; k and the numbers of candidates are not, since the rounds say what they change.
        """
        return [
            self.name,
            self.method_spec.kind,
            [_meaning_of(phase) for phase in self.method.phases],
            self.method.first().padding,
            self.method_spec.hash_bits,
            self.items.size if self.items.names is None else list(self.items.names),
            self.window.size_ms,
            self.epochs.value,
        ]

    @property
    def refused(self) -> tuple[str, ...]:
        """See `Collection.refused`: a set is refused as a whole."""
        return ("a set with an item that the collection does not list",)

    @property
    def labelled(self) -> Mapping[str, Container[str]]:
        """See `Collection.labelled`: the items."""
        return {"item": self.items.names or self.items}

    def encode(self, items: Iterable[Any]) -> list[int]:
        """Convert a set to the numbers of its distinct items, ascending.

        Raises:
            DataError: these are no items, or one of them is not the collection's. The message never repeats it.
        """
        # Text would be taken for a set of its letters.
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise DataError(f"a set is given as a list of its items, and this is a {type(items).__name__}")
        return sorted({self.items.number(name) for name in items})

    def table(self, sets: Iterable[Iterable[int]]) -> ItemSets:
        """Return the sets of many users, as `encode` gives them, as one table."""
        return ItemSets.of(sets)

    def users(self, sets: ItemSets | Iterable[Iterable[Any]]) -> ItemSets:
        """Return the sets of many users as one table: as `encode` takes them, or a table of them.

        Raises:
            DataError: something is no set of the collection's items. The message names the row, from 1 on, and never
                repeats an item.
        """
        if isinstance(sets, ItemSets):
            return sets
        encoded = []
        for number, items in enumerate(sets, start=1):
            try:
                encoded.append(self.encode(items))
            except DataError as error:
                raise DataError(f"row {number:,}: {error}") from None
        return self.table(encoded)


def _meaning_of(phase: Phase) -> list[Any]:
    memoised = [] if phase.memoised is None else [phase.memoised.permanent, phase.memoised.fresh]
    sizes = [list(phase.sizes)] if phase.sizes else []
    return [phase.asked.value, *phase.share, phase.epsilon, *memoised, *sizes]
