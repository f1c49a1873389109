"""Play the demo's collection of item sets: films that simulated users have seen."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.simulation.truth import TruthTally
from stream_ldp.client.reporter import Reporter
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.kinds import load_collection

if TYPE_CHECKING:
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.kind import RoundMessage

_MAX_SEEN = 8


class Films:
    """Users who report in every epoch, a `DemoPart` of the demo."""

    def __init__(self, *, users: int) -> None:
        collection: Any
        collection = load_collection(Path(__file__).with_suffix(".yaml"))
        self.collection: Any = collection
        self._sets = collection.table(films_seen(users, collection.items.count))
        self._truth = TruthTally(self.collection, self._sets).truth()
        self.display: Display[Any] = Display(self._truth.of)
        self._reports = 0

    def subscriber(self, settings: Settings) -> Subscriber[Any]:
        return Subscriber(self.collection, settings=settings, provisional=True, from_beginning=True)

    async def report(self, settings: Settings) -> None:
        """Let the users report in every phase that asks them."""
        async with Reporter(self.collection, settings=settings) as reporter:
            await reporter.report_many(self._sets, secrets=None, epochs=math.inf, on_round=self._count)

    @property
    def status(self) -> str:
        return f"{len(self._sets):,} users have sent {self._reports:,} reports to {self.collection.name}."

    def summary(self) -> str:
        results = [each for each in self.display.newest() if each.complete]
        if not results:
            seconds = len(self.collection.method.phases) * self.collection.schedule.size_ms / 1_000
            return f"no epoch of {self.collection.name} ended in that time: an epoch takes {seconds:g} s"
        last = results[0]
        score = last.score(self._truth.of(last) or {})
        return (
            f"{sum(last.reports_per_phase):,} reports in the last epoch of {self.collection.name}: "
            f"{score['found'].value} of the true top {len(last.items)} found, their frequencies "
            f"{score['mean_error']} off on average"
        )

    def _count(self, _: RoundMessage, reports: int) -> None:
        self._reports += reports


def films_seen(users: int, films: int) -> list[list[int]]:
    """Draw sets of 1 to 8 films, without replacement, by weights 1 / place (Efraimidis and Spirakis, 2006)."""
    generator = np.random.default_rng()
    # The films of the smallest exponential variables with these weights as rates.
    order = np.argsort(generator.exponential(size=(users, films)) * np.arange(1, films + 1), axis=1)
    sizes = generator.integers(1, _MAX_SEEN + 1, size=users)
    return [row[:size] for row, size in zip(order.tolist(), sizes.tolist(), strict=True)]
