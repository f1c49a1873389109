"""What the turns of a collection's users bound: the enumeration of every w windows that follow each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.audit.audited import Claim
from stream_ldp.audit.specified_rows import TIMES_MS, secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.collection import Collection

#: Cycles of turns that are played, one after another, before and after each of the times of the audit.
_CYCLES = 3


def w_event_claims(collection: Collection, claims: Sequence[Claim], *, claimed: float) -> Iterator[Claim]:
    """Yield what any w consecutive windows, or epochs, show of a user whose values change in any way.

    Given the secret, which turns are a user's is certain, and depends on no value. So the reports of w windows are
    independent given the values, and lose the sum over the turns among them. How many there are is played for many
    secrets, over every w windows around some times; what one costs was enumerated before.

    claims: what was enumerated of the reports of one window, or epoch.
    claimed: what the collection claims of w windows, in nats.
    """
    if collection.rotate is None:
        return
    of_one = [claim for claim in claims if claim.about.get("reports") in (1, "epoch")] or list(claims)
    every, most = collection.rotate, 0
    for time_ms in (0, *TIMES_MS):
        first = time_ms // collection.turn_ms - every
        turns = np.array([collection.has_turn(secrets(), number=first + each) for each in range(_CYCLES * every)])
        windows = np.lib.stride_tricks.sliding_window_view(turns, every, axis=0).sum(axis=-1)
        most = max(most, int(windows.max()))
    yield Claim(
        about={"windows": every, "turns": most, "changes": "any"},
        claimed=claimed,
        enumerated=most * max((claim.enumerated for claim in of_one), default=math.inf),
        allowed=claimed,
    )
