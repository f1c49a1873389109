"""Collections of records with a few attributes, whose joint distributions are estimated."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from stream_ldp.collection import (
    MAX_BITS,
    MAX_LINKED_WINDOWS,
    ONE_CHOICE,
    Collection,
    Label,
    Part,
    PositiveDuration,
    Sample,
    Topics,
    one_of,
    require_distinct,
    shown_duration,
)
from stream_ldp.collection.located import Misplaced, parse_values
from stream_ldp.collection.synthesis import MAX_CELLS, SynthesisSpec, SynthesizingCollection
from stream_ldp.collection.values import Edge, encode_value, fill_in_values
from stream_ldp.deferred import deferred
from stream_ldp.ledger.reports import TAG_WORDS
from stream_ldp.mechanisms import RESOLUTION, SECRET_BYTES, AnyMechanismSpec, Mechanism, PermanentWords
from stream_ldp.mechanisms.randomness.entropy import threshold
from stream_ldp.mechanisms.randomness.pseudonym import PSEUDONYM_BITS, pseudonyms, random_pseudonyms
from stream_ldp.mechanisms.randomness.user_partition import partition_words
from stream_ldp.records.series import EstimateSpec, has_prior

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, ReportCost

EstimatesT = TypeVar("EstimatesT", bound=Collection)

#: Name of an estimate that no collection file has.
AD_HOC = "ad-hoc"

#: Name of what synthetic records are made from.
WHOLE = "records"

_PUBLIC_KEY = bytes(SECRET_BYTES)


class Attribute(Part):
    """An attribute of a record: its name and its possible values, in the order of their bits.

    name: name, as records have it.
    values: what it may be; in a file, either these or bins.
    bins: in place of values, ascending numbers that bound intervals, which are then the values.
    clip: whether a number beyond the bins belongs to the nearest; otherwise it is refused.
    missing: value that stands for one that is missing, the last unless it is among the values; without it, a record
        that lacks a value is refused.
    other: value that stands for any value outside the list, after the others unless among them; without it, such a
        record is refused, and its missing report reveals that the value is outside the list.
    """

    model_config = ConfigDict(json_schema_extra=one_of("values", "bins"))

    name: Label
    values: tuple[Label, ...] = Field(min_length=2, examples=[["often", "never"]])
    bins: tuple[Edge, ...] | None = None
    clip: bool = True
    missing: Label | None = None
    other: Label | None = None

    @model_validator(mode="before")
    @classmethod
    def _values_are_complete(cls, data: Any) -> Any:
        return fill_in_values(data)

    @model_validator(mode="after")
    def _values_are_distinct(self) -> Self:
        require_distinct(self.values, f"values of attribute {self.name!r}", "values")
        if not self.clip and self.bins is None:
            raise Misplaced(f"attribute {self.name!r} is no number that could be clipped to `bins`", "clip")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The values, by the name that all attributes have for them."""
        return self.values

    def encode(self, value: Any) -> int:
        """Return the number of a value; see `stream_ldp.collection.attributes.Encoder`."""
        return encode_value(
            value,
            self.values,
            attribute=self.name,
            bins=self.bins,
            missing=self.missing,
            other=self.other,
            clip=self.clip,
        )


