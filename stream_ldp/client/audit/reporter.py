"""The audit of `Reporter`: all that leaves it, over restarts and days, for users with different records.

The reporter runs unchanged, on a broker in memory. Its noise comes from a source that repeats, so that two users can
be compared exactly; what must be random is drawn from the operating system's generator, and tested as such.
"""

from __future__ import annotations

import itertools
import math
import stat
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.client.audit.chance import CHANCE, differing_bit, id_problems
from stream_ldp.client.audit.finding import Finding, finding
from stream_ldp.client.audit.repeatable import SameWords
from stream_ldp.client.audit.sending import (
    SETTINGS,
    START_MS,
    around,
    broker_of,
    differences,
    pseudonyms,
    rows_of,
)
from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.memory import connected
from stream_ldp.mechanisms import SECRET_BYTES, SeededEntropy
from stream_ldp.pipeline.statistics import row_width
from stream_ldp.privacy.ledger.ledger_file import PrivacyLedger, ledger_file_of, load_or_create_user
from stream_ldp.privacy.ledger.terms import Terms
from stream_ldp.records.layout import JointLayout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from stream_ldp.kafka.memory import MemoryBroker
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.records.collection import JointCollection

__all__ = ["audit_reporter"]

DAY_MS = 86_400_000

#: Terms under which the audit's users report.
_TERMS = Terms(budget=math.inf)

#: The most by which a ledger may charge too much, relative to the loss: it may charge what a file asks for, while the
#: mechanism's probabilities, multiples of 2^-32, lose a little less.
_OVERCHARGED = 1e-6

#: Restarts of one user's client, one a day, and the days that are looked for on which a sample asks the user.
_RESTARTS = 5
_MOST_DAYS = 100_000

#: Batches whose ids are looked at, users whose order in a batch is, and reports of one user whose noise is.
_IDS = 1_024
_ORDERED = 4_096
_REPEATED = 64


async def audit_reporter(collection: JointCollection, directory: Path) -> list[Finding]:
    """Return what was found of each promise of a reporter.

    directory: an empty directory, for the files of the audit's users.
    """
    auditor = _Auditor(collection, directory)
    return [
        finding("the permanent response is the user's own, for ever", await auditor.permanence()),
        finding("nothing but the rows depends on the record", await auditor.surroundings()),
        finding("the ledger charges each report in full, before it leaves", await auditor.charges()),
        finding("only the user can read the secret and the ledger", auditor.files()),
        finding("noise is fresh in every report", await auditor.freshness(), chance=CHANCE),
        finding("a place in a batch tells nothing of its report", await auditor.order(), chance=CHANCE),
        finding("batch ids are random and tell nothing of the record", await auditor.ids(), chance=2 * CHANCE),
        finding("brokers store nothing that tells whose a batch is", pseudonyms(auditor.seen)),
    ]


