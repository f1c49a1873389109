"""The reporter of collections of every kind: it gathers reports in batches, and raises every failure."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from stream_ldp.client.batcher import Batcher, most_reports
from stream_ldp.client.many_users import OnReceipt, OnRefused, Refusal, counted_rows, report_refused, require_users
from stream_ldp.client.outbox import Outbox
from stream_ldp.client.perturber import Perturber
from stream_ldp.client.registration import RegistrationCheck
from stream_ldp.collection import Collection
from stream_ldp.kinds import kind_of
from stream_ldp.ledger.ledger import TurnTaken
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import DEFAULT_BUDGET
from stream_ldp.mechanisms import OSEntropy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.client.respondent import Respondent
    from stream_ldp.client.respondents import Respondents
    from stream_ldp.client.round_feed import RoundFeed
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.ledger.receipt import Receipt
    from stream_ldp.mechanisms import Entropy

log = logging.getLogger(__name__)


def now_ms() -> int:
    """Return the time of day, in milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


class Reporter:
    """A reporter sends reports to a collection of any kind.

        secret, ledger = load_or_create_user("/home/ada/secret", terms=Terms(budget=4.0))
        async with Reporter(collection, settings=Settings.load(), secret=secret, ledger=ledger) as reporter:
            print(await reporter.report({"bathing": "no", "mobility": "some"}))

    What a report shows of a record, and what of it is repeated as long as the record does not change, the collection
    says: see `stream_ldp.pipeline.kind.Reports`.

    A collection of item sets asks in rounds, one for each phase of an epoch. There, `report` says what the user holds
    from now on, and reports leave by themselves until the end of the block, one to each round that asks the user:

        async with Reporter(films, settings=Settings.load(), secret=secret, ledger=ledger) as reporter:
            await reporter.report({"Alien", "Brazil"})
            await reporter.stopped()

    Each is made from the set that is held at that moment, and a user who comes late reports to the rounds that are
    still open. Privacy does not depend on what the service asks: the collection's own method perturbs a report at the
    collection's own epsilon. The ledger refuses a second report to the same phase of an epoch, also after a restart.
    Rounds that the collection never asks are logged, counted in `refused`, and get no report. A round that the budget
    does not cover is passed over with a warning. A cheaper round may still get a report, and so may a round of the
    next day where only the budget of the day is spent. When the budget pays for none, reporting ends: `report` and
    `stopped` raise BudgetExceeded. The end of the block does not, since nothing was lost. Anything else that ends
    reporting is raised by `report`, by `stopped` and by the end of the block.

    A record is perturbed before `report` returns or waits; from then on there are only its noisy bits. A method
    that waits may be cancelled, and several tasks may share a reporter.

    A report is counted in the ledger before it leaves, and stays counted when it is lost on its way or the call is
    cancelled. A report beyond the ledger's terms is refused.

    If the meaning of a report differs between this collection file and the registered one, the block raises
    WrongCollection at its beginning, before anything is spent or sent. If the collection is registered later, the
    next report raises it.

    Nothing is lost silently. When a batch is not acknowledged within `delivery_timeout`, nothing more is sent. Every
    later call raises DeliveryError before it takes or counts anything, and so does the end of the `async with` block.
    All reports that were taken are either in `acknowledged` or among those that the error counts. Make a new reporter
    to go on.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        settings: Settings,
        secret: bytes | None = None,
        ledger: PrivacyLedger | None = None,
        entropy: Entropy | None = None,
        clock: Callable[[], int] = now_ms,
        spread: bool = True,
        on_report: Callable[[Any], None] | None = None,
        max_reports: int = 1_000,
        linger: float = 0.2,
        max_in_flight: int = 64,
        delivery_timeout: float = 30.0,
    ) -> None:
        """Prepare for one collection; reports are taken inside the `async with` block.

        secret: secret of the one user whose records `report` takes, 32 bytes; see `load_or_create_secret`.
        ledger: that user's ledger. Without one, a ledger in memory does not let their record change, counts only what
            this reporter sends, and has the default budget, `DEFAULT_BUDGET` nats. Rounds need one in a file: one in
            memory forgets at the end of the process which rounds have had a report.
        entropy: source of the noise and of random moments; the operating system's unless this is a simulation.
        clock: event time of a report, in milliseconds since 1970-01-01 UTC.
        spread: answer a round at a random moment of what is left of its window, so that not all users report at once.
        on_report: called with the round of every report of the one user that the brokers have acknowledged.
        max_reports: the most reports of one batch; fewer where they are so wide that they would not fit a record.
        linger: seconds that a report waits for others to share its batch.
        max_in_flight: the most batches on their way at once; beyond it, `report` waits.
        delivery_timeout: seconds after which a batch that is not acknowledged is lost.

        Raises:
            TypeError: it is no collection.
            ValueError: the secret is malformed, the ledger belongs to a user with another secret, or there is none
                and the collection asks in rounds.
        """
        if not isinstance(collection, Collection):
            # Not what was given, which may be a record.
            raise TypeError(
                "Reporter: give a collection, as load_collection reads it from a file, not a "
                f"{type(collection).__name__}"
            )
        kind = kind_of(collection)
        if kind.rounds is not None and secret is not None and ledger is None:
            raise ValueError(
                f"{collection.name} asks in rounds, and only a ledger remembers which have had a report: "
                "Reporter(..., ledger=ledger), with the secret and the ledger of load_or_create_user"
            )
        ledger = _ledger_of(secret, ledger, simulated=entropy is not None)
        self._entropy = entropy or OSEntropy()
        self._uncounted = entropy is None
        self._clock = clock
        self._outbox = Outbox(
            settings.topic_names.reports(collection.name),
            settings=settings,
            max_in_flight=max_in_flight,
            delivery_timeout=delivery_timeout,
        )
        self._registration = RegistrationCheck(collection, settings=settings)
        # What is opened and closed with the block beside the outbox.
        self._also: Sequence[AbstractAsyncContextManager[Any]] = ()
        self._connections = AsyncExitStack()
        self._collection: Any = collection
        self._in_rounds = kind.rounds is not None
        self._settings = settings
        self._perturber = Perturber(collection, entropy=self._entropy)
        self._spread = spread
        self._receipt: Receipt | None = None
        self._feed: RoundFeed | None = None
        self._respondent: Respondent | None = None
        if self._in_rounds and secret is not None and ledger is not None:
            # Not imported above: most collections do not ask in rounds.
            from stream_ldp.client.respondent import Respondent  # noqa: PLC0415
            from stream_ldp.client.round_feed import RoundFeed  # noqa: PLC0415

            self._feed = RoundFeed(collection, settings=settings, clock=clock)
            self._respondent = Respondent(
                collection,
                feed=self._feed,
                outbox=self._outbox,
                registration=self._registration,
                perturber=self._perturber,
                secret=secret,
                ledger=ledger,
                entropy=self._entropy,
                clock=clock,
                spread=spread,
                on_report=on_report,
            )
            self._also = [self._feed, self._respondent]
        self._secret = secret
        self._ledger = ledger
        self._linger = linger
        self._max_reports = min(max_reports, most_reports(kind.layout(collection).bits))
        # Batch ids never come from a seed: a second simulation with the same one would repeat the ids of the first,
        # and its batches would be taken for copies and not be counted.
        self._batcher = Batcher(collection, max_reports=self._max_reports, entropy=OSEntropy())
        self._timer: asyncio.TimerHandle | None = None
        self._open = False

    async def __aenter__(self) -> Self:
        """Connect, and compare the collection with the registered one.

        Raises:
            BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
            MissingTopic: a topic of the collection does not exist.
            WrongCollection: the collection is not the one that is registered.
            RegistryError: the registry cannot be read.
        """
        async with AsyncExitStack() as opened:
            for each in (self._outbox, *self._also):
                await opened.enter_async_context(each)
            await self._registration.check()
            self._connections = opened.pop_all()
        self._open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        """Flush and disconnect, also after an exception: what was reported before it was meant to be sent.

        Raises:
            DeliveryError: reports were lost.
            WrongCollection, LedgerError, KafkaError: this error had ended the reports to rounds.
        """
        # At once: a report that another task made while this waits would be gathered, and never leave.
        self._open = False
        try:
            await self._flush()
        finally:
            if self._timer is not None:
                self._timer.cancel()
            await self._connections.aclose()
        if self._respondent is not None:
            self._respondent.raise_failure()

    @property
    def acknowledged(self) -> int:
        """Number of reports that the brokers have acknowledged."""
        return self._outbox.acknowledged

    @property
    def receipt(self) -> Receipt | None:
        """That of the last report of the one user, for the user alone; None before the first."""
        return self._receipt if self._respondent is None else self._respondent.receipt

    @property
    def refused(self) -> int:
        """Number of rounds that got no report of the one user because the collection never asks them."""
        return 0 if self._feed is None else self._feed.refused

    async def report(self, record: Mapping[str, Any] | Iterable[Any]) -> Receipt | None:
        """Report what holds of the user whose secret this reporter has, if the user is asked.

        To a collection that asks in rounds, this reports to each of them from now on, in place of what held before.

        record: a value for each attribute of the collection: text, or a number where it has bins or a range; None
            where it is missing. Of a collection of item sets, the names of the items, perhaps none; of a set that is
            larger than the collection's `set_size`, each item is reported on less often.

        Returns:
            A receipt for the user: what leaves, what it reveals at most, and what is left of the budget. None if the
            user is not asked: where the collection samples its users, or users take turns, most are not asked at a
            time. Then nothing is sent and nothing charged. Nor is it where the user has had the turn, which the
            ledger remembers. None where rounds are answered later: see `receipt`.

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
                "a report of one user needs the user's secret: Reporter(..., secret=load_or_create_secret(path)); "
                "for users who report once in their life, use report_many(..., secrets=None)"
            )
        table = self._collection.table(records)
        if self._respondent is not None:
            self._hold(self._respondent, table)
            return None
        await self._check()
        await self._registration.check()
        time_ms = self._clock()
        if self._collection.rotate is not None and len(table) > 1:
            raise ValueError(f"a user of {self._collection.name} reports once in a turn: give one record")
        if not len(table) or not self._collection.asks([self._secret], time_ms=time_ms)[0]:
            return None
        memoises = self._ledger.terms.memoises
        secrets = [self._secret] * len(table)
        rows = self._perturber.rows(table, secrets=secrets, memoises=memoises, time_ms=time_ms)
        reports = self._perturber.charges(table, secret=self._secret, ledger=self._ledger)
        # In a thread: a file is only written when the disk says so, and the event loop would wait for it.
        turn = self._perturber.turn(time_ms)
        try:
            receipt = await asyncio.to_thread(self._ledger.spend, reports, time_ms=time_ms, turn=turn)
        except TurnTaken as refusal:
            log.info("%s", refusal)
            return None
        await self._gather(rows, time_ms=time_ms)
        self._receipt = replace(receipt, rows=tuple(row.tobytes() for row in rows))
        return self._receipt

    def _hold(self, respondent: Respondent, table: Any) -> None:
        """Report to rounds on what the one row of a table says."""
        self._require_open()
        if len(table) != 1:
            raise ValueError(f"a user of {self._collection.name} holds one set at a time: {len(table)} are given")
        respondent.hold(table)

    async def stopped(self) -> None:
        """Wait until reporting to rounds ends: by a failure, by a spent budget, or by the end of the block.

        It returns at once where nothing is reported to rounds: there, nothing leaves by itself.

        Raises:
            BudgetExceeded: the budget pays for no further report.
            DeliveryError, WrongCollection, LedgerError, KafkaError: this error has ended reporting.
            RuntimeError: the reporter is closed.
        """
        self._require_open()
        if self._respondent is not None:
            await self._respondent.stopped()

    async def report_many(
        self,
        records: Any,
        *,
        secrets: Sequence[bytes] | None,
        ledgers: Sequence[PrivacyLedger] | None = None,
        on_refused: OnRefused | None = None,
        on_receipt: OnReceipt | None = None,
        epochs: float = 1,
        on_round: Callable[[Any, int], None] | None = None,
    ) -> int:
        """Report for each of many users who are asked, as a backend does for its users.

        To a collection that asks in rounds, they report to all rounds of some epochs, from the first in which all
        have time to report. The call returns when the last epoch has ended.

        With their ledgers, each report is counted in its user's before it leaves, and a user whose terms do not allow
        it is left out. Without, what they spend is not counted here, which is logged as a warning.

        records: one of each user, none of them without a value: a DataFrame or another table, or a sequence of
            records, as `encode_many` takes them; or encoded records, as for `report_series`. Of a collection of item
            sets, a set of names of each user.
        secrets: the secret of each user, in the order of the records. None draws every permanent response afresh,
            for this call, which is right only for users who report through nothing else: the noise of two such
            reports averages out.
        ledgers: the ledger of each user, in the same order; see `load_or_create_user`.
        on_refused: called with the place of each user, from 0 on, whose report is not sent since their terms do not
            allow it or their ledger cannot be used. None to raise the first of these, once all others are taken,
            or once all others have answered the round.
        on_receipt: called for each report that is counted and about to leave, with the user's position in `records`
            and the receipt, which only that user may see; never called without ledgers.
        epochs: number of epochs whose rounds are answered; math.inf to go on forever.
        on_round: called after every round with it and the number of users who reported.

        Returns:
            Number of reports: of users who were asked and have reported, and, to rounds, of all their reports.

        Raises:
            DataError: a record of a table does not fit the collection; none is sent.
            ValueError: an encoded value is not one of its attribute's (the batches before it are sent); there is not
                one secret and one ledger for each user; a ledger is of a user with another secret; a secret belongs
                to the user of `report`, whose ledger would not count it; or there are epochs without rounds.
            LinkingRefused, TooManyValues, BudgetExceeded, LedgerError: see `on_refused`.
            DeliveryError: reports were lost; these are not all sent.
            RuntimeError: the reporter is closed.
        """
        known = self._collection
        if self._in_rounds:
            respondents = self.respondents(
                records, secrets=secrets, ledgers=ledgers, on_refused=on_refused, on_receipt=on_receipt
            )
            return await respondents.run(epochs=epochs, on_round=on_round)
        if epochs != 1 or on_round is not None:
            raise ValueError(f"{known.name} does not ask in rounds, so it has no epochs: leave them out")
        await self._check()
        await self._registration.check()
        table = known.users(records)
        require_users(len(table), secrets=secrets, ledgers=ledgers, other=self._secret)
        if ledgers is None:
            self._warn_untracked()
        reported = 0
        refused: dict[int, Refusal] = {}
        for start in range(0, len(table), self._max_reports):
            await self._check()
            places = range(start, min(start + self._max_reports, len(table)))
            time_ms = self._clock()
            if secrets is None:
                asked = known.asks_some(len(places), entropy=self._entropy)
                rows = self._perturber.rows(
                    table[places.start : places.stop][asked], secrets=None, memoises=True, time_ms=time_ms
                )
            else:
                asked = known.asks(secrets[places.start : places.stop], time_ms=time_ms)
                users = [place for place, is_asked in zip(places, asked.tolist(), strict=True) if is_asked]
                if ledgers is None:
                    of_users = [secrets[user] for user in users]
                    rows = self._perturber.rows(table[users], secrets=of_users, memoises=True, time_ms=time_ms)
                else:
                    rows, why = await counted_rows(
                        self._perturber,
                        table,
                        users,
                        secrets=secrets,
                        ledgers=ledgers,
                        time_ms=time_ms,
                        on_receipt=on_receipt,
                    )
                    refused |= why
            await self._gather(rows, time_ms=time_ms)
            reported += len(rows)
        report_refused(refused, on_refused)
        return reported

    def respondents(
        self,
        records: Any,
        *,
        secrets: Sequence[bytes] | None,
        ledgers: Sequence[PrivacyLedger] | None = None,
        on_refused: OnRefused | None = None,
        on_receipt: OnReceipt | None = None,
    ) -> Respondents:
        """Return many users who answer rounds one by one, for what `report_many` does not do with them.

        Its parameters are those of `report_many`, whose users are gone when it returns. Who has no secret has the
        same permanent responses, and is asked by the same phases of an epoch, as long as these users live.

        Raises:
            DataError, ValueError: see `report_many`; or the collection does not ask in rounds.
            RuntimeError: the reporter is closed.
        """
        self._require_open()
        if not self._in_rounds:
            raise ValueError(f"{self._collection.name} does not ask in rounds: use report_many")
        table = self._collection.users(records)
        require_users(len(table), secrets=secrets, ledgers=ledgers, other=self._secret)
        if ledgers is None:
            self._warn_untracked()
        from stream_ldp.client.respondents import Respondents  # noqa: PLC0415  as above

        return Respondents(
            self._collection,
            table,
            settings=self._settings,
            outbox=self._outbox,
            registration=self._registration,
            perturber=self._perturber,
            secrets=secrets,
            ledgers=ledgers,
            on_refused=on_refused,
            on_receipt=on_receipt,
            entropy=self._entropy,
            clock=self._clock,
            spread=self._spread,
            max_reports=self._max_reports,
        )

    def _warn_untracked(self) -> None:
        """Warn once that nobody tracks the budgets of these users, unless they are simulated."""
        if self._uncounted:
            self._uncounted = False
            log.warning(
                "privacy budgets are not tracked, since no ledgers were given, so a user may report again and again: "
                "give `ledgers`, or track budgets where the users are"
            )

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


def _ledger_of(secret: bytes | None, ledger: PrivacyLedger | None, *, simulated: bool) -> PrivacyLedger | None:
    if secret is None:
        if ledger is not None:
            raise ValueError("a ledger counts what is reported with one user's secret: give both")
        return None
    if ledger is None:
        if not simulated:
            log.warning(
                "the ledger is in memory alone, so each start of the program begins with a new budget of %g nats: "
                "give `ledger`, as load_or_create_user returns it with the secret",
                DEFAULT_BUDGET,
            )
        return PrivacyLedger.in_memory(secret=secret)
    if not ledger.is_of(secret):
        raise ValueError("the ledger is of a user with another secret: give the two that belong together")
    return ledger