class JointCollection(SynthesizingCollection):
    """A collection of records, as a collection file describes it.

    mechanism: what perturbs records.
    attributes: what a record consists of, in the order of the bits of a report.
    estimates: the joint distributions to estimate.
    sample: share of the users who are asked in each window, or in each hop where windows overlap; all by default.
    linked: length of the periods in which all reports of a user carry one pseudonym, a whole number of windows; by
        default, reports have no pseudonyms.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics] = Topics(answers="estimates")
    marginals = deferred("stream_ldp.synthesis.window:marginals_of_pairs")

    mechanism_spec: AnyMechanismSpec = Field(alias="mechanism")
    attributes: tuple[Attribute, ...] = Field(
        min_length=1, examples=[[{"name": "sport", "values": ["often", "never"]}]]
    )
    estimates: tuple[EstimateSpec, ...] = Field(min_length=1, examples=[[{"name": "all", "of": ["sport", "health"]}]])
    sample: Sample = None
    linked_ms: PositiveDuration | None = Field(alias="linked", default=None)

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        require_distinct([attribute.name for attribute in self.attributes], "attribute names", "attributes", "name")
        if sum(self.sizes) + self.pseudonym_bits > MAX_BITS:
            raise Misplaced(f"{sum(self.sizes):,} values in all; at most {MAX_BITS:,} fit a report", "attributes")
        try:
            _ = self.mechanism
        except Misplaced as error:
            raise Misplaced(str(error), "mechanism", *error.place) from error
        self._check_estimates()
        for one, other in combinations(self.attributes, 2) if self.synthesis is not None else ():
            cells = len(one.values) * len(other.values)
            if cells > MAX_CELLS:
                raise Misplaced(
                    f"records are made of all pairs of attributes, and {one.name} and {other.name} have {cells:,} "
                    f"cells together; at most {MAX_CELLS:,} can be solved",
                    "synthesis",
                )
        return self

    @model_validator(mode="after")
    def _turns_are_the_only_choice_of_users(self) -> Self:
        if self.rotate is None:
            return self
        if self.sample is not None:
            raise Misplaced(ONE_CHOICE, "sample")
        if self.linked_ms is not None:
            raise Misplaced(
                "with rotate, a user has one report in a turn, and nothing is gained by linking it: leave it out",
                "linked",
            )
        return self

    @model_validator(mode="after")
    def _reports_can_be_linked(self) -> Self:
        if self.linked_ms is None:
            return self
        window = self.window
        if window.shares_reports:
            raise Misplaced("linked needs windows without reports in common: leave out hop and memory", "linked")
        for name, stated in (
            ("returning", window.returning is not None),
            ("reports_per_user", window.reports_per_user > 1),
        ):
            if stated:
                raise Misplaced("of linked reports, the users are counted: leave it out", "window", name)
        if self.linked_ms % window.size_ms:
            raise Misplaced(
                f"a period is a whole number of windows of {window.size_ms} ms, got {self.linked_ms} ms", "linked"
            )
        if self.most_windows > MAX_LINKED_WINDOWS:
            raise Misplaced(f"{self.most_windows:,} windows a period; at most {MAX_LINKED_WINDOWS:,}", "linked")
        if self.synthesis is not None and self.synthesis.stop == "paper":
            raise Misplaced("linked needs stop certificate", "synthesis", "stop")
        if not self.mechanism.links:
            raise Misplaced(
                "linked needs rr-ldp with p and q: without them all reports of a user are the same, and linking "
                "gains nothing; for k-rr with per_report, no bound is known for several reports together",
                "linked",
            )
        for index, estimate in enumerate(self.estimates):
            if not has_prior(estimate.method, estimate.stop):
                raise Misplaced("linked needs method em or lremh, and stop certificate", "estimates", index, "method")
            if estimate.among is not None:
                raise Misplaced(
                    "reports of a linked collection are distinguished by user, and a factor is learnt from reports "
                    "that are not: leave among out",
                    "estimates",
                    index,
                    "among",
                )
            if estimate.prior == "temporal":
                raise Misplaced(
                    "windows of a linked collection share their users' reports: leave temporal out",
                    "estimates",
                    index,
                    "prior",
                )
        return self

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each attribute."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(len(attribute.values) for attribute in self.attributes)

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism, which perturbs records and has the probabilities that an estimator needs."""
        return self.mechanism_spec.of(sizes=self.sizes)

    @cached_property
    def words(self) -> PermanentWords:
        """The source of the keyed words of its users' permanent responses."""
        return self.permanent_words()

    @cached_property
    def costs(self) -> tuple[ReportCost, ...]:
        """What a report costs of each attribute, as the ledger keeps it."""
        return tuple(self.mechanism_spec.costs(sizes=self.sizes))

    @cached_property
    def responses(self) -> tuple[str, ...]:
        """The names of the permanent responses to each attribute; see `AttributeReport`."""
        return tuple(self.tags(_PUBLIC_KEY, [0] * len(self.sizes)))

    def tags(self, key: bytes, record: Sequence[int]) -> list[str]:
        """Make the tag of each permanent response of a record as the response is made, with another key.

        key: 32 bytes; see `tag_of`.
        """
        words, places = self._tag_words
        made = words.words(key, record).tobytes()
        return [made[place].hex() for place in places]

    @cached_property
    def _tag_words(self) -> tuple[PermanentWords, list[slice]]:
        """The source of the words of tags, and the places of each tag's bytes among them."""
        ends = np.cumsum([max(TAG_WORDS, count) for count in self.mechanism.words]).tolist()
        starts = [4 * start for start in (0, *ends[:-1])]
        places = [slice(start, start + 4 * TAG_WORDS) for start in starts]
        return self.permanent_words(least=TAG_WORDS, by_value=True), places

    def permanent_words(self, *, least: int = 1, by_value: bool | None = None) -> PermanentWords:
        """Make the source of the keyed words of its users' permanent responses.

        least: number of words of each attribute for which the mechanism needs fewer.
        by_value: whether each value has words of its own; by default, as the mechanism needs them.
        """
        return PermanentWords(
            collection=self.name,
            attributes=[(attribute.name, attribute.values) for attribute in self.attributes],
            noise=self.mechanism.noise,
            counts=[max(least, count) for count in self.mechanism.words],
            by_value=self.mechanism.keyed_by_value if by_value is None else by_value,
        )

    @property
    def bits(self) -> int:
        """Number of bits of a report, with its pseudonym if it has one."""
        return self.pseudonym_bits + self.mechanism.bits

    @property
    def links_reports(self) -> bool:
        return self.linked_ms is not None

    @property
    def pseudonym_bits(self) -> int:
        """Number of bits of a report's pseudonym; 0 where reports are not linked."""
        return 0 if self.linked_ms is None else PSEUDONYM_BITS

    @property
    def linking(self) -> str | None:
        """What the pseudonyms of its reports reveal, in words; None where they have none."""
        if self.linked_ms is None:
            return None
        return (
            f"the reports of a user carry the same pseudonym for {shown_duration(self.linked_ms)}: readers "
            "of the reports see which are one user's, and when that user reports; epsilon is as it would be without"
        )

    def windows_before(self, window_ms: int) -> tuple[tuple[float, int], ...]:
        """See `Collection.windows_before`: of a linked collection, all windows of the period until then."""
        if self.linked_ms is None:
            return super().windows_before(window_ms)
        size_ms, period_begins_ms = self.window.size_ms, window_ms - window_ms % self.linked_ms
        return tuple((1.0, start) for start in range(window_ms - size_ms, period_begins_ms - 1, -size_ms))

    @property
    def most_windows(self) -> int:
        return super().most_windows if self.linked_ms is None else self.linked_ms // self.window.size_ms

    def pseudonyms(
        self, users: int, *, secrets: Sequence[bytes] | None, time_ms: int, entropy: Entropy
    ) -> NDArray[np.uint8]:
        """Make the pseudonyms under which users report at an event time, uint8, shape (users, bytes).

        There are no bytes where reports are not linked.

        secrets: secret of each user, 32 bytes; None draws pseudonyms that no other report has.
        """
        if self.linked_ms is None:
            return np.zeros((users, 0), dtype=np.uint8)
        if secrets is None:
            return random_pseudonyms(users, entropy=entropy)
        return pseudonyms(secrets, fingerprint=self.fingerprint, period=time_ms // self.linked_ms)

    def table(self, records: NDArray[np.integer] | Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return encoded records as value indices, shape (n, attributes).

        Raises:
            ValueError: they are not encoded.
        """
        table = np.asarray(records)
        if len(table) and table.dtype.kind not in "iu":
            raise ValueError("these are no numbers of values")
        return table if len(table) else np.empty((0, len(self.attributes)), dtype=np.int64)

    def attributes_of(self, estimate: EstimateSpec) -> tuple[Attribute, ...]:
        """List the attributes of an estimate, in the order of its axes."""
        return tuple(self.attributes[self._positions[name]] for name in estimate.of)

    def columns_of(self, table: NDArray[np.int64], estimate: EstimateSpec) -> tuple[NDArray[np.int64], ...]:
        """Return the values that users have of each axis of an estimate, by their numbers."""
        return tuple(table[:, place] for place in self.positions_of(estimate.of))

    def bits_of(self, of: Sequence[str]) -> tuple[int, ...]:
        """Find the positions in a report of the bits of some attributes, given by name; in the given order."""
        return self.mechanism.columns(self.positions_of(of))

    def row_bits_of(self, of: Sequence[str]) -> tuple[int, ...]:
        """Find the positions in a row of what is counted of some attributes: the pseudonym, if any, and their bits.

        So the rows of each pseudonym are counted by themselves.
        """
        pseudonym = self.pseudonym_bits
        return (*range(pseudonym), *(pseudonym + bit for bit in self.bits_of(of)))

    @property
    def whole(self) -> EstimateSpec:
        """All attributes at once: no estimate that is published, but the counts that records are made from."""
        return EstimateSpec(name=WHOLE, of=tuple(attribute.name for attribute in self.attributes))

    def counting_all(self) -> Self:
        if self.synthesis is not None:
            return self
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return parse_values(type(self), fields | {"synthesis": SynthesisSpec(records=1)})

    @property
    def counted(self) -> tuple[EstimateSpec, ...]:
        """All that has counts of its own: the estimates, and the whole reports where records are made of them."""
        return self.estimates if self.synthesis is None else (*self.estimates, self.whole)

    @property
    def _meaning(self) -> list[Any]:
        """The fingerprint's input: [name, kind of mechanism, its parameters, [[attribute, [value, ...]], ...]].

        Where only a sample of the users is asked, the number of words that ask them and the length of a pane follow;
        where reports are linked, ["linked", length of a period].
        """
        meaning: list[Any] = [
            self.name,
            self.mechanism_spec.kind,
            self.mechanism.meaning,
            [[attribute.name, list(attribute.values)] for attribute in self.attributes],
        ]
        if self.asks_a_sample:
            meaning += [self._asking_words, self.window.pane_ms]
        return meaning if self.linked_ms is None else [*meaning, ["linked", self.linked_ms]]

    @property
    def asked_share(self) -> float:
        return super().asked_share * (self.sample or 1.0)

    @property
    def asks_a_sample(self) -> bool:
        """Whether some users are not asked at a time."""
        return self._asking_words < RESOLUTION

    @property
    def _asking_words(self) -> int:
        return RESOLUTION if self.sample is None else threshold(self.sample)

    def asks(self, secrets: Sequence[bytes], *, time_ms: int) -> NDArray[np.bool_]:
        """See `CollectionOfRecords.asks`: the same in all of a pane."""
        if not self.asks_a_sample:
            return super().asks(secrets, time_ms=time_ms)
        pane = time_ms // self.window.pane_ms
        return partition_words(secrets, fingerprint=self.fingerprint, epoch=pane) < np.uint32(self._asking_words)

    def asks_some(self, count: int, *, entropy: Entropy) -> NDArray[np.bool_]:
        if not self.asks_a_sample:
            return super().asks_some(count, entropy=entropy)
        return entropy.below(np.full(count, self._asking_words))


def narrowed_to(collection: JointCollection, of: Sequence[str], method: str | None) -> JointCollection:
    """Make a collection with the same reports whose only estimate is of other attributes.

    The estimate is that of a window alone: there are no windows before it.

    of: names of the attributes, in the order of the axes.
    method: the estimator; None for the default one.

    Raises:
        ParameterError: an attribute is not one of the collection's, or there is no such method.
    """
    chosen = {} if method is None else {"method": method}
    return with_estimate(collection, {"name": AD_HOC, "of": tuple(of), "prior": "window", **chosen})


def with_estimate(collection: EstimatesT, estimate: Mapping[str, Any]) -> EstimatesT:
    """Make a collection with the same reports and another estimate in place of its own.

    collection: one of a class with `estimates`.
    estimate: as a collection file has it.

    Raises:
        ParameterError: the collection cannot have this estimate.
    """
    fields = {name: getattr(collection, name) for name in type(collection).model_fields}
    return parse_values(type(collection), fields | {"estimates": [estimate]})
