"""The steps by which a merge makes its answers: withhold, or solve, publish, ask, decide, and make records.

The worker, the test kit and the replay take them. What they read and publish, and when, is theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from stream_ldp.kinds import kind_of, solve

if TYPE_CHECKING:
    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.kind import RoundMessage
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.merging import Merge
    from stream_ldp.pipeline.synthetic import WindowRecords
    from stream_ldp.pipeline.window_task import WindowTask


class NextRound(NamedTuple):
    """The round that follows from a final answer, and is published after it, and the layout of the reports to it."""

    message: RoundMessage
    layout: Layout


def next_round(collection: Collection, answer: Answer) -> NextRound | None:
    """Derive the round that follows from an answer; None if none does.

    Raises:
        ValueError: the collection never publishes such a round.
    """
    rounds = kind_of(collection).rounds
    message = None if rounds is None else rounds.after(collection, answer)
    return None if rounds is None or message is None else NextRound(message, rounds.layout(collection, message))


def window_records(merge: Merge, final: Answer) -> WindowRecords | None:
    """Return the synthetic records of a window that the merge still holds; None if its collection asks for none.

    final: a final of the window.
    """
    synthetic = kind_of(merge.collection).synthetic
    return None if synthetic is None else synthetic.of_window(merge, final)


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeStep:
    """The steps of one task.

    In this order: if `is_withheld`, then `skip`; or else `solve`, publish the answer, the `next_round` and, once the
    answer is decided, the records that `decide` returns.
    """

    collection: Collection
    task: WindowTask[Any, Any]

    @classmethod
    def due(cls, merge: Merge) -> Self | None:
        """Return the steps of the final that is due next; None if none is."""
        task = merge.due()
        return None if task is None else cls(collection=merge.collection, task=task)

    @property
    def end_ms(self) -> int:
        """End of the window, or of the last of some silent ones; event time in milliseconds."""
        return self.task.silent_until_ms or self.task.window_ms + self.collection.window.size_ms

    @property
    def epochs(self) -> int:
        """Number of epochs that end without a result if the task has no answer; 0 for kinds without epochs."""
        if kind_of(self.collection).rounds is None:
            return 0
        length_ms = self.end_ms - self.task.window_ms
        # A later phase is asked once an epoch.
        return -(-length_ms // (self.task.series.period_ms(self.collection.window) or length_ms))

    def is_withheld(self) -> bool:
        """Decide whether there are too few users for an answer, see `Collection.floor`; slow, as `solve` is."""
        least = self.collection.floor
        if self.task.silent_until_ms is not None or least == 1:
            return False
        return kind_of(self.collection).users(self.collection, self.task) < least

    def solve(self) -> Answer:
        """Solve the task, with an answer that has a `next_round`, or needs none.

        This is slow: run it on a thread of its own, never on an event loop.
        """
        answer = solve(self.collection, self.task)
        next_round(self.collection, answer)
        return answer

    def solve_unless_withheld(self) -> Answer | None:
        """Solve the task, or return None if there are too few users; see `solve`."""
        return None if self.is_withheld() else self.solve()

    def skip(self, merge: Merge) -> None:
        """Let the merge go on without an answer."""
        merge.skip(self.task.series.name, self.end_ms)

    def decide(self, merge: Merge, answer: Answer, *, offset: int = 0) -> WindowRecords | None:
        """Let the merge go on from the final answer, which is on the log, and return the records of the window.

        offset: that of the answer's record.

        Returns:
            None if the collection asks for no records, or if they have been published with another final.
        """
        is_first = not merge.has_final(self.task.window_ms)
        merge.decide(answer, offset=offset)
        return window_records(merge, answer) if is_first else None