class _Auditor:
    """The users of a collection, and the broker that sees what their reporters send."""

    def __init__(self, collection: JointCollection, directory: Path) -> None:
        self._collection = collection
        self._directory = directory
        self._width = row_width(collection.mechanism.bits)
        self._formats = {collection.fingerprint: JointLayout(collection)}
        self._users = itertools.count()
        self.seen = broker_of(collection)

    async def permanence(self) -> list[str]:
        """Compare every row with the one that the user's permanent words make, with noise that is the same."""
        problems = []
        for probability in self._probabilities():
            entropy = SameWords(probability)
            for record in self._records():
                secret, path, times = self._user()
                expected = self._row(record, secret, entropy)
                for number, time_ms in enumerate(times):
                    sent = await self._reports(path, secret, [record] * (1 + number % 3), entropy, time_ms)
                    if set(rows_of(sent, self._width)) != {expected}:
                        problems.append(
                            f"day {(time_ms - START_MS) // DAY_MS}, after {number} restarts: the report of the same "
                            "record is not made from the user's permanent response"
                        )
            problems += await self._permanence_of_many(entropy)
        return problems

    async def _permanence_of_many(self, entropy: Entropy) -> list[str]:
        secrets = [bytes([number]) * SECRET_BYTES for number in range(1, 9)]
        values = np.array([record for record, _ in zip(itertools.cycle(self._records()), secrets, strict=False)])
        asked = self._collection.asks(secrets, time_ms=START_MS)
        expected = [
            self._row(record, secret, entropy)
            for record, secret, is_asked in zip(values, secrets, asked, strict=True)
            if is_asked
        ]
        broker = broker_of(self._collection)
        with connected(broker):
            async with Reporter(self._collection, settings=SETTINGS, entropy=entropy, clock=broker.clock) as reporter:
                await reporter.report_many(values, secrets=secrets)
        if Counter(rows_of(broker.sent, self._width)) != Counter(expected):
            return ["report_many: the rows of several users are not those of their own permanent responses"]
        return []

    async def surroundings(self) -> list[str]:
        """Compare what is seen around the rows of the same user with different records."""
        secret, _, times = self._user()
        seen = []
        for record in self._records():
            path = self._ledger(secret)
            sent = []
            for number, time_ms in enumerate(times):
                entropy = SeededEntropy(number)
                sent += await self._reports(path, secret, [record] * (1 + number % 3), entropy, time_ms)
            seen.append(around(sent, self._formats))
        return [problem for other in seen[1:] for problem in differences(seen[0], other)]

    async def charges(self) -> list[str]:
        """Compare what the ledger's file says when a batch arrives with the epsilon of all reports so far."""
        problems: list[str] = []
        secret, path, times = self._user()
        reports = 0

        def on_send(_: object) -> None:
            charged = PrivacyLedger.open(path, secret=secret).spending.epsilon
            owed = self._collection.mechanism.epsilon(reports=reports)
            if not owed <= charged <= owed * (1 + _OVERCHARGED):
                problems.append(f"after {reports} reports, the ledger has charged {charged!r} nats, not {owed!r}")

        record = self._records()[0]
        for number, time_ms in enumerate(times):
            reports += 1 + number % 3
            await self._reports(
                path, secret, [record] * (1 + number % 3), SeededEntropy(number), time_ms, on_send=on_send
            )
        return problems

    def files(self) -> Iterator[str]:
        """Look at who may read the files of a new user."""
        secret_file = self._directory / f"user-{next(self._users)}"
        load_or_create_user(secret_file, terms=_TERMS)
        for path in (secret_file, ledger_file_of(secret_file)):
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                yield f"the {'secret' if path == secret_file else 'ledger'} has the mode {mode:o}"

    async def freshness(self) -> list[str]:
        """Let one user report many times, with the operating system's generator."""
        secret, path, (time_ms, *_) = self._user()
        rows = [
            row
            for _ in range(_REPEATED)
            for row in rows_of(await self._reports(path, secret, [self._records()[0]], None, time_ms), self._width)
        ]
        if self._chance_of_equal_noise() ** (_REPEATED - 1) < CHANCE and len(set(rows)) == 1:
            return [f"{_REPEATED} reports of the same record are all the same"]
        return []

    def _chance_of_equal_noise(self) -> float:
        """Return a bound on the chance that two reports of one permanent response are the same."""
        return math.prod(
            max(float(sum(chance**2 for chance in row)) for row in symbol.stages.response)
            for symbols in self._collection.mechanism.stated()
            for symbol in symbols
        )

    async def order(self) -> list[str]:
        """Let users with one record come before as many with another, and compare both halves of the batch."""
        first, *_, last = self._records()
        values = np.repeat(np.array([first, last]), _ORDERED // 2, axis=0)
        broker = broker_of(self._collection)
        with connected(broker):
            async with Reporter(
                self._collection, settings=SETTINGS, clock=broker.clock, max_reports=len(values)
            ) as reporter:
                await reporter.report_many(values, secrets=None)
        problems = []
        for each in broker.sent:
            rows = np.array([list(row) for row in rows_of([each], self._width)], dtype=np.uint8)
            bit = differing_bit(rows[: len(rows) // 2], rows[len(rows) // 2 :])
            if bit is not None:
                problems.append(f"bit {bit} is set more often in one half of a batch than in the other")
        return problems

    async def ids(self) -> list[str]:
        """Look at the ids of many batches of users with one record, and of others with another."""
        first, *_, last = self._records()
        broker = self.seen
        with connected(broker):
            for record in (first, last) * 4:
                async with Reporter(
                    self._collection, settings=SETTINGS, clock=broker.clock, max_reports=1
                ) as reporter:
                    await reporter.report_many([record] * (_IDS // 8), secrets=None)
        # A sample of the users may be small: then there are fewer.
        ids = [each.key or b"" for each in broker.sent]
        problems = list(id_problems(ids))
        if not problems:
            table = np.array([list(each) for each in ids], dtype=np.uint8)
            runs = np.array_split(table, 8)
            bit = differing_bit(np.concatenate(runs[::2]), np.concatenate(runs[1::2]))
            problems += [] if bit is None else [f"bit {bit} of the ids depends on the record"]
        return problems

    def _records(self) -> list[tuple[int, ...]]:
        """Return records: of the first values, of the last, and two that differ from the first in one attribute."""
        sizes = self._collection.mechanism.sizes
        first, last = (0,) * len(sizes), tuple(size - 1 for size in sizes)
        return list(dict.fromkeys([first, (1, *first[1:]), (*first[:-1], last[-1]), last]))

    def _probabilities(self) -> list[float]:
        """Return where the words of the noise lie: between p and q, where a report shows the permanent response."""
        midways = {(each.one + each.zero) / 2 for each in self._collection.mechanism.supports}
        return sorted({*midways, 0.5})

    def _row(self, record: Sequence[int] | NDArray[Any], secret: bytes, entropy: Entropy) -> bytes:
        words = self._collection.permanent_words().words(secret, list(map(int, record)))
        return self._collection.mechanism.perturb(
            np.array([record]), entropy=entropy, permanent_words=words[None]
        ).tobytes()

    def _user(self) -> tuple[bytes, Path, list[int]]:
        """Return a new user's secret and ledger file, and days on which the collection asks the user."""
        secret = SeededEntropy(next(self._users)).words(SECRET_BYTES // 4).tobytes()
        days = (START_MS + day * DAY_MS for day in range(_MOST_DAYS))
        asked = (time_ms for time_ms in days if self._collection.asks([secret], time_ms=time_ms)[0])
        return secret, self._ledger(secret), list(itertools.islice(asked, _RESTARTS))

    def _ledger(self, secret: bytes) -> Path:
        path = self._directory / f"ledger-{next(self._users)}"
        PrivacyLedger.create(path, secret=secret, terms=_TERMS)
        return path

    async def _reports(
        self,
        path: Path,
        secret: bytes,
        records: Sequence[Sequence[int]],
        entropy: Entropy | None,
        time_ms: int,
        *,
        on_send: Any = None,
    ) -> list[Any]:
        """Start a client for one series of reports, and return what it sends."""
        broker: MemoryBroker = broker_of(self._collection)
        broker.now_ms, broker.on_send = time_ms, on_send
        ledger = PrivacyLedger.open(path, secret=secret)
        with connected(broker):
            async with Reporter(
                self._collection, settings=SETTINGS, secret=secret, ledger=ledger, entropy=entropy, clock=broker.clock
            ) as reporter:
                await reporter.report_series(records)
        self.seen.producers += broker.producers
        return broker.sent
