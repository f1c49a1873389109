"""Answer the rounds of a collection for one user, phase after phase."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from stream_ldp.client.round_feed import RoundFeed, closes_ms
from stream_ldp.kinds import rounds_of
from stream_ldp.ledger.ledger import AlreadyReported, TurnTaken
from stream_ldp.ledger.terms import BudgetExceeded, TooManyValues
from stream_ldp.mechanisms.randomness.user_partition import partition_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.client.outbox import Outbox
    from stream_ldp.client.perturber import Perturber
    from stream_ldp.client.registration import RegistrationCheck
    from stream_ldp.collection import Collection
    from stream_ldp.ledger.ledger_file import PrivacyLedger
    from stream_ldp.ledger.receipt import Receipt
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.pipeline.kind import RoundMessage

log = logging.getLogger(__name__)


class Respondent:
    """One user, who reports to each round that asks them, on what they hold by then.

    Reports leave by themselves, from the first `hold` to the end of the `async with` block, each at a random moment.

    receipt: of the last report, for its user; None before the first.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        feed: RoundFeed,
        outbox: Outbox,
        registration: RegistrationCheck,
        perturber: Perturber,
        secret: bytes,
        ledger: PrivacyLedger,
        entropy: Entropy,
        clock: Callable[[], int],
        spread: bool,
        on_report: Callable[[Any], None] | None,
    ) -> None:
        """Take the user; see `Reporter` for the parameters that have its names.

        feed: that of the user alone, which is open as long as the block.
        """
        self._collection = collection
        self._phases = rounds_of(collection).phases(collection)
        self._feed = feed
        self._outbox = outbox
        self._registration = registration
        self._perturber = perturber
        self._secret = secret
        self._ledger = ledger
        self._entropy = entropy
        self._clock = clock
        self._spread = spread
        self._on_report = on_report
        self.receipt: Receipt | None = None
        self._table: Any = None
        self._holds = asyncio.Event()
        self._reporting = asyncio.Lock()
        # By epoch and phase: when to report, and on what.
        self._due: dict[tuple[int, int], tuple[int, RoundMessage]] = {}
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait for a report that is under way; a report that is not due yet is not sent."""
        if (task := self._task) is None:
            return
        try:
            # A report that is counted must be sent.
            async with self._reporting:
                task.cancel()
            await asyncio.wait([task])
        finally:
            # Again: this may have been cancelled while it waited, and the task would go on without a connection.
            task.cancel()

    def raise_failure(self) -> None:
        """Raise the error that has ended reporting, but none for a budget that is spent, since nothing was lost."""
        task = self._task
        if task is None or not task.done() or task.cancelled() or isinstance(task.exception(), BudgetExceeded):
            return
        task.result()

    def hold(self, table: Any) -> None:
        """Report on this from now on, in place of what was held before.

        table: what the user holds, as a table of one row.

        Raises:
            BudgetExceeded, DeliveryError, WrongCollection, LedgerError, KafkaError: this error has ended reporting.
        """
        if self._task is not None and self._task.done():
            self._task.result()
        self._table = table
        self._holds.set()

    async def stopped(self) -> None:
        """Wait until reporting ends; raises what `hold` raises."""
        if self._task is None:
            return
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()

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

    def _plan(self, asked: RoundMessage) -> None:
        """Choose the moment of a report, if the round asks this user."""
        key = (asked.epoch, asked.phase)
        if key in self._due:
            self._due[key] = (self._due[key][0], asked)
            return
        if not self._collection.has_turn([self._secret], number=asked.epoch)[0]:
            return
        words = partition_words([self._secret], fingerprint=self._collection.fingerprint, epoch=asked.epoch)
        if not self._phases[asked.phase - 1].asks(words)[0]:
            return
        begin = max(self._clock(), asked.start_ms)
        left = closes_ms(asked) - begin
        if left <= 0:
            return
        moment = int(self._entropy.integers(np.array([left]))[0]) if self._spread else 0
        self._due[key] = (begin + moment, asked)

    async def _report(self, asked: RoundMessage) -> None:
        await self._registration.check()
        time_ms = self._clock()
        if self._table is None or not asked.start_ms <= time_ms < closes_ms(asked):
            return
        # The terms may change while this reporter is open: the noise and the charge have to be under the same.
        memoises = self._ledger.terms.memoises
        rows = self._perturber.rows(
            self._table, secrets=[self._secret], memoises=memoises, time_ms=time_ms, asked=asked
        )
        charges = self._perturber.charges(self._table, secret=self._secret, ledger=self._ledger, asked=asked)
        try:
            # In a thread: a file is only written when the disk says so, and the event loop would wait for it.
            turn = self._perturber.turn(time_ms, asked=asked)
            receipt = await asyncio.to_thread(self._ledger.spend, charges, time_ms=time_ms, turn=turn)
        except (AlreadyReported, TurnTaken) as refusal:
            log.info("%s", refusal)
            return
        except TooManyValues as refusal:
            # The user may yet hold again what they held before.
            log.warning("phase %d of epoch %d gets no report: %s", asked.phase, asked.epoch, refusal)
            return
        except BudgetExceeded as refusal:
            # Where it is the budget of a day, this happens every day, phase after phase.
            level = logging.INFO if refusal.renews else logging.WARNING
            log.log(level, "phase %d of epoch %d gets no report: %s", asked.phase, asked.epoch, refusal)
            if self._pays_for_none(asked, refusal):
                raise
            return
        self.receipt = replace(receipt, rows=tuple(row.tobytes() for row in rows))
        await self._outbox.publish([self._perturber.batch(rows, asked=asked, time_ms=time_ms)])
        await self._outbox.flush()
        if self._on_report is not None:
            self._on_report(asked)

    def _pays_for_none(self, asked: RoundMessage, refusal: BudgetExceeded) -> bool:
        """Decide whether the budget pays for no phase any more; that of a day begins anew the next day."""
        cheapest = min(phase.epsilon for phase in self._phases)
        if refusal.renews:
            # A permanent response that was shown before costs less than the first report of it.
            return refusal.budget < min(cheapest, refusal.cost)
        return self._phases[asked.phase - 1].epsilon <= cheapest or refusal.left < cheapest
