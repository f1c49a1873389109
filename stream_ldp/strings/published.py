"""What readers of final rankings alone could learn of a user's string."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline.published import UNKNOWN_QUESTION, published_among

if TYPE_CHECKING:
    from stream_ldp.pipeline.answer import Published
    from stream_ldp.strings.collection import StringCollection


def published(collection: StringCollection, reports: int, *, windows: int = 1) -> Published | None:
    """See `PublishedBound`."""
    questions = collection.method.questions
    return published_among(
        collection,
        reports,
        windows=windows,
        epsilon=questions.epsilon,
        lifetime=questions.epsilon,
        hidden=f"any two strings; {UNKNOWN_QUESTION}",
        blanket=questions.blanket,
    )
