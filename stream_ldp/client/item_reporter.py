"""Answering for one user what an item collection asks, phase after phase."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.client.batcher import batch_of
from stream_ldp.client.round_feed import RoundFeed, closes_ms
from stream_ldp.client.sender import Sender, now_ms
from stream_ldp.mechanisms import OSEntropy
from stream_ldp.privacy.ledger.ledger import AlreadyReported, BudgetExceeded
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.sampling import respond
from stream_ldp.sets.user_partition import partition_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.privacy.ledger.ledger_file import PrivacyLedger
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.rounds import Round

__all__ = ["ItemReporter"]

log = logging.getLogger(__name__)


class ItemReporter(Sender):
    """Answers for one user what the phases of a collection's epochs ask about their set of items.

        secret, ledger = load_or_create_user("secret", terms=Terms(budget=8.0))
        async with ItemReporter(films, settings=Settings.load(), secret=secret, ledger=ledger) as reporter:
            await reporter.hold({"Alien", "Brazil"})
            await reporter.stopped()

    Answers leave by themselves, from the first `hold` to the end of the `async with` block: each phase that asks the
    user is answered once, for the set held at that moment, of which only one perturbed value is sent. Whoever
    comes late answers the phases that are still open.

    Privacy does not depend on what the service says. An answer is perturbed by the collection's own method at the
    collection's own epsilon, and counted in the ledger before it leaves; the ledger refuses a second one to the same
    phase of an epoch, also after a restart. Rounds that the collection never asks are logged, counted in `refused`,
    and not answered.

    When the budget does not pay for a phase, it is passed over with a warning; what costs less may still be answered.
    When it pays for none, answering ends: `hold` and `stopped` raise BudgetExceeded. The end of the block does not,
    since nothing was lost. Anything else that ends it, such as brokers that do not acknowledge an answer or a ledger
    that cannot be written, is raised by `hold`, by `stopped` and by the end of the block.
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
        on_answer: Callable[[Round], None] | None = None,
        delivery_timeout: float = 30.0,
    ) -> None:
        """secret: the user's, 32 bytes; see `load_or_create_user`.

        ledger: of that user, in a file: one in memory forgets at the end of the process what has been answered.
        entropy: source of the noise and of the moments; the operating system's unless this is a simulation.
        clock: event time, in milliseconds since 1970-01-01 UTC.
        spread: answer at a random moment of what is left of a phase's window, so that not all users answer at once.
        on_answer: told of every answer that the brokers have acknowledged.
        delivery_timeout: seconds after which an answer that is not acknowledged is lost.

        Raises:
            ValueError: the secret is not one, or the ledger is not of the user who has it.
        """
        if not ledger.is_of(secret):
            raise ValueError("the ledger is of a user with another secret")
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
        self._on_answer = on_answer
        self._set: ItemSets | None = None
        self._holds = asyncio.Event()
        self._answering = asyncio.Lock()
        # By epoch and phase: when to answer, and what.
        self._due: dict[tuple[int, int], tuple[int, Round]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def answered(self) -> int:
        """Number of answers that the brokers have acknowledged."""
        return self.acknowledged

    @property
    def refused(self) -> int:
        """Number of rounds that were not answered because the collection never asks them."""
        return self._feed.refused

    async def __aenter__(self) -> Self:
        """Connect; raises as `Sender`."""
        await super().__aenter__()
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect, once an answer that is under way has left; what is not due yet is not answered.

        Raises:
            DeliveryError, LedgerError, KafkaError: answering had ended by it.
        """
        task, self._task = self._task, None
        if task is None:
            return
        try:
            # An answer that is counted is sent.
            async with self._answering:
                task.cancel()
            await asyncio.wait([task])
        finally:
            await super().__aexit__(kind, error, traceback)
        if not task.cancelled() and not isinstance(task.exception(), BudgetExceeded):
            task.result()

    async def hold(self, items: Iterable[str]) -> None:
        """Answer for these items from now on, in place of those before.

        The set may be empty, and larger than the collection's `set_size`: of a larger one, each item is asked about
        less often.

        Raises:
            ValueError: an item is not one of the collection's; the message never repeats it.
            BudgetExceeded: nothing more can be answered.
            DeliveryError, LedgerError, KafkaError: answering has ended by it.
            RuntimeError: the reporter is closed.
        """
        task = self._running()
        if task.done():
            task.result()
        self._set = ItemSets.of([self._collection.encode(items)])
        self._holds.set()

    async def stopped(self) -> None:
        """Wait until answering ends: by a failure, by a spent budget, or by the end of the block.

        Raises:
            BudgetExceeded: no phase can be paid for any more.
            DeliveryError, LedgerError, KafkaError: what it has ended by.
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
                async with self._answering:
                    await self._answer(due)

    def _plan(self, asked: Round) -> None:
        """Choose the moment of an answer, where this user is asked."""
        key = (asked.epoch, asked.phase)
        if key in self._due:
            self._due[key] = (self._due[key][0], asked)
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

    async def _answer(self, asked: Round) -> None:
        time_ms = self._clock()
        if self._set is None or not asked.start_ms <= time_ms < closes_ms(asked):
            return
        row = respond(self._collection.method, asked.inquiry, self._set, entropy=self._entropy)
        try:
            # In a thread: a file is only written when the disk says so, and the event loop would wait for it.
            await asyncio.to_thread(self._ledger.spend_phase, self._collection, phase=asked.phase, epoch=asked.epoch)
        except AlreadyReported:
            return
        except BudgetExceeded as refusal:
            log.warning("phase %d of epoch %d is not answered: %s", asked.phase, asked.epoch, refusal)
            if self._ends(asked, refusal):
                raise
            return
        # Ids never come from a seed; see `Reporter`.
        batch = batch_of(row, fingerprint=asked.fingerprint, time_ms=time_ms, entropy=OSEntropy())
        await self._outbox.publish([batch])
        await self._outbox.flush()
        if self._on_answer is not None:
            self._on_answer(asked)

    def _ends(self, asked: Round, refusal: BudgetExceeded) -> bool:
        """Whether the budget pays for no phase any more."""
        phases = self._collection.method.phases
        cheapest = min(phase.epsilon for phase in phases)
        return phases[asked.phase - 1].epsilon <= cheapest or refusal.left < cheapest
