"""Whether the reports of several users in one call are those of each alone, and independent of each other.

A randomizer makes the reports of many users at once. Its enumeration plays a call for one user; a slip in how the
decisions of several users are kept apart would not show there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.audit.comparison import compared, independent
from stream_ldp.audit.enumerate import distribution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.audit.comparison import Outputs
    from stream_ldp.mechanisms import Randomizer

#: Most probabilities of one user's reports where those of two users are enumerated: the square of what one takes.
_MAX_ENTRIES = 96


def several_users_differences(randomizer: Randomizer) -> Iterator[str]:
    """Yield where `perturb` makes the reports of two users otherwise than those of each alone; nothing if nowhere.

    It is enumerated in miniature.

    Raises:
        UnknownDistribution: the probabilities cannot be found.
    """
    small = randomizer
    while small.inputs * 2**small.bits > _MAX_ENTRIES and small.small() != small:
        small = small.small()

    def reports(*inputs: int) -> Outputs:
        return distribution(lambda entropy: small.perturb(np.array(inputs), entropy=entropy).tobytes())

    held = (0, small.inputs - 1)
    what = f"{type(randomizer).__name__}.perturb, {len(held)} users in a call"
    yield from compared(what, reports(*held), independent([reports(each) for each in held]))
