"""What the plans of collections whose users are each asked one question have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.plan import Plan, Section
from stream_ldp.pipeline.published import UNKNOWN_QUESTION, published_among
from stream_ldp.pipeline.statistics import SUM_BYTES
from stream_ldp.quantity import memory, quantity

if TYPE_CHECKING:
    from stream_ldp.pipeline.answer import Published
    from stream_ldp.questions.collection import AskingCollection


@dataclass(frozen=True, kw_only=True)
class AskingPlan(Plan):
    """The plan of such a collection.

    bits, report_bytes: size of one report.
    counters, state_bytes: memory of a window, for each source partition.
    """

    bits: int
    report_bytes: int
    counters: int
    state_bytes: int

    @classmethod
    def of(cls, collection: Any, **own: Any) -> Self:
        """Plan a collection with `questions`.

        own: the fields of its kind.
        """
        questions = collection.questions
        return cls(
            collection=collection.name,
            fingerprint=collection.fingerprint.hex(),
            bits=questions.bits,
            report_bytes=row_width(questions.bits),
            counters=questions.counters,
            state_bytes=questions.counters * SUM_BYTES,
            **own,
        )

    def head(self, *rows: tuple[str, str]) -> Section:
        """Return the first section, with the size of a report and of a window before the rows of the kind."""
        return super().head(
            ("a report", f"{self.bits} bits, {quantity(self.report_bytes, 'byte')} with padding"),
            ("a window and partition", memory(self.state_bytes)),
            *rows,
        )


def published(collection: AskingCollection, reports: int, *, windows: int = 1) -> Published | None:
    """See `PublishedBound`."""
    questions = collection.questions
    return published_among(
        collection,
        reports,
        windows=windows,
        epsilon=questions.epsilon,
        lifetime=questions.lifetime,
        hidden=f"any two users; {UNKNOWN_QUESTION}",
        blanket=questions.blanket,
    )
