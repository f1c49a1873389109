"""What readers of final estimates alone could learn of a user."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stream_ldp.pipeline.published import published_among

if TYPE_CHECKING:
    from stream_ldp.pipeline.answer import Published
    from stream_ldp.records.collection import JointCollection


def published(collection: JointCollection, reports: int, *, windows: int = 1) -> Published | None:
    """See `PublishedBound`; None where pseudonyms link reports, which then are not in random order."""
    if collection.linked_ms is not None:
        return None
    mechanism = collection.mechanism
    one, lifetime = mechanism.privacy_loss(reports=1), mechanism.privacy_loss(reports=math.inf)
    return published_among(
        collection,
        reports,
        windows=windows,
        epsilon=one.epsilon,
        lifetime=lifetime.epsilon,
        hidden=one.assumption,
        blanket=mechanism.blanket,
    )
