"""Tests of the order of solves, with hours of a simulated clock."""

import heapq
from collections import deque
from dataclasses import dataclass, field
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.pipeline.solve_queue import LANES, Job, SolveQueue, lane_of

#: What is asked one after the other: whether it is final, seconds of its solve and before it.
WORK = st.lists(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([0.01, 0.4, 0.99, 5.0, 700.0]), st.sampled_from([0.0, 0.1, 3.0])),
        min_size=1,
        max_size=8,
    ),
    min_size=1,
    max_size=6,
)
PATIENCE_S = 2.0


@dataclass(kw_only=True)
class Turn:
    """A solve that has had its turn, with those that waited and those that ran when it began."""

    job: Job
    put_at: float
    began_at: float
    waiting: dict[Job, float]
    running: dict[Job, float]


@dataclass
class Simulation:
    """Series of three collections; each asks one question at a time, known to be long if the last one was."""

    work: list[list[tuple[bool, float, float]]]
    places: int
    turns: list[Turn] = field(default_factory=list)

    def run(self) -> None:
        queue, left = SolveQueue(places=self.places), {str(n): deque(each) for n, each in enumerate(self.work)}
        put_at: dict[Job, float] = {}
        running: dict[Job, float] = {}
        seconds: dict[Job, float] = {}
        series: dict[Job, str] = {}
        last = dict.fromkeys(left, 0.0)
        # When, which of them, whose, and the solve that ends; without one the collection asks its next question.
        events: list[tuple[float, int, str | None, Job | None]] = []
        order = count()
        for first, each in left.items():
            heapq.heappush(events, (each[0][2], next(order), first, None))
        while events:
            now, _, name, done = heapq.heappop(events)
            if done is not None:
                queue.remove(done)
                del running[done]
            if name is not None and left[name]:
                final, takes, pause = left[name][0]
                if done is not None and pause:
                    heapq.heappush(events, (now + pause, next(order), name, None))
                else:
                    left[name].popleft()
                    collection = str(int(name) % 3)
                    job = Job(collection=collection, final=final, expected_s=last[name], patience_s=PATIENCE_S)
                    last[name], seconds[job], put_at[job], series[job] = takes, takes, now, name
                    queue.put(job, now=now)
            waiting = {job: put_at[job] for job in queue.queued}
            while (begun := queue.take(now=now)) is not None:
                self.turns.append(
                    Turn(job=begun, put_at=put_at[begun], began_at=now, waiting=dict(waiting), running=dict(running))
                )
                del waiting[begun]
                running[begun] = now
                heapq.heappush(events, (now + seconds[begun], next(order), series[begun], begun))
                for end in LANES:
                    heapq.heappush(events, (now + end, next(order), None, None))
            assert not any(self._could_begin(each, running, now) for each in queue.queued)
        assert not queue.queued
        assert not queue.running

    def _could_begin(self, job: Job, running: dict[Job, float], now: float) -> bool:
        return len(alike(job, running, now)) < self.places


def alike(job: Job, running: dict[Job, float], now: float) -> list[Job]:
    """List the solves that run in the lane of one that waits."""
    return [each for each, since in running.items() if lane_of(each, ran_s=now - since) == lane_of(job)]


def is_urgent(job: Job, put_at: float, now: float) -> bool:
    return job.final or now - put_at >= job.patience_s


@given(work=WORK, places=st.integers(1, 3))
def test_every_solve_has_its_turn_and_no_place_stays_free_while_one_waits_for_it(
    work: list[list[tuple[bool, float, float]]], places: int
) -> None:
    simulation = Simulation(work, places)
    simulation.run()
    assert len(simulation.turns) == sum(map(len, work))


@given(work=WORK, places=st.integers(1, 3))
def test_finals_come_before_provisional_answers_that_have_not_waited_long(
    work: list[list[tuple[bool, float, float]]], places: int
) -> None:
    simulation = Simulation(work, places)
    simulation.run()
    for turn in simulation.turns:
        if not is_urgent(turn.job, turn.put_at, turn.began_at):
            assert not [
                job
                for job, put_at in turn.waiting.items()
                if lane_of(job) == lane_of(turn.job) and is_urgent(job, put_at, turn.began_at)
            ]


@given(work=WORK, places=st.integers(1, 3))
def test_turns_are_fair_across_collections(work: list[list[tuple[bool, float, float]]], places: int) -> None:
    """Nobody has two turns while another collection has none and an urgent solve waits in the same lane."""
    simulation = Simulation(work, places)
    simulation.run()
    for waited in simulation.turns:
        urgent_at = waited.put_at + (0.0 if waited.job.final else waited.job.patience_s)
        turns: set[str] = set()
        for turn in simulation.turns:
            other = turn.job.collection
            if other == waited.job.collection:
                turns.clear()
            elif (
                lane_of(turn.job) == lane_of(waited.job) and waited.job in turn.waiting and turn.began_at >= urgent_at
            ):
                assert other not in turns
                turns.add(other)


@given(work=WORK, places=st.integers(1, 3))
def test_only_so_many_solves_of_each_lane_run_at_a_time(
    work: list[list[tuple[bool, float, float]]], places: int
) -> None:
    simulation = Simulation(work, places)
    simulation.run()
    for turn in simulation.turns:
        assert len(alike(turn.job, turn.running, turn.began_at)) < places


def test_a_small_collection_does_not_wait_for_wide_ones_that_nobody_knew_to_be_long() -> None:
    queue = SolveQueue(places=1)
    wide, wider, small = (Job(collection=name, final=True) for name in ("wide", "wider", "small"))
    for job in (wide, wider, small):
        queue.put(job, now=0.0)
    assert (queue.take(now=0.0), queue.take(now=0.5), queue.next_move(now=0.5)) == (wide, None, 1.0)
    assert (queue.take(now=1.0), queue.take(now=1.0), queue.next_move(now=1.0)) == (wider, None, 2.0)
    assert (queue.take(now=2.0), queue.next_move(now=2.0)) == (small, 3.0)
    queue.remove(small)
    # Now they are known: the one waits for the other, and those that are not so long for neither.
    again = Job(collection="wide", final=True, expected_s=710.0)
    queue.put(again, now=700.0)
    assert queue.take(now=700.0) is None
    for expected_s in (0.01, 1.5, 15.0):
        job = Job(collection="small", final=True, expected_s=expected_s)
        queue.put(job, now=700.0)
        assert queue.take(now=700.0) is job
        queue.remove(job)
    queue.remove(wide)
    assert (queue.take(now=710.0), queue.next_move(now=710.0)) == (None, None)
    queue.remove(wider)
    assert queue.take(now=711.0) is again


def test_a_solve_that_nobody_waits_for_any_more_has_no_turn() -> None:
    queue = SolveQueue(places=1)
    first, given_up, second = (Job(collection=name, final=True) for name in "abc")
    for job in (first, given_up, second):
        queue.put(job, now=0.0)
    assert queue.take(now=0.0) is first
    queue.remove(given_up)
    queue.remove(first)
    assert queue.take(now=0.0) is second
    assert (queue.queued, queue.running) == ((), (second,))
