"""Let a worker close many windows, and show what the next worker reads when it starts after it.

python -m tests.benchmarks.rebuild --windows 1000

The same is read once more by a group without commits, which reads the whole logs.
"""

import argparse
import asyncio
import re
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console

from stream_ldp.kafka.embedded import EmbeddedKafka
from tests.service.harness import SURVEY, JointDeployment, batches

#: Milliseconds of a window of the collection, and batches of one.
WINDOW_MS, BATCHES = 2_000, 8

#: Seconds that closing a window may take, and those of all else.
WINDOW_SECONDS, OTHER_SECONDS = 0.2, 60.0

#: Seconds after which the last windows are committed as closed.
SETTLED_SECONDS = 12.0


async def rebuild(windows: int, console: Console) -> None:
    """Close so many windows, and start two workers after that, the second of which has no commits."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedKafka() as broker:
        text = SURVEY.replace("grace: 1s", "grace: 1s, max_age: 1d")
        deployment = await JointDeployment.create(
            Path(directory), brokers=broker.bootstrap, prefix="rebuild", text=text, partitions=1
        )
        now = time.time_ns() // 1_000_000
        times = [now - WINDOW_MS * (windows - number // BATCHES) for number in range(windows * BATCHES)]
        rng = np.random.default_rng(1)
        with deployment.worker() as worker:
            await worker.ready()
            # One window at a time, as they come, so that each has partials of its own.
            for begin in range(0, len(times), 20 * BATCHES):
                await deployment.send(
                    batches(deployment.collection, times[begin : begin + 20 * BATCHES], reports=5, rng=rng),
                    key=b"one",
                )
                await asyncio.sleep(0.3)
            async with asyncio.timeout(OTHER_SECONDS + WINDOW_SECONDS * windows):
                while len({each.window.start_ms for each in await deployment.finals()}) < windows:
                    await asyncio.sleep(1.0)
            await asyncio.sleep(SETTLED_SECONDS)
            worker.signal(signal.SIGTERM)
            await worker.ended()
        topics = deployment.names.partials, deployment.names.answers_of("survey", "estimates")
        partials, estimates = [len(await deployment.records(topic)) for topic in topics]
        console.print(f"{windows} windows closed: {partials} partials and {estimates} estimates are on the log")
        for what, environment in (("with commits", None), ("without", {"STREAM_LDP_GROUP": "other"})):
            with deployment.worker(environment=environment) as worker:
                began = time.monotonic()
                await worker.ready(within=OTHER_SECONDS)
                took = time.monotonic() - began
                (said,) = re.findall(r"windows rebuilt from .*? s\b", worker.log)
                console.print(f"a worker {what}: ready after {took:.1f} s; {said}")


def main() -> None:
    """Measure what the command line asks for."""
    arguments = argparse.ArgumentParser(prog="python -m tests.benchmarks.rebuild", description=__doc__)
    arguments.add_argument("--windows", type=int, default=1_000, help="that are closed before the restart")
    asyncio.run(rebuild(arguments.parse_args().windows, Console(highlight=False, soft_wrap=True)))


if __name__ == "__main__":
    main()
