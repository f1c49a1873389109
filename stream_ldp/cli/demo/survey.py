"""Play the demo's collection of records: a sensitive question of a real survey."""

import asyncio
import functools
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.population import sample
from stream_ldp.cli.simulation.truth import TruthTally
from stream_ldp.client.reporter import Reporter, now_ms
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import load_collection
from stream_ldp.mechanisms import OSEntropy
from stream_ldp.pipeline.cells import CellKey

_TICK_SECONDS = 0.1


class Survey:
    """Users who report once each, a `DemoPart` of the demo."""

    def __init__(self, *, rate: int) -> None:
        """Load the collection and its population.

        rate: number of users who report in a second.
        """
        self.collection: Any = load_collection(SURVEY)
        self.display = Display(self._truth_of)
        self._rate = rate
        self._population = survey_records()
        self._tally = TruthTally(self.collection, self._population)
        self._sent = 0

    def subscriber(self, settings: Settings) -> Subscriber[Any]:
        return Subscriber(self.collection, settings=settings, provisional=True, from_beginning=True)

    async def report(self, settings: Settings) -> None:
        """Let some users report at every tick."""
        generator = np.random.default_rng()
        time_ms = now_ms()
        async with Reporter(
            self.collection, settings=settings, entropy=OSEntropy(), clock=lambda: time_ms
        ) as reporter:
            due = time.monotonic()
            while True:
                time_ms = now_ms()
                people = sample(self._population, max(1, int(self._rate * _TICK_SECONDS)), generator)
                self._tally.add(people, time_ms=time_ms)
                await reporter.report_many(people, secrets=None)
                self._sent = reporter.acknowledged
                due += _TICK_SECONDS
                await asyncio.sleep(due - time.monotonic())

    @property
    def status(self) -> str:
        return f"{self._sent:,} users have reported to {self.collection.name}."

    def summary(self) -> str:
        known = self.display.newest()
        if not known:
            fail("no estimate came in that time")
        last, truth = known[0], self._truth_of(known[0])
        if truth is None:
            fail("the newest estimate has no simulated truth")
        product = functools.reduce(np.multiply.outer, map(np.array, last.independence.marginals))
        independent = last.model_copy(update={"probability": product.tolist()})
        kind = "final" if last.final else "provisional"
        return (
            f"{self._sent:,} users reported; distance of the last {kind} estimate, of {last.reports:,} reports, "
            f"to the truth: {last.score(truth)['distance']} (taken for independent: "
            f"{independent.score(truth)['distance']})"
        )

    def _truth_of(self, estimate: Any) -> dict[CellKey, float] | None:
        return self._tally.truth().of(estimate)


#: The file of the survey's collection.
SURVEY = Path(__file__).with_suffix(".yaml")

#: Number of the women, by their rating of the marriage, from very poor to very good, and by whether they had an
#: affair: the columns `rate_marriage` and `affairs` of the data set `fair` of statsmodels, which is public domain.
_WOMEN = np.array([[25, 74], [127, 221], [446, 547], [1518, 724], [2197, 487]])


def survey_records() -> NDArray[np.int64]:
    """Load the survey's records as value indices, shape (6366, 2)."""
    places = np.argwhere(_WOMEN)
    return np.repeat(places, _WOMEN.ravel(), axis=0)
