"""Answer the rounds of a collection for many users who report together."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.client.batcher import most_reports
from stream_ldp.client.many_users import OnReceipt, OnRefused, Refusal, counted_rows, report_refused
from stream_ldp.client.round_feed import RoundFeed, closes_ms
from stream_ldp.kafka.memory import hold_time
from stream_ldp.kinds import rounds_of
from stream_ldp.mechanisms import random_order, random_words
from stream_ldp.mechanisms.randomness.user_partition import partition_words
from stream_ldp.mechanisms.randomness.user_secret import drawn_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.client.outbox import Outbox
    from stream_ldp.client.perturber import Perturber
    from stream_ldp.client.registration import RegistrationCheck
    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.ledger.ledger_file import PrivacyLedger
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.pipeline.kind import RoundMessage

log = logging.getLogger(__name__)


class Respondents:
    """Many users, of whom each reports to every round that asks them."""

    def __init__(
        self,
        collection: Collection,
        table: Any,
        *,
        settings: Settings,
        outbox: Outbox,
        registration: RegistrationCheck,
        perturber: Perturber,
        secrets: Sequence[bytes] | None,
        ledgers: Sequence[PrivacyLedger] | None,
        on_refused: OnRefused | None,
        on_receipt: OnReceipt | None,
        entropy: Entropy,
        clock: Callable[[], int],
        spread: bool,
        max_reports: int,
    ) -> None:
        """Take the users; see `Reporter.respondents`.

        table: what the users hold, as the collection's `table` makes it.
        """
        self._collection = collection
        self._rounds = rounds_of(collection)
        self._schedule = self._rounds.schedule(collection)
        self._table = table
        self._settings = settings
        self._outbox = outbox
        self._registration = registration
        self._perturber = perturber
        self._secrets = secrets
        # Users who memoise or take turns need secrets. Those who have none get some for as long as this lives.
        self._keys = secrets
        if secrets is None and (self._rounds.memoises(collection) or collection.rotate is not None):
            self._keys = drawn_secrets(len(table), entropy=entropy)
        self._ledgers = ledgers
        self._on_refused = on_refused
        self._on_receipt = on_receipt
        self._entropy = entropy
        self._clock = clock
        self._spread = spread
        self._max_reports = max_reports
        self._words: dict[int, NDArray[np.uint32]] = {}

    async def run(self, *, epochs: float = math.inf, on_round: Callable[[Any, int], None] | None = None) -> int:
        """Report in every phase of so many epochs, from the first epoch in which all users have time to report.

        epochs: number of epochs; math.inf to go on forever.
        on_round: called after every round with it and the number of users who reported.

        Returns:
            Number of reports.

        Raises:
            DeliveryError: reports were lost.
            MissingTopic: the collection's rounds topic does not exist.
            LinkingRefused, TooManyValues, BudgetExceeded, LedgerError: see `Reporter.report_many`.
            BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be asked.
        """
        schedule = self._schedule
        reports = 0
        begun: set[tuple[int, int]] = set()

        async def report(asked: RoundMessage) -> None:
            nonlocal reports
            users = await self.answer(asked)
            reports += users
            if on_round is not None:
                on_round(asked, users)

        feed = RoundFeed(self._collection, settings=self._settings, clock=self._clock)
        try:
            # At the same time, as the phases of several epochs may share a window.
            async with feed, asyncio.TaskGroup() as tasks:
                first = self._first_epoch()
                end_ms = None
                if math.isfinite(epochs):
                    end_ms = schedule.window_of(first + int(epochs) - 1, schedule.phases) + schedule.size_ms
                while (asked := await feed.next(until_ms=end_ms)) is not None:
                    key = (asked.epoch, asked.phase)
                    if first <= asked.epoch < first + epochs and key not in begun:
                        # Rounds of epochs that are over do not come again.
                        begun = {each for each in begun if each[0] > asked.epoch - schedule.phases} | {key}
                        tasks.create_task(report(asked))
        except BaseExceptionGroup as problems:
            # The first has stopped the others.
            raise problems.exceptions[0] from None
        return reports

    async def answer(self, asked: RoundMessage) -> int:
        """Publish a report of each user whom a round asks, until the round closes.

        Returns:
            Number of reports that were published; users whose turn would have come later sent none.

        Raises:
            ValueError: the collection never asks this.
            DeliveryError: reports were lost.
            LinkingRefused, TooManyValues, BudgetExceeded, LedgerError: see `Reporter.report_many`.
        """
        asked.check(self._collection)
        await self._outbox.check()
        await self._registration.check()
        asks = self._rounds.phase(self._collection, asked).asks(self._words_in(asked.epoch))
        if self._keys is not None:
            asks &= self._collection.has_turn(self._keys, number=asked.epoch)
        users = np.flatnonzero(asks)
        # In random order: otherwise the time of a report would show the user's place among the users.
        users = users[random_order(len(users), entropy=self._entropy)]
        size = min(self._max_reports, most_reports(self._rounds.layout(self._collection, asked).bits))
        begin_ms, end_ms = max(self._clock(), asked.start_ms), closes_ms(asked)
        # A batch may be late by the time from a round's closing to its window's end, so the last one is due so much
        # before the closing.
        last_ms = max(begin_ms, 2 * end_ms - asked.end_ms) if self._spread else begin_ms
        published = 0
        refused: dict[int, Refusal] = {}
        with hold_time() as held:
            for first in range(0, len(users), size):
                due_ms = begin_ms if held else begin_ms + (last_ms - begin_ms) * first // len(users)
                await asyncio.sleep(max(0, due_ms - self._clock()) / 1_000)
                await self._outbox.check()
                time_ms = self._clock()
                if time_ms >= end_ms:
                    log.warning(
                        "%s: the round of phase %d of epoch %d closed before %d of its %d users had reported",
                        *(self._collection.name, asked.phase, asked.epoch, len(users) - first, len(users)),
                    )
                    break
                rows, why = await self._rows(users[first : first + size].tolist(), asked=asked, time_ms=time_ms)
                refused |= why
                if len(rows):
                    await self._outbox.publish([self._perturber.batch(rows, asked=asked, time_ms=time_ms)])
                published += len(rows)
        await self._outbox.flush()
        report_refused(refused, self._on_refused)
        return published

    async def _rows(
        self, users: list[int], *, asked: RoundMessage, time_ms: int
    ) -> tuple[NDArray[np.uint8], dict[int, Refusal]]:
        """Perturb what some users hold; return the rows, and why others may not report, by place."""
        if self._ledgers is not None and self._secrets is not None:
            return await counted_rows(
                self._perturber,
                self._table,
                users,
                secrets=self._secrets,
                ledgers=self._ledgers,
                time_ms=time_ms,
                asked=asked,
                on_receipt=self._on_receipt,
            )
        keys = None if self._keys is None else [self._keys[user] for user in users]
        rows = self._perturber.rows(self._table[users], secrets=keys, memoises=True, time_ms=time_ms, asked=asked)
        return rows, {}

    def _first_epoch(self) -> int:
        """Return the earliest epoch whose first phase is open for half a window or more: time for all to report."""
        schedule = self._schedule
        now_ms = self._clock()
        epoch = now_ms // schedule.size_ms // schedule.stride
        start_ms = schedule.window_of(epoch, 1)
        return epoch if now_ms < start_ms + schedule.size_ms // 2 else epoch + 1

    def _words_in(self, epoch: int) -> NDArray[np.uint32]:
        """Return the partition words of all users in an epoch, the same at every call."""
        if self._secrets is not None:
            return partition_words(self._secrets, fingerprint=self._collection.fingerprint, epoch=epoch)
        if epoch not in self._words:
            # While the last phase of an epoch is open, at most as many later epochs have begun as there are phases.
            oldest = epoch - self._schedule.phases
            self._words = {each: words for each, words in self._words.items() if each > oldest}
            self._words[epoch] = random_words(len(self._table), entropy=self._entropy)
        return self._words[epoch]
