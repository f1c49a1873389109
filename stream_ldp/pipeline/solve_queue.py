"""The order in which the solves of several collections get their turn.

A solve cannot be interrupted, and takes from a millisecond to hours. So solves of similar length share a lane with
its own places, and a solve that runs longer than its lane allows moves to the next: no solve waits behind one that
takes more than ten times as long. Within a lane finals come before provisional answers, and collections take turns.
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import count

#: Times, in seconds, at which one lane ends and the next begins.
LANES = (1.0, 10.0, 100.0)


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Job:
    """A solve that waits for its turn, or runs.

    collection: name of the collection.
    final: whether its answer will be final.
    expected_s: time, in seconds, that it is expected to take; 0 if nothing is known.
    patience_s: time, in seconds, after which it is as urgent as a final.
    """

    collection: str
    final: bool
    expected_s: float = 0.0
    patience_s: float = 0.0


class SolveQueue:
    """Solves that wait for their turn, or run. Times are seconds of one clock that never goes back."""

    def __init__(self, *, places: int) -> None:
        """Begin without solves.

        places: number of solves that run at a time in each lane.
        """
        self._places = places
        self._queued: dict[Job, float] = {}  # since when
        self._running: dict[Job, float] = {}
        # By collection: the number of the turn that it had last.
        self._last_turn: dict[str, int] = {}
        self._turns = count()

    @property
    def queued(self) -> tuple[Job, ...]:
        """The solves that wait, in the order in which they came."""
        return tuple(self._queued)

    @property
    def running(self) -> tuple[Job, ...]:
        """The solves that run, in the order in which they began."""
        return tuple(self._running)

    def put(self, job: Job, *, now: float) -> None:
        """Let a solve wait for its turn."""
        self._queued[job] = now

    def take(self, *, now: float) -> Job | None:
        """Return a solve whose turn it is, which runs from now on; None if nothing can begin.

        Call this after `put`, after `remove` and at `next_move`, until it returns None.
        """
        taken = Counter(lane_of(job, ran_s=now - since) for job, since in self._running.items())
        free = (job for job in self._queued if taken[lane_of(job)] < self._places)
        job = min(free, key=lambda job: self._rank(job, now), default=None)
        if job is not None:
            del self._queued[job]
            self._running[job] = now
            self._last_turn[job.collection] = next(self._turns)
        return job

    def next_move(self, *, now: float) -> float | None:
        """Return the time at which a running solve moves to another lane if it still runs; None if none will."""
        lanes = ((since, lane_of(job, ran_s=now - since)) for job, since in self._running.items())
        return min((since + LANES[lane] for since, lane in lanes if lane < len(LANES)), default=None)

    def remove(self, job: Job) -> None:
        """Note that a solve has ended, or that nobody waits for it any more."""
        self._queued.pop(job, None)
        self._running.pop(job, None)

    def _rank(self, job: Job, now: float) -> tuple[bool, int]:
        """Rank a waiting solve: lower ones come first, and equal ones in the order in which they came."""
        urgent = job.final or now - self._queued[job] >= job.patience_s
        return not urgent, self._last_turn.get(job.collection, -1)


def lane_of(job: Job, *, ran_s: float = 0.0) -> int:
    """Return the number of a solve's lane, 0 for the shortest solves.

    ran_s: time for which it has been running, in seconds.
    """
    return bisect_right(LANES, max(job.expected_s, ran_s))
