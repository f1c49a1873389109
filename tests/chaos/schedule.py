"""Draw a run from a seed: what is collected, and what goes wrong, when, to whom and for how long."""

import random
from dataclasses import dataclass
from enum import StrEnum

from tests.chaos.kinds import KINDS

#: Codecs of Kafka.
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

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
    LOSE = "lose"
    """The network loses a share of the pieces of data, so that what follows takes their places."""
    SWAP = "swap"
    """The network brings parts of a share of the brokers' answers in another order."""
    TRUNCATE = "truncate"
    """Connections end in the middle of a piece of data."""
    BROKER_AWAY = "broker-away"
    """kill -9 of a broker, which is started again after most of a minute."""
    BROKER_FROZEN = "broker-frozen"
    """SIGSTOP of a broker for most of a minute, its connections open, then SIGCONT."""
    NETWORK_AWAY = "network-away"
    """All connections are cut, and no new one is made for most of a minute."""
    SHORTEN = "shorten"
    """The broker dies, and half of the last segment of a partition of reports, which had been read, is gone."""
    DELETE = "delete"
    """A reports topic is deleted, and made again."""
    WIDEN = "widen"
    """A reports topic gets partitions, which clients use at once."""
    GATEWAY_KILL = "gateway-kill"
    """kill -9 of a gateway, which is started again later."""
    GATEWAY_TERMINATE = "gateway-terminate"
    """SIGTERM of a gateway, which is started again later."""
    GATEWAY_FREEZE = "gateway-freeze"
    """SIGSTOP of a gateway, then SIGCONT."""
    SUBSCRIBER_KILL = "subscriber-kill"
    """kill -9 of a member of a group that reads answers, which is started again later."""
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
_DAMAGES = (Fault.LOSE, Fault.SWAP, Fault.TRUNCATE)

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
    Scene(name="silence", needs="broker", weight=1, faults=(Fault.SILENCE, Fault.KILL), most=2),
    Scene(
        name="wire",
        needs="broker",
        weight=5,
        faults=(*_DAMAGES, Fault.DELAY, Fault.SILENCE, Fault.CUT, Fault.KILL),
        most=4,
    ),
    Scene(
        name="outage",
        needs="broker",
        weight=1,
        faults=(Fault.BROKER_AWAY, Fault.BROKER_FROZEN, Fault.NETWORK_AWAY),
        most=1,
    ),
    Scene(
        name="topics", needs="broker", weight=4, faults=(Fault.SHORTEN, Fault.DELETE, Fault.WIDEN, Fault.KILL), most=2
    ),
    Scene(
        name="edge",
        needs="broker",
        weight=3,
        faults=(
            Fault.GATEWAY_KILL,
            Fault.GATEWAY_TERMINATE,
            Fault.GATEWAY_FREEZE,
            Fault.SUBSCRIBER_KILL,
            Fault.BROKER_KILL,
            Fault.BROKER_FREEZE,
        ),
        most=4,
    ),
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
class Drawn:
    """A collection of a run.

    kind: name of its kind.
    window: "tumbling"; "hop", if windows overlap; "memory", if answers build on those of previous windows;
        "linked", if they are made of all that their users have sent in a period of some windows; "learning", if
        they assume that no user returns; "phases", if users answer what follows from the answers before.
    codec: by which its clients compress.
    """

    kind: str
    window: str
    codec: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.window}/{self.codec}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """All of a run that chance decides.

    seconds: for which clients report.
    workers: how many there are at the start.
    collections: those that all workers serve.
    idle: whether partitions stop holding windows open after a silence, and one of them is silent.
    two_sets: whether every second worker serves another collection beside.
    """

    seed: int
    scene: Scene
    seconds: float
    workers: int
    collections: tuple[Drawn, ...]
    idle: bool
    two_sets: bool
    events: tuple[Event, ...]

    def __str__(self) -> str:
        how = [*(["idle"] if self.idle else []), *(["two-sets"] if self.two_sets else [])]
        what = " ".join(map(str, [*self.collections, *how, *self.events]))
        return f"seed {self.seed} {self.scene.name}: {self.workers} workers {what}"


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
    Fault.LOSE: (3.0, 9.0),
    Fault.SWAP: (3.0, 9.0),
    Fault.TRUNCATE: (3.0, 9.0),
    Fault.BROKER_AWAY: (45.0, 55.0),
    Fault.BROKER_FROZEN: (45.0, 55.0),
    Fault.NETWORK_AWAY: (45.0, 55.0),
    Fault.SHORTEN: (0.0, 2.0),
    Fault.DELETE: (2.0, 10.0),
    Fault.WIDEN: (0.0, 0.0),
    Fault.GATEWAY_KILL: (0.0, 1.5),
    Fault.GATEWAY_TERMINATE: (0.0, 1.5),
    Fault.GATEWAY_FREEZE: (1.0, 6.0),
    Fault.SUBSCRIBER_KILL: (0.0, 1.5),
    Fault.CLOCK_AHEAD: (1.0, 4.0),
    Fault.CLOCK_BACK: (1.0, 4.0),
}


def draw(
    seed: int, *, scene: str | None = None, seconds: float = TRAFFIC_SECONDS, kind: str | None = None
) -> Schedule:
    """Draw the schedule of a seed; it is the same for ever.

    scene: name of the scene; drawn as well if None.
    seconds: for which clients report, or longer where what goes wrong would outlast them.
    kind: name of the kind of the first collection; drawn as well if None.

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
    return Schedule(
        seed=seed,
        scene=drawn,
        seconds=max(seconds, *(each.at + each.seconds + CALM_SECONDS for each in events)),
        workers=rng.choice((1, 2, 2, 3)),
        idle=drawn.name != "retention" and rng.random() < 0.3,
        two_sets=rng.random() < 0.5,
        collections=_collections(rng, kind),
        events=tuple(sorted(events, key=lambda event: event.at)),
    )


def _collections(rng: random.Random, kind: str | None) -> tuple[Drawn, ...]:
    kinds = rng.sample(list(KINDS), rng.choice((2, 2, 3, 4)))
    if kind is not None:
        kinds = [kind, *(each for each in kinds[1:] if each != kind)]
    if all(KINDS[each].batches is None for each in kinds):
        # The faults of topics, and most others, are about reports that come all the time.
        kinds.append("records")
    return tuple(Drawn(kind=each, window=rng.choice(KINDS[each].windows), codec=rng.choice(CODECS)) for each in kinds)


def _own(scene: Scene) -> tuple[Fault, ...]:
    """Return the faults for which there is the scene."""
    if scene.name == "workers":
        return scene.faults
    return tuple(fault for fault in scene.faults if fault not in _WORKER_FAULTS)
