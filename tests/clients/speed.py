"""Measure what a report costs in each language, by the processor's time of one thread: python -m tests.clients.speed.

Records have 16 attributes of 2 values. A time is the least of five, since others use the machine as well.
"""

import asyncio
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stream_ldp.client.audit.sending import SETTINGS, START_MS, broker_of
from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.memory import connected
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from stream_ldp.mechanisms import OSEntropy, new_secret
from tests.clients import java

ATTRIBUTES = 16
USERS = 1_000
TIMES = 5

MECHANISMS = ("{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", "{kind: k-rr, epsilon: 2}")


def collection_of(mechanism: str) -> Any:
    """Make a collection of 16 attributes of 2 values."""
    attributes = [{"name": f"a{place}", "values": ["no", "yes"]} for place in range(ATTRIBUTES)]
    return parse_collection(
        f"{{collection: wide, mechanism: {mechanism}, attributes: {json.dumps(attributes)}, "
        f"window: {{size: 60s}}, estimates: [{{name: first, of: [a0]}}]}}"
    )


def microseconds(work: Callable[[], object]) -> float:
    """Return the least time of a report, of works that make `USERS` of them."""
    least = math.inf
    for _ in range(TIMES):
        begin = time.process_time()
        work()
        least = min(least, time.process_time() - begin)
    return 1e6 * least / USERS


def python(mechanism: str) -> dict[str, float]:
    """Measure the client of this package."""
    collection = collection_of(mechanism)
    reports = kind_of(collection).reports
    assert reports is not None
    table = np.zeros((USERS, ATTRIBUTES), dtype=np.int64)
    table[:, ::3] = 1
    secrets = [new_secret() for _ in range(USERS)]

    def rows(of: list[bytes] | None) -> Callable[[], object]:
        return lambda: reports(collection, table, secrets=of, memoises=True, time_ms=START_MS, entropy=OSEntropy())

    async def many() -> None:
        broker = broker_of(collection)
        ledgers = [PrivacyLedger.in_memory(secret=each, terms=Terms(budget=1e9)) for each in secrets]
        with connected(broker):
            async with Reporter(collection, settings=SETTINGS, clock=broker.clock) as reporter:
                await reporter.report_many(table, secrets=secrets, ledgers=ledgers)

    return {
        "permanent noise of each user's secret": microseconds(rows(secrets)),
        "all noise drawn afresh": microseconds(rows(None)),
        "with a ledger in memory, in batches of 1,000": microseconds(lambda: asyncio.run(many())),
    }


def main() -> None:
    """Print both."""
    for mechanism in MECHANISMS:
        sys.stdout.write(f"python, {mechanism}, microseconds of CPU a report:\n")
        for what, found in python(mechanism).items():
            sys.stdout.write(f"  {what:46} {found:8.3f}  ({1e6 / found:,.0f} a second)\n")
    java.compiled()
    fast = [str(java.JAVA), "-cp", *java.command("org.streamldp.client.Bench")[-2:]]
    sys.stdout.write("java\n" + subprocess.run(fast, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main()
