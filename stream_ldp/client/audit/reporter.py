"""The audit of reporters of records: all that leaves them, over restarts and days, for users with different records.

A reporter runs unchanged, on a broker in memory. Its noise comes from a source that repeats, so that two users can
be compared exactly; what must be random is drawn from the operating system's generator, and tested as such.
"""

from __future__ import annotations

import itertools
import math
import stat
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.client.audit.chance import CHANCE, differing_bit, id_problems
from stream_ldp.client.audit.finding import Finding, finding
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
from stream_ldp.kinds import kind_of
from stream_ldp.ledger.ledger_file import PrivacyLedger, load_or_create_user
from stream_ldp.ledger.secret import ledger_file_of
from stream_ldp.ledger.terms import Assumption, Terms
from stream_ldp.mechanisms import SECRET_BYTES, SeededEntropy
from stream_ldp.pipeline.statistics import row_width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from stream_ldp.client.audit.subjects import Record, Subject
    from stream_ldp.kafka.memory import MemoryBroker
    from stream_ldp.mechanisms import Entropy

DAY_MS = 86_400_000

#: The most by which a ledger may charge too much, relative to the loss: it may charge what a file asks for, while the
#: mechanism's probabilities, multiples of 2^-32, lose a little less.
_OVERCHARGED = 1e-6

#: Restarts of one user's client, one a day, and the days that are looked for on which a sample asks the user.
_RESTARTS = 5
#: Periods of a collection that links reports.
_PERIODS = 2
_MAX_DAYS = 100_000

#: Users with each record, of whom some are asked about one part of it, and some about another.
_USERS = 4

#: Batches whose ids are looked at, users whose order in a batch is, and reports of one user whose noise is.
_IDS = 1_024
_ORDERED = 4_096
_REPEATED = 64


async def audit_reporter(subject: Subject, directory: Path) -> list[Finding]:
    """Return what was found of each promise of a reporter.

    directory: an empty directory, for the files of the audit's users.
    """
    auditor = Auditor(subject, directory)
    linking = [
        finding("the pseudonym is the user's own for a period, and nothing else links", await auditor.linking())
    ]
    silence = [finding("what a user is not asked about never leaves", await auditor.silence())]
    return [
        finding("the permanent response is the user's own, for ever", await auditor.permanence()),
        finding("nothing but the rows depends on the record", await auditor.surroundings()),
        *(silence if subject.asks_part else ()),
        *(linking if subject.linked_ms is not None else ()),
        finding("the ledger charges each report in full, before it leaves", await auditor.charges()),
        finding("only the user can read the secret and the ledger", auditor.files()),
        finding("noise is fresh in every report", await auditor.freshness(), chance=CHANCE),
        finding("a place in a batch tells nothing of its report", await auditor.order(), chance=CHANCE),
        finding("batch ids are random and tell nothing of the record", await auditor.ids(), chance=2 * CHANCE),
        finding("brokers store nothing that tells whose a batch is", pseudonyms(auditor.seen)),
    ]


