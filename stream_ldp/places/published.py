"""What readers of final counts alone could learn of where a user is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline.published import published_among

if TYPE_CHECKING:
    from stream_ldp.pipeline.answer import Published
    from stream_ldp.places.collection import PlaceCollection


def published(collection: PlaceCollection, reports: int, *, windows: int = 1) -> Published | None:
    """See `PublishedBound`; the reports are those of the user's region and epsilon, which are not hidden.

    It is that of the region and epsilon whose users are hidden least.
    """
    found = [
        published_among(
            collection,
            reports,
            windows=windows,
            epsilon=randomizer.epsilon,
            lifetime=randomizer.memoised.epsilon,
            hidden="any two places of a region, among reports of that region with the same epsilon",
            blanket=randomizer.blanket,
        )
        for randomizer in dict.fromkeys(each.randomizer for each in collection.questions.questions)
    ]
    return max((each for each in found if each is not None), key=lambda each: each.epsilon, default=None)
