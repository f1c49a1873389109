"""Report for many users to an item collection: in simulations, or for users without a client."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.client.batcher import batch_of, most_reports
from stream_ldp.client.round_feed import RoundFeed, closes_ms
from stream_ldp.client.sender import Sender, now_ms, of_kind
from stream_ldp.mechanisms import OSEntropy, random_order, random_words
from stream_ldp.mechanisms.randomness.user_partition import partition_words
from stream_ldp.mechanisms.randomness.user_secret import drawn_secrets
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.permanent import permanent_words
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.mechanisms.loloha import Permanent
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.rounds import Round


class ItemPopulation(Sender):
    """The users of an item collection who report together.

        async with ItemPopulation(films, sets, settings=Settings.load()) as population:
            await population.run(epochs=2)

    The users' spending is not counted here, which is logged as a warning unless they are simulated: whoever reports
    for real people must make sure that each user reports once in each phase of an epoch, and must have their consent
    to the epoch's epsilon.
    """

    def __init__(
        self,
        collection: ItemCollection,
        sets: ItemSets,
        *,
        settings: Settings,
        secrets: Sequence[bytes] | None = None,
        entropy: Entropy | None = None,
        clock: Callable[[], int] = now_ms,
        spread: bool = True,
        max_reports: int = 1_000,
        max_in_flight: int = 64,
        delivery_timeout: float = 30.0,
    ) -> None:
        """Take the users; they report inside the `async with` block.

        sets: the set of each user, items as `ItemCollection.encode` gives them.
        secrets: the secret of each user, from which their partition words are derived. None draws the words of an
            epoch, and the secrets of users who take turns or whose reports are memoised, from the entropy, and keeps
            them as long as the population lives: right for users who report through nothing else.
        entropy: source of the noise and of the order of the reports; the operating system's unless this is a
            simulation.
        clock: event time, in milliseconds since 1970-01-01 UTC.
        spread: spread the reports evenly over what is left of a phase's window.
        max_reports: the most reports of one batch; fewer where they are so wide that they would not fit a record.
        max_in_flight: the most batches on their way at once.
        delivery_timeout: seconds after which a batch that is not acknowledged is lost.

        Raises:
            TypeError: it is no collection of item sets.
            ValueError: there is not one secret for each user.
        """
        collection = of_kind(collection, ItemCollection, client=self)
        if secrets is not None and len(secrets) != len(sets):
            raise ValueError(f"{len(sets)} sets with {len(secrets)} secrets: give each user's own")
        memoises = any(phase.memoised for phase in collection.method.phases)
        self._feed = RoundFeed(collection, settings=settings, clock=clock)
        super().__init__(
            collection,
            settings=settings,
            entropy=entropy,
            clock=clock,
            max_in_flight=max_in_flight,
            delivery_timeout=delivery_timeout,
            also=[self._feed],
        )
        self._collection = collection
        self._sets = sets
        self._secrets = secrets
        self._memoises = memoises
        # Users who memoise or take turns need secrets. Those who have none get some as long as the population lives.
        self._keys = secrets
        if secrets is None and (memoises or collection.rotate is not None):
            self._keys = drawn_secrets(len(sets), entropy=self._entropy)
        self._spread = spread
        self._max_reports = max_reports
        self._words: dict[int, NDArray[np.uint32]] = {}

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect, once every batch that was sent is acknowledged.

        Raises:
            DeliveryError: reports were lost.
        """
        try:
            await self._outbox.flush()
        finally:
            await super().__aexit__(kind, error, traceback)

    async def run(self, *, epochs: int | None = None, on_phase: Callable[[Round, int], None] | None = None) -> None:
        """Report in every phase of so many epochs, from the first epoch in which all users have time to report.

        epochs: number of epochs; None to go on for ever.
        on_phase: called after every phase with its round and the number of users who reported.

        Raises:
            DeliveryError: reports were lost.
            KafkaError: the brokers cannot be asked.
        """
        schedule = self._collection.schedule
        first = self._first_epoch()
        after = math.inf if epochs is None else first + epochs
        end_ms = None
        if epochs is not None:
            end_ms = schedule.window_of(first + epochs - 1, schedule.phases) + schedule.size_ms
        begun: set[tuple[int, int]] = set()

        async def report(asked: Round) -> None:
            users = await self.report(asked)
            if on_phase is not None:
                on_phase(asked, users)

        try:
            # At the same time, as the phases of several epochs may share a window.
            async with asyncio.TaskGroup() as tasks:
                while (asked := await self._feed.next(until_ms=end_ms)) is not None:
                    key = (asked.epoch, asked.phase)
                    if first <= asked.epoch < after and key not in begun:
                        # Rounds of epochs that are over do not come again.
                        begun = {each for each in begun if each[0] > asked.epoch - schedule.phases} | {key}
                        tasks.create_task(report(asked))
        except BaseExceptionGroup as problems:
            # The first has stopped the others.
            raise problems.exceptions[0] from None

    async def report(self, asked: Round) -> int:
        """Publish a report of each user whom the phase asks, until the round closes.

        Returns:
            Number of reports that were published; users whose turn would have come later sent none.

        Raises:
            RoundRefused: the collection never asks this.
            DeliveryError: reports were lost.
        """
        phase = asked.check(self._collection)
        await self._outbox.check()
        await self._registration.check()
        self._warn_untracked()
        asks = phase.asks(self._words_in(asked.epoch))
        if self._keys is not None:
            asks &= self._collection.has_turn(self._keys, number=asked.epoch)
        users = np.flatnonzero(asks)
        # In random order: otherwise the time of a report would show the user's place among the users.
        users = users[random_order(len(users), entropy=self._entropy)]
        method = self._collection.method
        inquiry, fingerprint = asked.inquiry, asked.fingerprint
        size = min(self._max_reports, most_reports(method.oracle(inquiry).bits))
        begin_ms, end_ms = max(self._clock(), asked.start_ms), closes_ms(asked)
        # A batch may be late by the time from a round's closing to its window's end, so the last one is due so much
        # before the closing.
        last_ms = max(begin_ms, 2 * end_ms - asked.end_ms) if self._spread else begin_ms
        published = 0
        for first in range(0, len(users), size):
            due_ms = begin_ms + (last_ms - begin_ms) * first // len(users)
            await asyncio.sleep(max(0, due_ms - self._clock()) / 1_000)
            await self._outbox.check()
            time_ms = self._clock()
            if time_ms >= end_ms:
                break
            some = self._sets.take(users[first : first + size])
            permanent = self._permanent(users[first : first + size])
            rows = respond(method, inquiry, some, entropy=self._entropy, permanent=permanent)
            # Ids never come from a seed; see `Reporter`.
            batch = batch_of(
                rows,
                fingerprint=fingerprint,
                time_ms=time_ms,
                window=self._collection.window,
                entropy=OSEntropy(),
            )
            await self._outbox.publish([batch])
            published += len(rows)
        await self._outbox.flush()
        return published

    def _first_epoch(self) -> int:
        """Return the earliest epoch whose first phase is open for half a window or more: time for all to report."""
        schedule = self._collection.schedule
        now_ms = self._clock()
        epoch = now_ms // schedule.size_ms // schedule.stride
        start_ms = schedule.window_of(epoch, 1)
        return epoch if now_ms < start_ms + schedule.size_ms // 2 else epoch + 1

    def _permanent(self, users: NDArray[np.intp]) -> list[Permanent] | None:
        """Return the sources of what the secrets of these users determine; None if they do not memoise."""
        if self._keys is None or not self._memoises:
            return None
        return [permanent_words(self._collection, key=self._keys[user]) for user in users.tolist()]

    def _words_in(self, epoch: int) -> NDArray[np.uint32]:
        """Return the partition words of all users in an epoch, the same at every call."""
        if self._secrets is not None:
            return partition_words(self._secrets, fingerprint=self._collection.fingerprint, epoch=epoch)
        if epoch not in self._words:
            # While the last phase of an epoch is open, at most as many later epochs have begun as there are phases.
            oldest = epoch - self._collection.schedule.phases
            self._words = {each: words for each, words in self._words.items() if each > oldest}
            self._words[epoch] = random_words(len(self._sets), entropy=self._entropy)
        return self._words[epoch]
