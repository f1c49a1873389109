"""This module draws what goes wrong in one run from a seed: which faults, when, to whom and for how long."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import StrEnum

__all__ = ["SCENES", "TRAFFIC_SECONDS", "Event", "Fault", "Scene", "Schedule", "draw"]

#: Seconds for which clients report: some windows before, during and after the faults.
TRAFFIC_SECONDS = 9.0

#: Seconds of traffic at its end without a new fault, so that what recovers has something to count.
CALM_SECONDS = 2.0


class Fault(StrEnum):
    """Something that goes wrong."""

    KILL = "kill"
    """kill -9 of a worker, which is started again later."""
    PAUSE = "pause"
    """SIGSTOP of a worker for longer than its session, then SIGCONT: it wakes up as a zombie."""
    TERMINATE = "terminate"
    """SIGTERM of a worker, which is started again later."""
    JOIN = "join"
    """One worker more, in the middle of a window."""
    BROKER_KILL = "broker-kill"
    """kill -9 of a broker, which is started again later."""
    BROKER_STOP = "broker-stop"
    """A broker is stopped in good order and started again."""
    BROKER_FREEZE = "broker-freeze"
    """SIGSTOP of the broker, its connections open, then SIGCONT."""
    DELAY = "delay"
    """The network takes long for every byte."""
    CUT = "cut"
    """All connections are cut, and no new one is made for a while."""
    HALF_CLOSE = "half-close"
    """The brokers' side of every connection ends; the clients' side stays open."""
    SILENCE = "silence"
    """All connections go silent for ever, and do not end; new ones are as they should be."""
    RETENTION = "retention"
    """All workers are down, and retention deletes reports that none of them has read."""
    DISK_FULL = "disk-full"
    """The broker's disk is full for a while; the broker ends, and is started again when there is room."""
    CLOCK_AHEAD = "clock-ahead"
    """The clock of the workers jumps an hour ahead."""
    CLOCK_BACK = "clock-back"
    """The clock of the workers jumps an hour back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """Faults that happen to the same installation.

    needs: what it runs on, see `tests.chaos.stages`.
    weight: how often it is drawn, relative to the others; 0 if it has to be asked for.
    faults: what is drawn from.
    most: the most faults of one run.
    """

    name: str
    needs: str
    weight: int
    faults: tuple[Fault, ...]
    most: int


_WORKER_FAULTS = (Fault.KILL, Fault.PAUSE, Fault.TERMINATE, Fault.JOIN)
_NETWORK_FAULTS = (Fault.DELAY, Fault.CUT, Fault.HALF_CLOSE)

SCENES = (
    Scene(name="workers", needs="broker", weight=6, faults=_WORKER_FAULTS, most=4),
    Scene(name="network", needs="broker", weight=4, faults=(*_NETWORK_FAULTS, Fault.KILL), most=3),
    Scene(
        name="broker",
        needs="broker",
        weight=4,
        faults=(Fault.BROKER_KILL, Fault.BROKER_STOP, Fault.BROKER_FREEZE, Fault.KILL, Fault.TERMINATE),
        most=2,
    ),
    Scene(name="retention", needs="broker", weight=1, faults=(Fault.RETENTION,), most=1),
    Scene(name="clock", needs="clock", weight=2, faults=(Fault.CLOCK_AHEAD, Fault.CLOCK_BACK, Fault.KILL), most=3),
    Scene(name="disk", needs="disk", weight=1, faults=(Fault.DISK_FULL,), most=1),
    Scene(
        name="cluster", needs="cluster", weight=2, faults=(Fault.BROKER_KILL, Fault.BROKER_STOP, Fault.KILL), most=2
    ),
    # What a seed draws does not change when a scene comes later.
    Scene(name="silence", needs="broker", weight=0, faults=(Fault.SILENCE, Fault.KILL), most=2),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """A fault at its time.

    at: seconds after the first report.
    seconds: how long it lasts.
    target: number from which its victim is chosen among those that run then, modulo their number.
    """

    at: float
    fault: Fault
    seconds: float
    target: int

    def __str__(self) -> str:
        return f"{self.fault}@{self.at:.1f}+{self.seconds:.1f}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """All of a run that chance decides.

    seconds: for which clients report.
    workers: how many there are at the start.
    idle: whether partitions stop holding windows open after a silence, and one of them is silent.
    window: "tumbling"; "hop", if windows overlap; "memory", if answers build on those of the windows before;
        "linked", if they are made of all that their users have sent in a period of some windows; "learning", if
        they know that no user returns.
    two_sets: whether every second worker serves another collection beside.
    kind: name of the kind of collection that reports are of.
    """

    seed: int
    scene: Scene
    seconds: float
    workers: int
    idle: bool
    window: str
    two_sets: bool
    events: tuple[Event, ...]
    kind: str = "records"

    def __str__(self) -> str:
        kinds = [self.kind, self.window, *(["idle"] if self.idle else []), *(["two-sets"] if self.two_sets else [])]
        faults = " ".join(map(str, self.events))
        return f"seed {self.seed} {self.scene.name}: {self.workers} workers {' '.join([*kinds, faults])}"


#: Seconds that a fault lasts, at least and at most. A pause outlasts the session, which is 3 s in these runs; a
#: broker that is frozen for longer than a session finds all its groups empty.
_LASTS = {
    Fault.KILL: (0.0, 1.5),
    Fault.PAUSE: (3.5, 6.0),
    Fault.TERMINATE: (0.0, 1.5),
    Fault.JOIN: (0.0, 0.0),
    Fault.BROKER_KILL: (0.5, 4.0),
    Fault.BROKER_STOP: (0.5, 4.0),
    Fault.BROKER_FREEZE: (1.0, 6.0),
    Fault.DELAY: (1.0, 4.0),
    Fault.CUT: (0.2, 4.0),
    Fault.HALF_CLOSE: (0.0, 0.0),
    Fault.SILENCE: (0.0, 0.0),
    Fault.RETENTION: (1.0, 2.0),
    Fault.DISK_FULL: (1.0, 3.0),
    Fault.CLOCK_AHEAD: (1.0, 4.0),
    Fault.CLOCK_BACK: (1.0, 4.0),
}


def draw(seed: int, *, scene: str | None = None, seconds: float = TRAFFIC_SECONDS, kind: str = "records") -> Schedule:
    """Draw the schedule of a seed; it is the same for ever.

    scene: name of the scene; drawn as well if None.
    seconds: for which clients report.
    kind: name of the kind of collection; the draw does not depend on it, but where those of records
        would be linked, windows of others learn from those before.

    Raises:
        ValueError: there is no scene with this name.
    """
    rng = random.Random(seed)
    drawn = rng.choices(SCENES, weights=[each.weight for each in SCENES])[0]
    if scene is not None:
        named = {each.name: each for each in SCENES}
        if scene not in named:
            raise ValueError(f"there is no scene {scene!r}, only {', '.join(named)}")
        drawn = named[scene]
    first, *others = drawn.faults
    events = []
    for number in range(rng.randint(1, drawn.most)):
        # The first is of the scene's own kind, which the later ones may only share.
        fault = rng.choice(_own(drawn)) if number == 0 else rng.choice((first, *others))
        at = rng.uniform(0.5, seconds - CALM_SECONDS)
        events.append(Event(at=at, fault=fault, seconds=rng.uniform(*_LASTS[fault]), target=rng.randrange(12)))
    schedule = Schedule(
        seed=seed,
        scene=drawn,
        seconds=seconds,
        workers=rng.choice((1, 2, 2, 3)),
        idle=drawn.name != "retention" and rng.random() < 0.3,
        window=rng.choice(("tumbling", "linked", "hop", "memory")),
        two_sets=rng.random() < 0.5,
        events=tuple(sorted(events, key=lambda event: event.at)),
        kind=kind,
    )
    if kind != "records" and schedule.window == "linked":
        return replace(schedule, window="learning")
    return schedule


def _own(scene: Scene) -> tuple[Fault, ...]:
    """Return the faults for which there is the scene."""
    if scene.name == "workers":
        return scene.faults
    return tuple(fault for fault in scene.faults if fault not in _WORKER_FAULTS)
