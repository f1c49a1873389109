"""The audit of reporters of records of every kind: all that leaves them, over restarts and days.

A reporter runs unchanged, on a broker in memory. What it sends is compared with what a client that is written from
the specification makes of the same user, record, time and noise. That noise comes from a source that repeats, so that
any order of decisions is the same; what must be random is drawn from the operating system's generator, and tested.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
import stat
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.audit.specified_rows import WORDS, OneWord, secrets_of, times_of
from stream_ldp.audit.wire.batch import read
from stream_ldp.client.audit.finding import CHANCE, Finding, differing_bit, finding, id_problems
from stream_ldp.client.audit.seen import SystemRandomness, reveals
from stream_ldp.client.audit.sending import (
    AGREED,
    SETTINGS,
    START_MS,
    ClientAudit,
    around,
    broker_of,
    charged,
    differences,
    mischarged,
    pseudonyms,
)
from stream_ldp.client.reporter import Reporter
from stream_ldp.collection.collection import DAY_MS
from stream_ldp.kafka.memory import MemoryBroker, Sent, connected
from stream_ldp.kinds import kind_of
from stream_ldp.ledger.ledger_file import PrivacyLedger, load_or_create_user
from stream_ldp.ledger.secret import ledger_file_of
from stream_ldp.ledger.terms import (
    Assumption,
    BudgetExceeded,
    LinkingRefused,
    ReportRefused,
    SpanBudgetExceeded,
    Terms,
    TooManyValues,
)
from stream_ldp.mechanisms import SeededEntropy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from stream_ldp.audit.wire.client import Held, SpecifiedClient
    from stream_ldp.mechanisms import Entropy

#: Restarts of one user's client, one a day, and the days that are looked for on which a sample asks the user.
_RESTARTS = 5
_MAX_DAYS = 100_000

#: Users who are looked at one by one, those of them with fresh noise, and reports of many that are compared. What is
#: permanent is rarely drawn otherwise than without noise, so that it takes some to see where it comes from.
_USERS = 4
_FRESH = 20
_MANY = 2_048

#: Batches whose ids are looked at, users whose order in a batch is, and reports whose randomness is.
_IDS = 1_024
_ORDERED = 4_096
_WATCHED = 12

#: All terms under which charges are compared, by the number of different records that a user reports.
_TERMS: tuple[tuple[Terms, int], ...] = (
    (AGREED, 1),
    (Terms(budget=math.inf, linked=True, assumption=Assumption.VALUES, max_values=2), 2),
    (Terms(budget=math.inf, linked=True, assumption=Assumption.VALUES, max_values=3), 3),
    (Terms(budget=math.inf, linked=True, assumption=Assumption.FRESH), 3),
)


async def audit_reporter(
    collection: Any, client: SpecifiedClient, file: Mapping[str, Any], directory: Path
) -> list[Finding]:
    """Return what was found of each promise of a reporter.

    client: a client of the same collection that is written from the specification.
    file: the collection's file, as data.
    directory: an empty directory, for the files of the audit's users.
    """
    auditor = Auditor(collection, client, directory)
    with auditor.log.kept():
        rows = await auditor.rows()
        permanence = await auditor.permanence()
        afresh = await auditor.afresh()
        surroundings = await auditor.surroundings()
        charges = [
            *await auditor.charges(),
            *await auditor.charges_of_many(),
            *await auditor.charges_after_a_change(),
        ]
        refusals, source, turns = await auditor.refusals(), await auditor.source(), await auditor.turns()
        order, law, ids = await auditor.order(), await auditor.law(), await auditor.ids()
    return [
        finding("the reporter asks and charges what the file states", auditor.meaning()),
        finding("every row follows the specification, given user, record, time and noise", rows),
        finding("the permanent response is the user's own, for a lifetime", permanence),
        finding("fresh noise leaves nothing permanent in a row", afresh),
        finding("nothing but the rows depends on the record", surroundings),
        finding("a Kafka record has what the specification says, and nothing else", auditor.frames(file)),
        finding("the ledger charges each report in full, before it leaves", charges),
        finding("nothing beyond the user's terms is sent", refusals),
        finding("a user reports in the turns that the secret gives, whatever the record and the clock", turns),
        finding("only the user can read the secret and the ledger", auditor.files()),
        finding("neither the log nor the text of an object has a secret or a record", auditor.texts()),
        finding("all randomness is the operating system's, and used once", source),
        finding("rows have the specified probabilities", law, chance=CHANCE),
        finding("the place of a report in its batch is independent of the report", order, chance=CHANCE),
        finding("batch ids are random and independent of the record", ids, chance=2 * CHANCE),
        finding("brokers store nothing that identifies the author of a batch", pseudonyms(auditor.seen)),
    ]


class Auditor(ClientAudit):
    """The audit of users who report whenever they like."""

    def __init__(self, collection: Any, client: SpecifiedClient, directory: Path) -> None:
        super().__init__(collection, client, directory)
        self._client: SpecifiedClient = client
        self._formats = {collection.fingerprint: kind_of(collection).layout(collection)}
        self._held = client.held()
        self._secrets: list[bytes] = []
        self._texts: list[str] = []
        self._reported: list[str] = []

    async def rows(self) -> list[str]:
        """Compare the rows of many users with all sorts of records, at several times and with several words."""
        pairs = [(secret, held) for secret in secrets_of(self._client) for held in self._held]
        cases = list(itertools.product(WORDS, times_of(self._client)))
        share = max(1, len(pairs) * len(cases) // _MANY)
        while math.gcd(share, len(self._held)) > 1:
            share += 1
        for number, (word, time_ms) in enumerate(cases):
            users = [
                (secret, held)
                for secret, held in pairs[number % share :: share]
                if self._client.asks(secret, time_ms)
            ]
            if not users:
                continue
            sent = await self._many(
                [held for _, held in users], [secret for secret, _ in users], OneWord(word), time_ms
            )
            expected = Counter(self._row(secret, held, time_ms, word) for secret, held in users)
            if wrong := Counter(_rows(sent)) - expected:
                return [
                    f"report_many: {wrong.total()} of {len(users)} rows at {time_ms} ms are not the specified ones"
                ]
        return []

    async def permanence(self) -> list[str]:
        """Compare the rows of single users, after restarts, with those that their secrets make."""
        for number, word in zip(range(_USERS), itertools.cycle(WORDS), strict=False):
            secret, path, times = self._user()
            held = self._held[number % len(self._held)]
            for day, time_ms in enumerate(times):
                expected = self._row(secret, held, time_ms, word)
                once = self._client.turns.every is not None
                sent = await self._series(path, secret, [held] * self._times(1 + day % 3), OneWord(word), time_ms)
                if day % 2 and not once:
                    sent += await self._one(path, secret, held, OneWord(word), time_ms)
                if set(_rows(sent)) != {expected}:
                    return [
                        f"after {day} restarts, {(time_ms - START_MS) // DAY_MS} days later: the report of the same "
                        "record is not the one that the user's secret makes"
                    ]
                if len(_rows(sent)) != (1 if once else 1 + day % 3 + day % 2):
                    return ["there are more or fewer reports than were made"]
        return []

    async def afresh(self) -> list[str]:
        """Compare the rows of users whose terms want fresh noise, and of those without a secret."""
        terms = Terms(budget=math.inf, assumption=Assumption.FRESH)
        for number, word in zip(range(_FRESH), itertools.cycle(WORDS), strict=False):
            held = self._held[-1 - number % len(self._held)]
            secret, path, (time_ms, *_) = self._user(terms=terms)
            expected = self._client.whole_row(
                secret, held, time_ms=time_ms, words=itertools.repeat(word), memoises=False
            )
            sent = await self._series(path, secret, [held] * self._times(2), OneWord(word), time_ms)
            if set(_rows(sent)) != {expected}:
                return ["a report with fresh noise is not the one that the specification makes of fresh words"]
            alone = self._client.whole_row(None, held, time_ms=time_ms, words=itertools.repeat(word))
            if set(_rows(await self._many([held] * 2, None, OneWord(word), time_ms))) - {alone}:
                return ["a report without a secret is not the one that the specification makes of fresh words"]
        return []

    async def surroundings(self) -> list[str]:
        """Compare what is seen around the rows, and in the log, of the same user with different records."""
        secret, _, times = self._user()
        seen, logs = [], []
        for held in self._some(_USERS):
            path, sent = self._ledger(secret), []
            before = len(self.log.messages)
            for number, time_ms in enumerate(times):
                entropy = SeededEntropy(number)
                sent += await self._series(path, secret, [held] * self._times(1 + number % 3), entropy, time_ms)
            seen.append(around(sent, self._formats))
            # Files of different users have names of their own.
            logs.append([text.replace(path.name, "") for text in self.log.comparable()[before:]])
        self._reported += [
            f"the log of one record has {one[:80]!r}, and that of another {other[:80]!r}"
            for log in logs[1:]
            for one, other in itertools.zip_longest(logs[0], log, fillvalue="")
            if one != other
        ]
        return [problem for other in seen[1:] for problem in differences(seen[0], other)]

    async def charges(self) -> list[str]:
        """Compare what the ledger's file says when a batch arrives with the cost of all reports so far."""
        for terms, values in _TERMS:
            for number in range(_USERS):
                secret, path, times = self._user(terms=terms)
                # Ends, which differ in all, and neighbours, which may differ in little.
                held = self._some(values, after=number)
                if number % 2:
                    last = 2 * len(self._held) - number // 2
                    held = (self._held * 2)[last - values : last]
                shown: list[Held] = []
                problems: list[str] = []

                def on_send(
                    _: object,
                    *,
                    path: Path = path,
                    secret: bytes = secret,
                    shown: list[Held] = shown,
                    memoises: bool = terms.memoises,
                    problems: list[str] = problems,
                ) -> None:
                    owed = self._client.cost(secret, shown, memoises=memoises)
                    problems += mischarged(charged(path, secret), owed, reports=len(shown))

                for day, time_ms in enumerate(times):
                    records = [held[(day + place) % values] for place in range(self._times(1 + day % 3))]
                    shown += records
                    await self._series(path, secret, records, SeededEntropy(day), time_ms, on_send=on_send)
                if problems:
                    return [f"{problems[0]}, under the assumption {terms.assumption.value}"]
        return []

    async def charges_of_many(self) -> list[str]:
        """Compare the ledgers of many users in one call with what each has shown, when the batch arrives."""
        users = [self._user() for _ in range(2 * _USERS)]
        held = self._some(len(users))
        problems: list[str] = []
        shown: dict[bytes, list[Held]] = {secret: [] for secret, _, _ in users}

        def on_send(_: object) -> None:
            for secret, path, _ in users:
                owed = self._client.cost(secret, shown[secret]) if shown[secret] else 0.0
                problems.extend(mischarged(charged(path, secret), owed, reports=len(shown[secret])))

        for time_ms in (START_MS, START_MS + self._cycle_ms):
            for (secret, _, _), record in zip(users, held, strict=True):
                if self._client.asks(secret, time_ms):
                    shown[secret].append(record)
            secrets = [secret for secret, _, _ in users]
            await self._many(held, secrets, None, time_ms, paths=[path for _, path, _ in users], on_send=on_send)
        return [f"report_many: {problem}" for problem in problems[:1]]

    async def charges_after_a_change(self) -> list[str]:
        """Compare the ledger of a user who agrees to report a record that changes, after some reports of one."""
        secret, path, (first_ms, second_ms, *_) = self._user()
        held, other = self._some(2)
        count = self._times(2)
        await self._series(path, secret, [held] * count, SeededEntropy(0), first_ms)
        before = self._client.cost(secret, [held] * count)
        PrivacyLedger.open(path, secret=secret, terms=_TERMS[-1][0], change_terms=True)
        await self._series(path, secret, [other] * count, SeededEntropy(0), second_ms)
        owed = before + self._client.cost(secret, [other] * count, memoises=False)
        return list(mischarged(charged(path, secret), owed, reports=2 * count))

    async def turns(self) -> list[str]:
        """Compare the windows in which users with different records report with the turns of their secrets."""
        every = self._client.turns.every
        if every is None:
            return []
        numbers = range(START_MS // self._client.turns.turn_ms, START_MS // self._client.turns.turn_ms + 2 * every)
        for held in self._some(2):
            secret = hashlib.sha256(b"turns").digest()
            path, had = self._ledger(secret), []
            for number in numbers:
                for back in (0, every):
                    # A clock that is right, and one that is then set back.
                    time_ms = (number - back) * self._client.turns.turn_ms
                    if await self._series(path, secret, [held], SeededEntropy(0), time_ms):
                        had.append(number - back)
            fair = [each for each in numbers if self._client.turns.has(secret, self._client.fingerprint, each)]
            if had != fair:
                return [f"a user whose turns are {fair} reports in {had}, of {len(numbers)} windows"]
        return []

    @property
    def _cycle_ms(self) -> int:
        """Time after which a user who has reported may do so again, in milliseconds; 0 if at once."""
        return (self._client.turns.every or 0) * self._client.turns.turn_ms

    def _times(self, count: int) -> int:
        """Return how often a user reports at a time who wants to so often: once, where users take turns."""
        return count if self._client.turns.every is None else 1

    async def refusals(self) -> list[str]:
        """Look at what is sent although the budget, or an assumption, does not cover it."""
        problems = []
        for number in range(2 * _USERS):
            one, *others = self._held[number % len(self._held) :] + self._held
            secret, path, (first_ms, second_ms, *_) = self._user()
            await self._series(path, secret, [one], SeededEntropy(0), first_ms)
            once = self._client.cost(secret, [one])
            other = next((held for held in others if self._client.changes(secret, one, held)), None)
            if other is not None:
                problems += await self._refused(path, secret, other, second_ms, TooManyValues)
            if once > 0:
                terms = Terms(budget=once * (1 - 1e-3), linked=True)
                problems += await self._refused(self._ledger(secret, terms), secret, one, first_ms, BudgetExceeded)
        problems += await self._span_refusals()
        if self._client.links:
            secret, _, (time_ms, *_) = self._user()
            path = self._ledger(secret, Terms(budget=math.inf))
            problems += await self._refused(path, secret, one, time_ms, LinkingRefused)
        return problems

    async def _span_refusals(self) -> list[str]:
        """Let a user with a budget of some days report twice within them, on two days, and once more after them."""
        secret, _, (first_ms, second_ms, *later) = self._user()
        held = self._held[-1]
        once = self._client.cost(secret, [held], memoises=False)
        days = (second_ms - first_ms) // DAY_MS + 1
        after_ms = next((each for each in later if each - first_ms > (days + 1) * DAY_MS), None)
        if once <= 0 or after_ms is None:
            return []
        terms = Terms(budget=math.inf, per_span=1.5 * once, span_days=days, assumption=Assumption.FRESH)
        path = self._ledger(secret, terms)
        await self._series(path, secret, [held], SeededEntropy(0), first_ms)
        problems = await self._refused(path, secret, held, second_ms, SpanBudgetExceeded)
        if not await self._series(path, secret, [held], SeededEntropy(0), after_ms):
            problems.append("a report is not sent although the budget of the days has renewed")
        return problems

    async def _refused(
        self, path: Path, secret: bytes, held: Held, time_ms: int, refusal: type[ReportRefused]
    ) -> list[str]:
        sent: list[Sent] = []
        try:
            sent += await self._series(path, secret, [held], SeededEntropy(0), time_ms)
        except refusal as error:
            self._texts += [str(error), repr(error)]
            return []
        except ReportRefused as error:
            return [f"a report is refused as {type(error).__name__}, and not as {refusal.__name__}"]
        return [f"a report is sent that has to be refused as {refusal.__name__}"] if sent else []

    def files(self) -> Iterator[str]:
        """Look at who may read the files of a new user."""
        secret_file = self._directory / f"user-{next(self._users)}"
        load_or_create_user(secret_file, terms=AGREED)
        for path in (secret_file, ledger_file_of(secret_file)):
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                yield f"the {'secret' if path == secret_file else 'ledger'} has the mode {mode:o}"

    def texts(self) -> Iterator[str]:
        """Look for secrets in the log and in the texts of objects, and for what differs with the record."""
        yield from self._reported
        for place, texts in (("the log", self.log.messages), ("the text of an object", self._texts)):
            if any(reveals(text, secret) for text in texts for secret in self._secrets):
                yield f"{place} has a user's secret"

    async def source(self) -> list[str]:
        """Compare single reports with what the specification makes of the bytes that the system has drawn."""
        for number in range(_WATCHED):
            secret, path, (time_ms, *_) = self._user()
            held, system = self._held[number % len(self._held)], SystemRandomness()
            (sent,) = await self._one(path, secret, held, None, time_ms, system=system)
            words = system.words()
            try:
                expected = self._client.whole_row(secret, held, time_ms=time_ms, words=words)
            except (StopIteration, RuntimeError, ValueError):
                return ["a report has noise that is not drawn from the system's generator"]
            batch = read(sent.value)
            if batch.rows != [expected]:
                return ["the noise of a report is not made of the bytes that the system's generator gave for it"]
            if batch.batch_id not in system.drawn[4 * _used(words, system) :]:
                return ["a batch id is not made of bytes of the system's generator, or of some that are noise, too"]
        return []

    async def law(self) -> list[str]:
        """Compare how often bits are set in rows of users without a secret, and in as many of the specification."""
        problems = []
        generator = random.SystemRandom()
        fresh = iter(lambda: generator.getrandbits(32), None)
        for held in (self._held[0], self._held[-1]):
            sent = await self._many([held] * _ORDERED, None, None, START_MS)
            stated = [self._client.whole_row(None, held, time_ms=START_MS, words=fresh) for _ in range(_ORDERED // 4)]
            tables = [np.array([list(row) for row in rows], dtype=np.uint8) for rows in (_rows(sent), stated)]
            if len(tables[0]) and (bit := differing_bit(*tables)) is not None:
                problems.append(f"bit {bit} of the rows is not as often set as the specification has it")
        return problems

    async def order(self) -> list[str]:
        """Let users with one record come before as many with another, and compare both halves of the batch."""
        first, last = self._some(2)
        records = [first] * (_ORDERED // 2) + [last] * (_ORDERED // 2)
        problems = []
        for each in await self._many(records, None, None, START_MS):
            rows = np.array([list(row) for row in _rows([each])], dtype=np.uint8)
            bit = differing_bit(rows[: len(rows) // 2], rows[len(rows) // 2 :])
            if bit is not None:
                problems.append(f"bit {bit} is set more often in one half of a batch than in the other")
        return problems

    async def ids(self) -> list[str]:
        """Look at the ids of many batches of users with one record, and of others with another."""
        first, last = self._some(2)
        sent: list[Sent] = []
        for held in (first, last) * 4:
            sent += await self._many([held] * (_IDS // 8), None, None, START_MS, max_reports=1)
        # A sample of the users may be small: then there are fewer.
        ids = [each.key or b"" for each in sent]
        problems = list(id_problems(ids))
        if not problems:
            table = np.array([list(each) for each in ids], dtype=np.uint8)
            runs = np.array_split(table, 8)
            bit = differing_bit(np.concatenate(runs[::2]), np.concatenate(runs[1::2]))
            problems += [] if bit is None else [f"bit {bit} of the ids depends on the record"]
        return problems

    def _row(self, secret: bytes, held: Held, time_ms: int, word: int) -> bytes:
        return self._client.whole_row(secret, held, time_ms=time_ms, words=itertools.repeat(word))

    def _some(self, count: int, *, after: int = 0) -> list[Held]:
        """Return so many records: the first and the last, which differ in all that is hidden, and some between."""
        ends = [self._held[after % len(self._held)], self._held[-1 - after % len(self._held)]]
        between = self._held[1:-1] or self._held
        return [*ends, *(between[(7 * place + after) % len(between)] for place in range(count))][:count]

    def _user(self, *, terms: Terms = AGREED) -> tuple[bytes, Path, list[int]]:
        """Return a new user's secret and ledger file, and the times at which the collection asks the user."""
        secret = hashlib.sha256(b"audit %d" % next(self._users)).digest()
        self._secrets.append(secret)
        # Each day, or each cycle that is longer, has one turn.
        day_ms, shifts = max(DAY_MS, self._cycle_ms), range(self._client.turns.every or 1)
        days = (
            START_MS + day * day_ms + shift * self._client.turns.turn_ms
            for day in range(_MAX_DAYS)
            for shift in shifts
        )
        asked = (time_ms for time_ms in days if self._client.asks(secret, time_ms))
        return secret, self._ledger(secret, terms), list(itertools.islice(asked, _RESTARTS))

    async def _series(
        self,
        path: Path,
        secret: bytes,
        records: Sequence[Held],
        entropy: Entropy | None,
        time_ms: int,
        *,
        on_send: Any = None,
    ) -> list[Sent]:
        """Start a client for one series of reports, and return what it sends."""
        broker = self._broker(time_ms, on_send)
        ledger = PrivacyLedger.open(path, secret=secret)
        with connected(broker):
            async with Reporter(
                self._collection, settings=SETTINGS, secret=secret, ledger=ledger, entropy=entropy, clock=broker.clock
            ) as reporter:
                self._texts += [repr(reporter), repr(ledger)]
                await reporter.report_series([self._collection.encode(held) for held in records])
        return self._taken(broker)

    async def _one(
        self,
        path: Path,
        secret: bytes,
        held: Held,
        entropy: Entropy | None,
        time_ms: int,
        *,
        system: SystemRandomness | None = None,
    ) -> list[Sent]:
        broker = self._broker(time_ms)
        ledger = PrivacyLedger.open(path, secret=secret)
        watched = system or SystemRandomness()
        with connected(broker):
            async with Reporter(
                self._collection, settings=SETTINGS, secret=secret, ledger=ledger, entropy=entropy, clock=broker.clock
            ) as reporter:
                with watched.watched():
                    await reporter.report(held)
                    await reporter.flush()
        return self._taken(broker)

    async def _many(
        self,
        records: Sequence[Held],
        secrets: Sequence[bytes] | None,
        entropy: Entropy | None,
        time_ms: int,
        *,
        paths: Sequence[Path] | None = None,
        max_reports: int = _ORDERED,
        on_send: Any = None,
    ) -> list[Sent]:
        broker = self._broker(time_ms, on_send)
        ledgers = None
        if paths is not None and secrets is not None:
            ledgers = [PrivacyLedger.open(path, secret=secret) for path, secret in zip(paths, secrets, strict=True)]
        with connected(broker):
            async with Reporter(
                self._collection, settings=SETTINGS, entropy=entropy, clock=broker.clock, max_reports=max_reports
            ) as reporter:
                await reporter.report_many(records, secrets=secrets, ledgers=ledgers)
        return self._taken(broker)

    def _broker(self, time_ms: int, on_send: Any = None) -> MemoryBroker:
        broker = broker_of(self._collection)
        broker.now_ms, broker.on_send = time_ms, on_send
        return broker


def _rows(sent: Sequence[Sent]) -> list[bytes]:
    return [row for each in sent for row in read(each.value).rows]


def _used(words: Iterator[int], system: SystemRandomness) -> int:
    return len(system.drawn) // 4 - sum(1 for _ in words)
