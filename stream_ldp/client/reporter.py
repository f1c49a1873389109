"""The reporter of records of every kind: it gathers reports in batches, and raises every failure."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from stream_ldp.client.batcher import Batcher, most_reports
from stream_ldp.client.many_users import Charge, require_users, spend_each
from stream_ldp.client.sender import Sender, now_ms, of_kind
from stream_ldp.collection import Collection
from stream_ldp.collection.records import is_table
from stream_ldp.kinds import kind_of
from stream_ldp.ledger.ledger import TurnTaken
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.mechanisms import OSEntropy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from stream_ldp.collection.records import CollectionOfRecords
    from stream_ldp.collection.turns import Turn
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.ledger.receipt import Receipt
    from stream_ldp.ledger.reports import AttributeReport
    from stream_ldp.ledger.store import LedgerError
    from stream_ldp.ledger.terms import ReportRefused
    from stream_ldp.mechanisms import Entropy

log = logging.getLogger(__name__)


class Reporter(Sender):
    """A reporter sends reports of records to a collection of any kind whose users report them.

        secret, ledger = load_or_create_user("/home/ada/secret", terms=Terms(budget=4.0))
        async with Reporter(collection, settings=Settings.load(), secret=secret, ledger=ledger) as reporter:
            print(await reporter.report({"bathing": "no", "mobility": "some"}))

    What a report shows of a record, and what of it is repeated as long as the record does not change, the collection
    says: see `stream_ldp.pipeline.kind.Reports`.

    A record is perturbed before `report` returns or waits; from then on there are only its noisy bits. A method
    that waits may be cancelled, and several tasks may share a reporter.

    A report is counted in the ledger before it leaves, and stays counted when it is lost on its way or the call is
    cancelled. A report beyond the ledger's terms is refused.

    A collection file that differs from the registered one in what a report means raises WrongCollection at the
    beginning of the block, before anything is spent or sent; so does the next report, if the collection is registered
    later.

    Nothing is lost silently. When a batch is not acknowledged within `delivery_timeout`, nothing more is sent: the
    next call raises DeliveryError before it takes or counts anything, and so does every later one and the end of the
    `async with` block. All reports that were taken are either in `acknowledged` or among those that the error counts.
    Make a new reporter to go on.
    """

    def __init__(
        self,
        collection: CollectionOfRecords,
        *,
        settings: Settings,
        secret: bytes | None = None,
        ledger: PrivacyLedger | None = None,
        entropy: Entropy | None = None,
        clock: Callable[[], int] = now_ms,
        max_reports: int = 1_000,
        linger: float = 0.2,
        max_in_flight: int = 64,
        delivery_timeout: float = 30.0,
    ) -> None:
        """Prepare for one collection; reports are taken inside the `async with` block.

        secret: secret of the one user whose records `report` takes, 32 bytes; see `load_or_create_secret`.
        ledger: that user's ledger. Without one, a ledger in memory does not let their record change, counts only what
            this reporter sends, and has the default budget, `DEFAULT_BUDGET` nats.
        entropy: source of the noise; the operating system's unless this is a simulation.
        clock: event time of a report, in milliseconds since 1970-01-01 UTC.
        max_reports: the most reports of one batch; fewer where they are so wide that they would not fit a record.
        linger: seconds that a report waits for others to share its batch.
        max_in_flight: the most batches on their way at once; beyond it, `report` waits.
        delivery_timeout: seconds after which a batch that is not acknowledged is lost.

        Raises:
            TypeError: it is no collection, or users report something else than records to it.
            ValueError: the secret is malformed, or the ledger belongs to a user with another secret.
        """
        kind = kind_of(of_kind(collection, Collection, client=self))
        if kind.reports is None:
            raise TypeError(
                f"Reporter: users report no records to {collection.name}, of type {type(collection).__name__}, but "
                "answer its rounds: use ItemReporter"
            )
        super().__init__(
            collection,
            settings=settings,
            entropy=entropy,
            clock=clock,
            max_in_flight=max_in_flight,
            delivery_timeout=delivery_timeout,
        )
        self._collection = collection
        self._reports, self._charges = kind.reports, kind.charges
        self._secret = secret
        self._ledger = _ledger_of(secret, ledger)
        self._linger = linger
        self._max_reports = min(max_reports, most_reports(collection.bits))
        # Batch ids never come from a seed: a second simulation with the same one would repeat the ids of the first,
        # and its batches would be taken for copies and not be counted.
        self._batcher = Batcher(collection, max_reports=self._max_reports, entropy=OSEntropy())
        self._timer: asyncio.TimerHandle | None = None
        self._open = False

    async def __aenter__(self) -> Self:
        """Connect; see `Sender`, also for what it raises."""
        await super().__aenter__()
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Flush and disconnect, also after an exception: what was reported before it was meant to be sent.

        Raises:
            DeliveryError: reports were lost.
        """
        # At once: a report that another task made while this waits would be gathered, and never leave.
        self._open = False
        try:
            await self._flush()
        finally:
            if self._timer is not None:
                self._timer.cancel()
            await super().__aexit__(kind, error, traceback)

    async def report(self, record: Mapping[str, Any]) -> Receipt | None:
        """Report one record of the user whose secret this reporter has, if the user is asked.

        record: a value for each attribute of the collection: text, or a number where it has bins or a range; None
            where it is missing.

        Returns:
            A receipt for the user: what leaves, what it tells at most, and what is left of the budget. None where it
            is not reported: where the collection asks a sample of its users, or users take turns, most are not asked
            at a time, and then nothing is sent, and nothing charged. Nor is it where the user has had the turn, which
            the ledger remembers.

        Raises:
            ValueError: the record does not fit the collection, there is no secret, or there are several records in a
                turn.
            LinkingRefused, TooManyValues, BudgetExceeded: the ledger's terms do not allow it; it is not sent.
            LedgerError: the ledger cannot be read or written; the report is not sent.
            DeliveryError: reports were lost; this one is not sent, nor counted in the ledger unless the loss came
                in between.
            RuntimeError: the reporter is closed.
        """
        return await self.report_series([self._collection.encode(record)])

    async def report_series(self, records: NDArray[Any] | Sequence[Sequence[Any]]) -> Receipt | None:
        """Report several records of the user whose secret this reporter has, all or none of them.

        records: as the collection's `encode` gives them, or a table of them, as its `table` makes it.

        Returns what `report` returns, and raises what it raises.
        """
        if self._secret is None or self._ledger is None:
            raise ValueError(
                "a report of one user needs the user's secret: "
                "Reporter(..., secret=load_or_create_secret(path)); "
                "for users who report once in their life, use report_many(..., secrets=None)"
            )
        await self._check()
        await self._registration.check()
        table = self._collection.table(records)
        time_ms = self._clock()
        if self._collection.rotate is not None and len(table) > 1:
            raise ValueError(f"a user of {self._collection.name} reports once in a turn: give one record")
        if not len(table) or not self._collection.asks([self._secret], time_ms=time_ms)[0]:
            return None
        memoises = self._ledger.terms.memoises
        rows = self._rows(table, secrets=[self._secret] * len(table), memoises=memoises, time_ms=time_ms)
        reports = self._charged(table, secret=self._secret, ledger=self._ledger)
        # In a thread: a file is only written when the disk says so, and the event loop would wait for it.
        turn = self._turn(time_ms)
        try:
            receipt = await asyncio.to_thread(self._ledger.spend, reports, time_ms=time_ms, turn=turn)
        except TurnTaken as refusal:
            log.info("%s", refusal)
            return None
        await self._gather(rows, time_ms=time_ms)
        return replace(receipt, rows=tuple(row.tobytes() for row in rows))

    async def report_many(
        self,
        records: Any,
        *,
        secrets: Sequence[bytes] | None,
        ledgers: Sequence[PrivacyLedger] | None = None,
        on_refused: Callable[[int, ReportRefused | LedgerError], None] | None = None,
    ) -> int:
        """Report one record for each of many users who are asked, as a backend does for its users.

        With their ledgers, each report is counted in its user's before it leaves, and a user whose terms do not allow
        it is left out. Without, what they spend is not counted here, which is logged as a warning.

        records: one of each user: a DataFrame or another table, or a sequence of records, as `encode_many` takes
            them, of which none may lack a value; or what is encoded already, as for `report_series`.
        secrets: the secret of each user, in the order of the records. None draws every permanent response afresh,
            which is right only for users who never report again: the noise of two such reports averages out.
        ledgers: the ledger of each user, in the same order; see `load_or_create_user`.
        on_refused: called with the place of each user, from 0 on, whose report is not sent since their terms do not
            allow it or their ledger cannot be used. None to raise the first of these, once all others are taken.

        Returns:
            Number of users who were asked and have reported.

        Raises:
            DataError: a record of a table does not fit the collection; none is sent.
            ValueError: an encoded value is not one of its attribute's (the batches before it are sent), there is not
                one secret and one ledger for each user, a ledger is of a user with another secret, or a secret
                belongs to the user of `report`, whose ledger would not count it.
            LinkingRefused, TooManyValues, BudgetExceeded, LedgerError: see `on_refused`.
            DeliveryError: reports were lost; these are not all sent.
            RuntimeError: the reporter is closed.
        """
        await self._check()
        await self._registration.check()
        known = self._collection
        table = known.encode_many(records).table if is_table(records) else known.table(records)
        require_users(len(table), secrets=secrets, ledgers=ledgers, other=self._secret)
        if ledgers is None:
            self._warn_untracked()
        reported = 0
        refused: dict[int, ReportRefused | LedgerError] = {}
        for start in range(0, len(table), self._max_reports):
            await self._check()
            places = range(start, min(start + self._max_reports, len(table)))
            time_ms = self._clock()
            if secrets is None:
                asked = known.asks_some(len(places), entropy=self._entropy)
                rows = self._rows(
                    table[places.start : places.stop][asked], secrets=None, memoises=True, time_ms=time_ms
                )
            else:
                asked = known.asks(secrets[places.start : places.stop], time_ms=time_ms)
                users = [place for place, is_asked in zip(places, asked.tolist(), strict=True) if is_asked]
                if ledgers is None:
                    of_users = [secrets[user] for user in users]
                    rows = self._rows(table[users], secrets=of_users, memoises=True, time_ms=time_ms)
                else:
                    rows, why = await self._counted(table, users, secrets=secrets, ledgers=ledgers, time_ms=time_ms)
                    refused |= {place: each for place, each in why.items() if not isinstance(each, TurnTaken)}
            await self._gather(rows, time_ms=time_ms)
            reported += len(rows)
        for place in sorted(refused):
            if on_refused is None:
                raise refused[place]
            on_refused(place, refused[place])
        return reported

    async def _counted(
        self,
        table: NDArray[Any],
        users: Sequence[int],
        *,
        secrets: Sequence[bytes],
        ledgers: Sequence[PrivacyLedger],
        time_ms: int,
    ) -> tuple[NDArray[np.uint8], dict[int, ReportRefused | LedgerError]]:
        """Perturb the records of some users, and count each in its ledger.

        users: places of their records, secrets and ledgers.

        Returns:
            The rows of those who may report; and why the others may not, by place.
        """
        # The terms may change while this waits: the noise and the charge have to be under the same.
        rows, charges = [], []
        for memoises in (True, False):
            alike = [user for user in users if ledgers[user].terms.memoises is memoises]
            of_users = [secrets[user] for user in alike]
            rows.append(self._rows(table[alike], secrets=of_users, memoises=memoises, time_ms=time_ms))
            for user in alike:
                shown = self._charged(table[user : user + 1], secret=secrets[user], ledger=ledgers[user])
                charges.append(Charge(place=user, ledger=ledgers[user], reports=tuple(shown)))
        # In a thread: a file is only written when the disk says so, and the event loop would wait for it.
        refused = await asyncio.to_thread(spend_each, charges, time_ms=time_ms, turn=self._turn(time_ms))
        allowed = np.array([charge.place not in refused for charge in charges], dtype=np.bool_)
        return np.concatenate(rows)[allowed], refused

    def _turn(self, time_ms: int) -> Turn | None:
        """Return the turn at a time, of the users who have it; None where users take no turns."""
        return self._collection.turn(time_ms // self._collection.turn_ms)

    def _rows(
        self, table: NDArray[Any], *, secrets: Sequence[bytes] | None, memoises: bool, time_ms: int
    ) -> NDArray[np.uint8]:
        """Make the rows of a batch, one of each record; see `stream_ldp.pipeline.kind.Reports`."""
        return self._reports(
            self._collection, table, secrets=secrets, memoises=memoises, time_ms=time_ms, entropy=self._entropy
        )

    def _charged(self, table: NDArray[Any], *, secret: bytes, ledger: PrivacyLedger) -> tuple[AttributeReport, ...]:
        """Describe what reports of these records of one user show, for the user's ledger."""
        shown: tuple[AttributeReport, ...] = self._charges(
            self._collection, table, secret=secret, tag_key=ledger.tag_key
        )
        return shown

    async def flush(self) -> int:
        """Send what is gathered and wait until all of it is acknowledged.

        Returns:
            Number of reports that the brokers have acknowledged: all that this reporter has taken.

        Raises:
            DeliveryError: reports were lost.
            RuntimeError: the reporter is closed.
        """
        self._require_open()
        return await self._flush()

    async def _flush(self) -> int:
        if batch := self._batcher.cut():
            await self._outbox.publish([batch])
        return await self._outbox.flush()

    async def _check(self) -> None:
        """Look for losses before anything is taken."""
        self._require_open()
        if self._outbox.lost:
            self._give_up_gathered()
        await self._outbox.check()

    async def _gather(self, rows: NDArray[np.uint8], *, time_ms: int) -> None:
        """Let rows wait for their batch to fill, unless reports were lost or the block has ended meanwhile."""
        await self._check()
        complete = self._batcher.add(rows, time_ms=time_ms)
        self._start_timer()
        await self._outbox.publish(complete)

    def _require_open(self) -> None:
        if not self._open:
            raise RuntimeError("the reporter is not open: use it inside its `async with` block")

    def _start_timer(self) -> None:
        if self._timer is None and self._batcher.count:
            self._timer = asyncio.get_running_loop().call_later(self._linger, self._linger_over)

    def _give_up_gathered(self) -> None:
        """Count what waits for its batch to fill as lost."""
        if batch := self._batcher.cut():
            self._outbox.send(batch)

    def _linger_over(self) -> None:
        self._timer = None
        if self._outbox.lost:
            self._give_up_gathered()
            return
        # A batch for which there is no room goes on filling; once it is full, `report` waits.
        if not self._outbox.full and (batch := self._batcher.cut()):
            self._outbox.send(batch)
        self._start_timer()


def _ledger_of(secret: bytes | None, ledger: PrivacyLedger | None) -> PrivacyLedger | None:
    if secret is None:
        if ledger is not None:
            raise ValueError("a ledger counts what is reported with one user's secret: give both")
        return None
    if ledger is None:
        return PrivacyLedger.in_memory(secret=secret)
    if not ledger.is_of(secret):
        raise ValueError("the ledger is of a user with another secret: give the two that belong together")
    return ledger
