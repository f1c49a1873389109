"""What the batches of one fingerprint hold, when they may come, and what is counted of them under which name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from stream_ldp.item_collection import ItemCollection, PhaseSeries
from stream_ldp.joint_collection import JointCollection
from stream_ldp.mechanisms import HadamardResponse
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.plausibility import BATCH_LIMIT, batch_scores, design_effect, uneven_draws
from stream_ldp.ranking import Ranking
from stream_ldp.statistics import RowTally, SumTally

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream_ldp.collection import Collection, Series
    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.rounds import Round
    from stream_ldp.solving import Answer
    from stream_ldp.statistics import Tally

__all__ = ["JointLayout", "Layout", "PhaseLayout", "layout_of", "statistic_of"]


class Layout(Protocol):
    """The reports of one fingerprint; see `stream_ldp.wire.RowFormat` for its rows."""

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def bits(self) -> int: ...

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]: ...

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether its reports may belong to the panes that begin at these times."""
        ...

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """New tallies for a pane, by what they count."""
        ...

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """Add valid packed rows to a pane's tallies."""
        ...

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which batches no honest client sends, bool, shape (batches,).

        rows: packed reports of all batches one after another; counts: reports of each batch.
        """
        ...


class JointLayout:
    """Reports of a collection's attributes."""

    def __init__(self, collection: JointCollection) -> None:
        self.fingerprint = collection.fingerprint
        self._mechanism = collection.mechanism
        self.bits = self._mechanism.bits
        self._columns = {estimate.of: np.array(collection.bits_of(estimate.of)) for estimate in collection.estimates}
        self._design_effect = design_effect(self._mechanism, reports_per_user=collection.window.reports_per_user)

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """All: every bit may be set or not."""
        return np.ones(len(rows), dtype=np.bool_)

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """At any time."""
        return np.ones(len(panes), dtype=np.bool_)

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """One for the attributes of each estimate."""
        return {of: RowTally(len(columns)) for of, columns in self._columns.items()}

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """Each tally gets the bits of its attributes."""
        bits = np.unpackbits(rows, axis=1, count=self.bits, bitorder="little")
        for of, tally in tallies.items():
            tally.update(np.packbits(bits[:, self._columns[of]], axis=1, bitorder="little"))

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """By the number of set bits."""
        scores = batch_scores(
            rows,
            counts,
            sizes=self._mechanism.sizes,
            channel=self._mechanism.channel(),
            design_effect=self._design_effect,
        )
        implausible: NDArray[np.bool_] = np.abs(scores) > BATCH_LIMIT
        return implausible


class PhaseLayout:
    """Answers to one round; those to a first phase are the same in every epoch."""

    def __init__(self, collection: ItemCollection, round_: Round | None = None) -> None:
        """`round_`: None for the first phase."""
        method, self._schedule = collection.method, collection.schedule
        self._window_ms = None if round_ is None else round_.start_ms
        series = collection.series[0 if round_ is None else round_.phase - 1]
        self._of = series.of if round_ is None else _asked(series, round_.fingerprint)
        self.fingerprint = collection.fingerprint if round_ is None else round_.fingerprint
        self.oracle: FrequencyOracle = method.oracle(method.first() if round_ is None else round_.inquiry)
        self.bits = self.oracle.bits

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """As the phase's oracle says."""
        return self.oracle.valid(rows)

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """In the phase's window alone."""
        if self._window_ms is not None:
            return np.equal(panes, self._window_ms)
        starts, which = np.unique(panes, return_inverse=True)
        taken = [self._schedule.epoch_at(start, 1) is not None for start in starts.tolist()]
        return np.array(taken, dtype=np.bool_)[which]

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """One: the sums of the oracle."""
        return {self._of: SumTally(self.oracle)}

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """All rows to the only tally."""
        tallies[self._of].update(rows)

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """By the Hadamard rows that were drawn; other oracles' reports have no law that data cannot change."""
        if not isinstance(self.oracle, HadamardResponse | SetHadamardResponse) or not len(rows):
            return np.zeros(len(counts), dtype=np.bool_)
        indices = np.unpackbits(rows, axis=1, count=self.oracle.index_bits, bitorder="little")
        return uneven_draws(indices, counts)


def layout_of(collection: Collection) -> Layout:
    """What batches under the collection's own fingerprint hold."""
    match collection:
        case JointCollection():
            return JointLayout(collection)
        case ItemCollection():
            return PhaseLayout(collection)
        case _:
            raise TypeError(f"no layout for a {type(collection).__name__}")


def statistic_of(series: Series, before: Answer | None) -> tuple[str, ...] | None:
    """Names the statistic that the answer to a window is made from; None where nothing was asked.

    before: the final answer that it goes on from.

    Whoever can write a round can ask the clients something else in the same phase. Their answers have another name
    than those to what the epoch's own final has asked, and are never looked at.
    """
    if not isinstance(series, PhaseSeries) or series.number == 1:
        return series.of
    if not isinstance(before, Ranking) or before.next_fingerprint is None:
        return None
    return _asked(series, before.next_fingerprint)


def _asked(series: PhaseSeries, fingerprint: bytes) -> tuple[str, ...]:
    return (*series.of, fingerprint.hex())
