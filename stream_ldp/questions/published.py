"""What readers of final answers alone could learn of a user who is asked one of several questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline.published import UNKNOWN_QUESTION, published_among

if TYPE_CHECKING:
    from stream_ldp.pipeline.answer import Published
    from stream_ldp.questions.collection import AskingCollection


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