class Auditor:
    """The users of a collection, and the broker that sees what their reporters send."""

    def __init__(self, subject: Subject, directory: Path) -> None:
        self._subject = subject
        self._collection = subject.collection
        self._directory = directory
        layout = kind_of(self._collection).layout(self._collection)
        self._width = row_width(layout.bits)
        # Terms under which the audit's users report.
        self._terms = Terms(budget=math.inf, linked=True)
        self._pseudonym_bytes = len(subject.pseudonym(bytes(SECRET_BYTES), time_ms=START_MS))
        self._formats = {self._collection.fingerprint: layout}
        self._users = itertools.count()
        self.seen = broker_of(self._collection)

    async def permanence(self) -> list[str]:
        """Compare every row with the one that the user's permanent words make, with noise that is the same."""
        problems = []
        for entropy in self._subject.noises:
            for record in self._subject.records:
                secret, path, times = self._user()
                expected = self._subject.row(record, secret, entropy)
                for number, time_ms in enumerate(times):
                    sent = await self._reports(path, secret, [record] * (1 + number % 3), entropy, time_ms)
                    if set(self._rows(sent)) != {expected}:
                        problems.append(
                            f"day {(time_ms - START_MS) // DAY_MS}, after {number} restarts: the report of the same "
                            "record is not made from the user's permanent response"
                        )
            problems += await self._permanence_of_many(entropy)
        return problems

    async def _permanence_of_many(self, entropy: Entropy) -> list[str]:
        secrets = [bytes([number]) * SECRET_BYTES for number in range(1, 9)]
        records = list(itertools.islice(itertools.cycle(self._subject.records), len(secrets)))
        asked = self._collection.asks(secrets, time_ms=START_MS).tolist()
        expected = [
            self._subject.row(record, secret, entropy)
            for record, secret, is_asked in zip(records, secrets, asked, strict=True)
            if is_asked
        ]
        broker = broker_of(self._collection)
        with connected(broker):
            async with Reporter(self._collection, settings=SETTINGS, entropy=entropy, clock=broker.clock) as reporter:
                await reporter.report_many(records, secrets=secrets)
        if Counter(self._rows(broker.sent)) != Counter(expected):
            return ["report_many: the rows of several users are not those of their own permanent responses"]
        return []

    async def surroundings(self) -> list[str]:
        """Compare what is seen around the rows of the same user with different records."""
        secret, _, times = self._user()
        seen = []
        for record in self._subject.records:
            path = self._ledger(secret)
            sent = []
            for number, time_ms in enumerate(times):
                entropy = SeededEntropy(number)
                sent += await self._reports(path, secret, [record] * (1 + number % 3), entropy, time_ms)
            seen.append(around(sent, self._formats))
        return [problem for other in seen[1:] for problem in differences(seen[0], other)]

    async def linking(self) -> list[str]:
        """Compare the pseudonyms of users, periods and records, and those of reports with fresh noise."""
        period_ms, problems = self._subject.linked_ms, []
        if period_ms is None:
            return []
        seen: list[bytes] = []
        for begin_ms in (START_MS - START_MS % period_ms + period * period_ms for period in range(_PERIODS)):
            for _ in range(_USERS):
                secret, _, times = self._user(since_ms=begin_ms, every_ms=max(1, period_ms // _RESTARTS))
                in_period = [time_ms for time_ms in times if time_ms < begin_ms + period_ms]
                held = itertools.islice(itertools.cycle(self._subject.records), len(in_period))
                sent = [
                    name
                    for record, time_ms in zip(held, in_period, strict=True)
                    for name in self._names(
                        await self._reports(self._ledger(secret), secret, [record] * 2, None, time_ms)
                    )
                ]
                if set(sent) - {self._subject.pseudonym(secret, time_ms=begin_ms)}:
                    problems.append("a pseudonym is not the user's own in a period, whatever the record")
                seen += set(sent)
                next_ms = begin_ms + period_ms
                seen.append(self._subject.pseudonym(secret, time_ms=next_ms))
        if len(set(seen)) < len(seen):
            problems.append("users or periods have pseudonyms in common")
        return [*problems, *await self._unlinked()]

    async def _unlinked(self) -> list[str]:
        """Look at reports that nothing is to link: those with fresh noise, and of users without a secret."""
        secret, _, (time_ms, *_) = self._user()
        path = self._directory / f"ledger-{next(self._users)}"
        PrivacyLedger.create(path, secret=secret, terms=replace(self._terms, assumption=Assumption.FRESH))
        fresh = self._names(await self._reports(path, secret, [self._subject.records[0]] * _REPEATED, None, time_ms))
        broker = broker_of(self._collection)
        with connected(broker):
            async with Reporter(self._collection, settings=SETTINGS, clock=broker.clock) as reporter:
                await reporter.report_many([self._subject.records[0]] * _REPEATED, secrets=None)
        told = []
        if len(set(fresh)) < len(fresh):
            told.append("reports with fresh noise have a pseudonym in common")
        named = self._names(broker.sent)
        if len(set(named)) < len(named):
            told.append("users without a secret have a pseudonym in common")
        return told

    async def silence(self) -> list[str]:
        """Compare the rows of a user's records that differ in nothing that the user is asked about."""
        problems = []
        for record in self._subject.records * _USERS:
            secret, path, (time_ms, *_) = self._user()
            other = self._subject.unasked(record, secret)
            one, two = [
                self._rows(await self._reports(each, secret, [held], SeededEntropy(0), time_ms))
                for each, held in ((path, record), (self._ledger(secret), other))
            ]
            if one != two:
                problems.append("the row depends on an attribute that the user is not asked about")
        return problems

    async def charges(self) -> list[str]:
        """Compare what the ledger's file says when a batch arrives with the epsilon of all reports so far."""
        problems: list[str] = []
        secret, path, times = self._user()
        reports = 0

        def on_send(_: object) -> None:
            charged = PrivacyLedger.open(path, secret=secret).spending.epsilon
            owed = self._subject.epsilon(secret, reports=reports)
            if not owed <= charged <= owed * (1 + _OVERCHARGED):
                problems.append(f"after {reports} reports, the ledger has charged {charged!r} nats, not {owed!r}")

        record = self._subject.records[0]
        for number, time_ms in enumerate(times):
            reports += 1 + number % 3
            await self._reports(
                path, secret, [record] * (1 + number % 3), SeededEntropy(number), time_ms, on_send=on_send
            )
        return problems

    def files(self) -> Iterator[str]:
        """Look at who may read the files of a new user."""
        secret_file = self._directory / f"user-{next(self._users)}"
        load_or_create_user(secret_file, terms=self._terms)
        for path in (secret_file, ledger_file_of(secret_file)):
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                yield f"the {'secret' if path == secret_file else 'ledger'} has the mode {mode:o}"

    async def freshness(self) -> list[str]:
        """Let one user report many times, with the operating system's generator."""
        secret, path, (time_ms, *_) = self._user()
        record = self._subject.records[0]
        rows = [
            row
            for _ in range(_REPEATED)
            for row in self._rows(await self._reports(path, secret, [record], None, time_ms))
        ]
        if self._subject.equal_noise ** (_REPEATED - 1) < CHANCE and len(set(rows)) == 1:
            return [f"{_REPEATED} reports of the same record are all the same"]
        return []

    async def order(self) -> list[str]:
        """Let users with one record come before as many with another, and compare both halves of the batch."""
        first, *_, last = self._subject.records
        records = [first] * (_ORDERED // 2) + [last] * (_ORDERED // 2)
        broker = broker_of(self._collection)
        with connected(broker):
            async with Reporter(
                self._collection, settings=SETTINGS, clock=broker.clock, max_reports=len(records)
            ) as reporter:
                await reporter.report_many(records, secrets=None)
        problems = []
        for each in broker.sent:
            rows = np.array([list(row) for row in self._rows([each])], dtype=np.uint8)
            bit = differing_bit(rows[: len(rows) // 2], rows[len(rows) // 2 :])
            if bit is not None:
                problems.append(f"bit {bit} is set more often in one half of a batch than in the other")
        return problems

    async def ids(self) -> list[str]:
        """Look at the ids of many batches of users with one record, and of others with another."""
        first, *_, last = self._subject.records
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

    def _rows(self, sent: Sequence[Any]) -> list[bytes]:
        """Return the rows without their pseudonyms."""
        return [row[self._pseudonym_bytes :] for row in rows_of(sent, self._width)]

    def _names(self, sent: Sequence[Any]) -> list[bytes]:
        """Return the pseudonym of each row."""
        return [row[: self._pseudonym_bytes] for row in rows_of(sent, self._width)]

    def _user(self, *, since_ms: int = START_MS, every_ms: int = DAY_MS) -> tuple[bytes, Path, list[int]]:
        """Return a new user's secret and ledger file, and the times at which the collection asks the user."""
        secret = SeededEntropy(next(self._users)).words(SECRET_BYTES // 4).tobytes()
        days = (since_ms + day * every_ms for day in range(_MAX_DAYS))
        asked = (time_ms for time_ms in days if self._collection.asks([secret], time_ms=time_ms)[0])
        return secret, self._ledger(secret), list(itertools.islice(asked, _RESTARTS))

    def _ledger(self, secret: bytes) -> Path:
        path = self._directory / f"ledger-{next(self._users)}"
        PrivacyLedger.create(path, secret=secret, terms=self._terms)
        return path

    async def _reports(
        self,
        path: Path,
        secret: bytes,
        records: Sequence[Record],
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
