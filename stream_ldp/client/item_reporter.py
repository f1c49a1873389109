"""Report for one user to an item collection, phase after phase."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.client.batcher import batch_of
from stream_ldp.client.round_feed import RoundFeed, closes_ms
from stream_ldp.client.sender import Sender, now_ms, of_kind
from stream_ldp.ledger.ledger import AlreadyReported, TurnTaken
from stream_ldp.ledger.terms import BudgetExceeded, TooManyValues
from stream_ldp.mechanisms import OSEntropy
from stream_ldp.mechanisms.randomness.user_partition import partition_words
from stream_ldp.sets.charges import charges
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.permanent import permanent_words
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.ledger.ledger_file import PrivacyLedger
    from stream_ldp.ledger.receipt import Receipt
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.rounds import Round

log = logging.getLogger(__name__)


class ItemReporter(Sender):
    """An item reporter reports on one user's set of items, in each phase of a collection's epochs that asks the user.

        secret, ledger = load_or_create_user("/home/ada/secret", terms=Terms(budget=4.0))
        async with ItemReporter(films, settings=Settings.load(), secret=secret, ledger=ledger) as reporter:
            await reporter.hold({"Alien", "Brazil"})
            await reporter.stopped()

    Reports leave by themselves, from the first `hold` to the end of the `async with` block: each phase that asks the
    user gets one report, made from the set held at that moment, of which only one perturbed value is sent. A user who
    comes late reports in the phases that are still open.

    Privacy does not depend on what the service says. A report is perturbed by the collection's own method at the
    collection's own epsilon, and counted in the ledger before it leaves; the ledger refuses a second report to the
    same phase of an epoch, also after a restart. Rounds that the collection never asks are logged, counted in
    `refused`, and get no report.

    When the budget does not pay for a phase, the phase is passed over with a warning; a cheaper phase may still get a
    report, and where it is the budget of a day that is spent, a phase of the next day. When the budget pays for no
    phase, reporting ends: `hold` and `stopped` raise BudgetExceeded. The end of the block does not, since nothing was
    lost. Anything else that ends reporting, such as brokers that do not
    acknowledge a report or a ledger that cannot be written, is raised by `hold`, by `stopped` and by the end of the
    block.
    """

    def __init__(
        self,
        collection: ItemCollection,
        *,
        settings: Settings,
        secret: bytes,
        ledger: PrivacyLedger,
        entropy: Entropy | None = None,
        clock: Callable[[], int] = now_ms,
        spread: bool = True,
        on_report: Callable[[Round], None] | None = None,
        delivery_timeout: float = 30.0,
    ) -> None:
        """Take the user; they report inside the `async with` block, once they hold a set.

        secret: the user's secret, 32 bytes; see `load_or_create_user`.
        ledger: that user's ledger, in a file: one in memory forgets the reports at the end of the process.
        entropy: source of the noise and of the random moments; the operating system's unless this is a simulation.
        clock: event time, in milliseconds since 1970-01-01 UTC.
        spread: report at a random moment of what is left of a phase's window, so that not all users report at once.
        on_report: called with the round of every report that the brokers have acknowledged.
        delivery_timeout: seconds after which a report that is not acknowledged is lost.

        Raises:
            TypeError: it is no collection of item sets.
            ValueError: the secret is malformed, or the ledger belongs to a user with another secret.
        """
        collection = of_kind(collection, ItemCollection, client=self)
        if not ledger.is_of(secret):
            raise ValueError("the ledger is of a user with another secret: give the two that belong together")
        self._feed = RoundFeed(collection, settings=settings, clock=clock)
        super().__init__(
            collection,
            settings=settings,
            entropy=entropy,
            clock=clock,
            max_in_flight=1,
            delivery_timeout=delivery_timeout,
            also=[self._feed],
        )
        self._collection = collection
        self._secret = secret
        self._ledger = ledger
        self._spread = spread
        self._on_report = on_report
        #: That of the last report, for its user; None before the first.
        self.receipt: Receipt | None = None
        self._set: ItemSets | None = None
        self._holds = asyncio.Event()
        self._reporting = asyncio.Lock()
        # By epoch and phase: when to report, and on what.
        self._due: dict[tuple[int, int], tuple[int, Round]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def refused(self) -> int:
        """Number of rounds that got no report because the collection never asks them."""
        return self._feed.refused

    async def __aenter__(self) -> Self:
        """Connect; raises what `Sender` raises."""
        await super().__aenter__()
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect, once a report that is under way has left; a report that is not due yet is not sent.

        Raises:
            DeliveryError, WrongCollection, LedgerError, KafkaError: this error had ended reporting.
        """
        task, self._task = self._task, None
        if task is None:
            return
        try:
            # A report that is counted must be sent.
            async with self._reporting:
                task.cancel()
            await asyncio.wait([task])
        finally:
            # Again: this may have been cancelled while it waited, and the task would go on without a connection.
            task.cancel()
            await super().__aexit__(kind, error, traceback)
        if not task.cancelled() and not isinstance(task.exception(), BudgetExceeded):
            task.result()

    async def hold(self, items: Iterable[str]) -> None:
        """Report on this set of items from now on, in place of the set before.

        The set may be empty, and larger than the collection's `set_size`: each item of a larger set is reported on
        less often.

        Raises:
            ValueError: an item is not one of the collection's; the message never repeats it.
            BudgetExceeded: the budget pays for no further report.
            DeliveryError, WrongCollection, LedgerError, KafkaError: this error has ended reporting.
            RuntimeError: the reporter is closed.
        """
        task = self._running()
        if task.done():
            task.result()
        self._set = ItemSets.of([self._collection.encode(items)])
        self._holds.set()

    async def stopped(self) -> None:
        """Wait until reporting ends: by a failure, by a spent budget, or by the end of the block.

        Raises:
            BudgetExceeded: the budget pays for no further report.
            DeliveryError, WrongCollection, LedgerError, KafkaError: this error has ended reporting.
            RuntimeError: the reporter is closed.
        """
        task = self._running()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    def _running(self) -> asyncio.Task[None]:
        if self._task is None:
            raise RuntimeError("the reporter is not open: use it inside its `async with` block")
        return self._task

    async def _follow(self) -> None:
        await self._holds.wait()
        while True:
            next_ms = min((due_ms for due_ms, _ in self._due.values()), default=None)
            asked = await self._feed.next(until_ms=next_ms)
            if asked is not None:
                self._plan(asked)
                continue
            now = self._clock()
            for key in [key for key, (due_ms, _) in self._due.items() if due_ms <= now]:
                _, due = self._due.pop(key)
                async with self._reporting:
                    await self._report(due)

    def _plan(self, asked: Round) -> None:
        """Choose the moment of a report, if the round asks this user."""
        key = (asked.epoch, asked.phase)
        if key in self._due:
            self._due[key] = (self._due[key][0], asked)
            return
        if not self._collection.has_turn([self._secret], number=asked.epoch)[0]:
            return
        words = partition_words([self._secret], fingerprint=self._collection.fingerprint, epoch=asked.epoch)
        if not self._collection.method.phases[asked.phase - 1].asks(words)[0]:
            return
        begin = max(self._clock(), asked.start_ms)
        left = closes_ms(asked) - begin
        if left <= 0:
            return
        moment = int(self._entropy.integers(np.array([left]))[0]) if self._spread else 0
        self._due[key] = (begin + moment, asked)

    async def _report(self, asked: Round) -> None:
        await self._registration.check()
        time_ms = self._clock()
        if self._set is None or not asked.start_ms <= time_ms < closes_ms(asked):
            return
        # The terms may change while this reporter is open: the noise and the charge have to be under the same.
        permanent = [permanent_words(self._collection, key=self._secret)] if self._ledger.terms.memoises else None
        row = respond(self._collection.method, asked.inquiry, self._set, entropy=self._entropy, permanent=permanent)
        report = charges(
            self._collection,
            self._set,
            phase=asked.phase,
            epoch=asked.epoch,
            secret=self._secret,
            tag_key=self._ledger.tag_key,
        )
        turn = self._collection.turn(asked.epoch)
        try:
            # In a thread: a file is only written when the disk says so, and the event loop would wait for it.
            receipt = await asyncio.to_thread(self._ledger.spend_phase, report, time_ms=time_ms, turn=turn)
        except (AlreadyReported, TurnTaken) as refusal:
            log.info("%s", refusal)
            return
        except TooManyValues as refusal:
            # The set may yet become what it was.
            log.warning("phase %d of epoch %d gets no report: %s", asked.phase, asked.epoch, refusal)
            return
        except BudgetExceeded as refusal:
            # Where it is the budget of a day, this happens every day, phase after phase.
            level = logging.INFO if refusal.renews else logging.WARNING
            log.log(level, "phase %d of epoch %d gets no report: %s", asked.phase, asked.epoch, refusal)
            if self._pays_for_none(asked, refusal):
                raise
            return
        # Ids never come from a seed; see `Reporter`.
        batch = batch_of(
            row,
            fingerprint=asked.fingerprint,
            time_ms=time_ms,
            window=self._collection.window,
            entropy=OSEntropy(),
        )
        self.receipt = replace(receipt, rows=tuple(each.tobytes() for each in row))
        await self._outbox.publish([batch])
        await self._outbox.flush()
        if self._on_report is not None:
            self._on_report(asked)

    def _pays_for_none(self, asked: Round, refusal: BudgetExceeded) -> bool:
        """Decide whether the budget pays for no phase any more; that of a day begins anew the next day."""
        phases = self._collection.method.phases
        cheapest = min(phase.epsilon for phase in phases)
        if refusal.renews:
            # A permanent response that was shown before costs less than the first report of it.
            return refusal.budget < min(cheapest, refusal.cost)
        return phases[asked.phase - 1].epsilon <= cheapest or refusal.left < cheapest
