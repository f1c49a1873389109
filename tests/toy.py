"""A kind of collection in a few lines: coins, whose share of heads is told by randomised response (Warner, 1965).

python tests/toy.py COMMAND ... is the command line of a release that has this kind, too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from stream_ldp.audit.wire.client import AskedInTurn, Turns
from stream_ldp.cli import main
from stream_ldp.collection import Part, Topics, Window
from stream_ldp.collection.records import CollectionOfRecords
from stream_ldp.errors import DataError
from stream_ldp.evaluation.trial import Evaluation, Measured, Metric, Trial
from stream_ldp.kinds import KINDS
from stream_ldp.ledger.reports import AttributeReport, answers_shown, tag_of
from stream_ldp.mechanisms import RESOLUTION, AnswerCost, Entropy
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.plausibility import UNTESTED
from stream_ldp.mechanisms.randomness.permanent import KeyedWords
from stream_ldp.pipeline.answer import (
    Answer,
    Count,
    LiarsField,
    PlausibilityField,
    Probability,
    Published,
    PublishedField,
    Status,
    StatusField,
    WindowBounds,
    answer_key,
)
from stream_ldp.pipeline.cells import Cell
from stream_ldp.pipeline.judgement import Judgement
from stream_ldp.pipeline.kind import POPULATIONS, Kind
from stream_ldp.pipeline.leverage import Leverage
from stream_ldp.pipeline.plan import ErrorPlan, Plan, Section, errors_in_short
from stream_ldp.pipeline.published import published_among, published_of_window
from stream_ldp.pipeline.statistics import RowCounts, Tally, tally_of_rows
from stream_ldp.pipeline.window_task import WindowTask
from tests.audit.whole_rows import WholeRows


class Spec(Part):
    kind: Literal["coin"]
    truth: float = Field(gt=0.5, lt=1)


@dataclass(frozen=True)
class Heads:
    name: str = "heads"
    every_ms: int = 500

    def statistic(self, before: Share | None) -> tuple[str, ...]:
        return (self.name,)

    def period_ms(self, window: Window) -> int:
        return window.pane_ms

    def follows(self, window_ms: int) -> tuple[str, None]:
        return self.name, None


class Side:
    """The one attribute of a toss."""

    name = "side"

    def encode(self, value: Any) -> int:
        if value not in ("tails", "heads"):
            raise DataError("attribute 'side': the given value is not one of tails, heads")
        return ("tails", "heads").index(value)


class Coins(CollectionOfRecords):
    topics: ClassVar[Topics] = Topics(answers="shares")
    mechanism: Spec

    @property
    def attributes(self) -> tuple[Side, ...]:
        return (Side(),)

    @property
    def bits(self) -> int:
        return 1

    def table(self, records: Any) -> NDArray[np.int64]:
        return np.asarray(records, dtype=np.int64).reshape(-1, 1)

    @property
    def series(self) -> tuple[Heads, ...]:
        return (Heads(),)

    @property
    def _meaning(self) -> list[Any]:
        return [self.name, self.mechanism.kind, self.mechanism.truth]


class CoinsLayout:
    bits = 1

    def __init__(self, collection: Coins) -> None:
        self.fingerprint = collection.fingerprint

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.ones(len(rows), dtype=np.bool_)

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.ones(len(panes), dtype=np.bool_)

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        return {("heads",): tally_of_rows(self.bits)}

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        tallies["heads",].update(rows)

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.zeros(len(counts), dtype=np.bool_)


class Share(Answer):
    schema_version: Literal[1] = 1
    collection: str
    fingerprint: str
    series: str = "heads"
    window: WindowBounds
    status: StatusField = Status.ANSWERED
    final: bool
    reports: Count
    share: Probability
    plausibility: PlausibilityField = None
    liars: LiarsField = ()
    published: PublishedField = None

    def judgement(self) -> Judgement:
        return Judgement(
            evidence=(f"{self.reports} tosses",), privacy=() if self.published is None else (str(self.published),)
        )

    @property
    def key(self) -> bytes:
        return answer_key(self.series, self.window, final=self.final)

    def cells(self) -> Iterator[Cell]:
        yield Cell(labels={"side": "heads"}, estimate=self.share, standard_error=None, names=("heads",))


def solve(collection: Coins, task: WindowTask[Heads, Share]) -> Share:
    (_, parts), *_ = task.counts(RowCounts)
    counts = RowCounts.sum(parts, bits=1)
    heads = float(counts.counts @ counts.unpacked()[:, 0]) / max(task.reports, 1)
    truth = collection.mechanism.truth
    return Share(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        window=WindowBounds(start_ms=task.window_ms, end_ms=task.window_ms + collection.window.size_ms),
        final=task.final,
        reports=task.reports,
        published=published_of_window(task, collection, published, plausibility=UNTESTED),
        share=min(max((heads - (1 - truth)) / (2 * truth - 1), 0.0), 1.0),
    )


@dataclass(frozen=True, kw_only=True)
class CoinPlan(Plan):
    errors: tuple[ErrorPlan, ...]

    def in_short(self) -> Iterator[str]:
        yield errors_in_short("The error of the share", [(each.users, each.standard_error) for each in self.errors])

    def sections(self) -> Iterator[Section]:
        yield self.head(*((f"{each.users:,} users", f"± {each.standard_error:.4f}") for each in self.errors))


def _answer(collection: Coins, user: NDArray[np.int64], key: bytes) -> KeyedWords:
    """Return the words of a key for what a user shows of a toss, for ever."""
    return KeyedWords(key, person=b"stream-ldp toy 1", data=collection.fingerprint + user.tobytes())


def reports(
    collection: Coins,
    table: NDArray[np.int64],
    *,
    secrets: Sequence[bytes] | None,
    memoises: bool,
    time_ms: int,
    entropy: Entropy,
) -> NDArray[np.uint8]:
    truth = int(collection.mechanism.truth * RESOLUTION)
    if secrets is not None and memoises:
        words = [_answer(collection, user, key) for user, key in zip(table, secrets, strict=True)]
        lies = [~each.below(np.full(1, truth)) for each in words]
        return (table ^ np.array(lies, dtype=np.bool_).reshape(table.shape)).astype(np.uint8)
    return (table ^ ~entropy.below(np.full(table.shape, truth))).astype(np.uint8)


def plan(collection: Coins, *, populations: Sequence[int] = POPULATIONS) -> CoinPlan:
    noise = 0.5 / (2 * collection.mechanism.truth - 1)
    return CoinPlan(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        errors=tuple(ErrorPlan(users=users, standard_error=noise / math.sqrt(users)) for users in populations),
    )


def leverages(collection: Coins) -> tuple[Leverage, ...]:
    truth = collection.mechanism.truth
    return (Leverage(series="heads", of_one=truth / (2 * truth - 1)),)


def published(collection: Coins, reports: int, *, windows: int = 1) -> Published | None:
    truth = collection.mechanism.truth
    return published_among(
        collection,
        reports,
        windows=windows,
        epsilon=math.log(truth / (1 - truth)),
        lifetime=math.log(truth / (1 - truth)),
        hidden="both sides",
        blanket=Blanket.of_support(own=truth, any_value=0.5, both=0.0),
    )


def charges(
    collection: Coins, table: NDArray[np.int64], *, secret: bytes, tag_key: bytes | None
) -> tuple[AttributeReport, ...]:
    truth = collection.mechanism.truth
    return answers_shown(
        collection,
        0,
        attribute="side",
        cost=AnswerCost(epsilon=math.log(truth / (1 - truth))),
        tags=[None if tag_key is None else tag_of(_answer(collection, user, tag_key)) for user in table],
    )


def claims(collection: Coins) -> WholeRows:
    truth = collection.mechanism.truth

    def rows(table: NDArray[np.int64], entropy: Entropy) -> NDArray[np.uint8]:
        return reports(collection, table, secrets=None, memoises=True, time_ms=0, entropy=entropy)

    return WholeRows(
        collection=collection,
        held=collection.table([0, 1]),
        rows=rows,
        claimed=math.log(truth / (1 - truth)),
    )


class CoinClient(AskedInTurn):
    """What a client sends, by code that shares no function with the kind."""

    def __init__(self, file: Mapping[str, Any]) -> None:
        self.truth = float(file["mechanism"]["truth"])
        meaning = [file["collection"], "coin", self.truth, *Turns.of(file).entry]
        super().__init__(file, json.dumps(meaning, separators=(",", ":")))

    def excesses(self) -> Iterator[str]:
        return iter(())

    def held(self) -> list[Mapping[str, str]]:
        return [{"side": "tails"}, {"side": "heads"}]

    def whole_row(
        self, secret: bytes | None, record: Mapping[str, str], *, time_ms: int, words: Any, memoises: bool = True
    ) -> bytes:
        side = int(record["side"] == "heads")
        if secret is not None and memoises:
            data = self.fingerprint + side.to_bytes(8, "little") + bytes(4)
            block = hashlib.blake2b(data, key=secret, person=b"stream-ldp toy 1", digest_size=64).digest()
            words = iter([int.from_bytes(block[:4], "little")])
        return bytes([side ^ (next(words) >= round(self.truth * 2**32))])

    def changes(self, secret: bytes, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
        return one != other

    def cost(self, secret: bytes, shown: Sequence[Any], *, memoises: bool = True) -> float:
        answers = len({each["side"] for each in shown}) if memoises else len(shown)
        return answers * math.log(self.truth / (1 - self.truth))


def measure(trial: Trial[Coins]) -> Iterator[Measured]:
    """Tell which coins show heads, and compare their share."""
    coins, rng = trial.people[:, 0].astype(np.bool_), np.random.default_rng(trial.noise)
    told = np.where(rng.random(len(coins)) < trial.collection.mechanism.truth, coins, ~coins)
    counts = RowCounts.of(told[:, None].astype(np.uint8), bits=1)
    window = ((1.0, (counts,)),)
    found = solve(trial.collection, WindowTask(series=Heads(), window_ms=0, final=True, windows=window, before=None))
    yield Measured("heads", {"error": abs(found.share - float(coins.mean()))}, 0.0)


COIN = Kind(
    name="coin",
    collection=Coins,
    mechanisms=("coin",),
    charges=charges,
    claims=claims,
    per_turn=lambda collection: math.log(collection.mechanism.truth / (1 - collection.mechanism.truth)),
    specified=lambda file, _: CoinClient(file),
    layout=CoinsLayout,
    reports=reports,
    solve=solve,
    answer=Share,
    summary=lambda collection: f"a coin that shows the truth with probability {collection.mechanism.truth:g}",
    plan=plan,
    published=published,
    leverages=leverages,
    totals=lambda _, tosses: {("heads", ("", ("heads",))): float(np.sum(tosses))},
    evaluation=Evaluation(measure=measure, predicts={"error": Metric("the error of the share of heads")}),
)

if __name__ == "__main__":
    KINDS[COIN.name] = COIN
    main()
