"""Kill a worker in the middle of a long window, and show what the next one reads, and how long that takes.

python -m tests.benchmarks.restart --records 1000000

The records are single reports in one window of an hour, on one partition. A million are those of ten minutes, where a
billion users a day report on seven partitions. It is done twice: where open windows are saved, as workers do, and
where the next worker has to read all of their reports again.
"""

import argparse
import asyncio
import json
import re
import signal
import tempfile
import time
from pathlib import Path

from aiokafka import AIOKafkaProducer
from rich.console import Console

from stream_ldp.kafka.embedded import EmbeddedKafka
from tests.benchmarks.speed.counting import document_of
from tests.benchmarks.speed.draining import encoded
from tests.service.harness import JointDeployment, ServiceProcess

#: Settings of a worker: how often it saves open windows, the second so seldom that it never does.
SAVING = {
    "saved": {},
    "read again": {"STREAM_LDP_SAVE_RECORDS": "1000000000"},
}

#: Records of a stored batch, and seconds that anything may take.
STORED, SECONDS = 2_000, 900.0


async def fill(deployment: JointDeployment, records: int) -> None:
    """Write single reports to the partition."""
    topic = deployment.names.reports(deployment.collection.name)
    async with AIOKafkaProducer(**deployment.settings.client_options(), acks="all", max_batch_size=2**20) as producer:
        values = encoded(deployment, records, reports=1)
        for begin in range(0, records, STORED):
            batch = producer.create_batch()
            for value in values[begin : begin + STORED]:
                batch.append(key=None, value=value, timestamp=None)
            await (await producer.send_batch(batch, topic, partition=0))


async def counted(worker: ServiceProcess, reports: int) -> None:
    """Wait until a worker has counted so many reports, and has committed that."""
    async with asyncio.timeout(SECONDS):
        while True:
            _, text = await worker.get("/metrics")
            found = re.search(r"^stream_ldp_reports_counted_total\{.*\} (\S+)$", text, re.MULTILINE)
            if found is not None and float(found[1]) >= reports:
                break
            await asyncio.sleep(0.2)
    await asyncio.sleep(2.0)


def processor_seconds(worker: ServiceProcess) -> float:
    """Return the processor's time that a worker has taken since it was started."""
    fields = Path(f"/proc/{worker.process.pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


async def restart(records: int, console: Console) -> None:
    """Let a worker count so many records, kill it, and look at the next one, for each way of saving."""
    with EmbeddedKafka() as broker:
        for how, environment in SAVING.items():
            with tempfile.TemporaryDirectory() as directory:
                text = json.dumps(document_of((2,) * 16, window="1h")).replace("{", "{{").replace("}", "}}")
                deployment = await JointDeployment.create(
                    Path(directory), brokers=broker.bootstrap, prefix=how.replace(" ", "-"), text=text, partitions=1
                )
                await fill(deployment, records)
                with deployment.worker(environment=environment, fresh=True) as worker:
                    await counted(worker, records)
                    worker.signal(signal.SIGKILL)
                    await worker.ended()
                # The group notices the death before the next one starts, so that it waits for nothing else.
                await asyncio.sleep(8.0)
                with deployment.worker(environment=environment, fresh=True) as worker:
                    began = time.monotonic()
                    await worker.ready(within=SECONDS)
                    took, processor = time.monotonic() - began, processor_seconds(worker)
                    found = re.search(r"(\d+) of its records are read again, not (\d+)", worker.log)
                    read = int(found[1]) if found else records
                console.print(
                    f"{how}: {read:,} of {records:,} records read after the kill; ready after {took:.1f} s, and "
                    f"{processor:.1f} s of the processor"
                )


def main() -> None:
    """Measure what the command line asks for."""
    arguments = argparse.ArgumentParser(prog="python -m tests.benchmarks.restart", description=__doc__)
    arguments.add_argument(
        "--records", type=int, default=1_000_000, help="that the open window has when it is killed"
    )
    asyncio.run(restart(arguments.parse_args().records, Console(highlight=False, soft_wrap=True)))


if __name__ == "__main__":
    main()
