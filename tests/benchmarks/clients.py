"""Print microseconds of CPU a report of each client, by the protocol of docs/clients/contract.md.

    python -m tests.benchmarks.clients

Each number is what a process takes for many reports of one user, less what it takes for one, over their number. It
has the reading of the record, the charge to a ledger in memory, the noise and the batch, and no network or disk. One
by one, each report is a request and a batch of its own; in bulk, all are one request and one batch.
"""

import json
import resource
import sys
from typing import Any

from stream_ldp.client.process import ClientProcess
from stream_ldp.kinds import parse_collection
from tests.clients.contract.cases import EVERYTHING, TIME_MS, vectors
from tests.clients.contract.clients import CLIENTS, HOME

#: Reports one by one, and in bulk. The first, in which a compiler of the language is still at work, count too.
ONE_BY_ONE, BULK = 500, 5_000

SIXTEEN = [f"a{place}" for place in range(16)]


def cases() -> list[tuple[str, dict[str, Any], Any]]:
    """List collections, and what a user reports to each."""
    wide = {
        **vectors("record_reports")[0]["file"],
        "collection": "sixteen",
        "attributes": [{"name": name, "values": ["no", "yes"]} for name in SIXTEEN],
        "estimates": [{"name": "first", "of": SIXTEEN[:2]}],
    }
    kinds = [(name, vectors(name)[0]) for name in ("sampled", "strings", "places")]
    return [
        ("records, `rr-ldp`, 16 x 2", wide, dict.fromkeys(SIXTEEN, "no")),
        (
            "records, `k-rr`, 16 x 2",
            {**wide, "mechanism": {"kind": "k-rr", "epsilon": 1}},
            dict.fromkeys(SIXTEEN, "no"),
        ),
        *((name, vector["file"], vector["records"][0]) for name, vector in kinds),
    ]


def seconds(command: tuple[str, ...], file: dict[str, Any], record: Any, *, requests: int, times: int) -> float:
    """Return seconds of CPU of a process that makes so many requests, each of so many reports."""
    text = json.dumps(file)
    collection = parse_collection(text)
    with ClientProcess(command, cwd=HOME) as client:
        client.collection(text, document=collection.document, meaning=collection.meaning)
        client.user("ada", secret=bytes(range(32)), terms=EVERYTHING)
        begun = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(requests):
            client.report(collection.name, "ada", record, time_ms=TIME_MS, times=times)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime - begun.ru_utime - begun.ru_stime


def main() -> None:
    """Print a table."""
    sys.stdout.write("| client | collection | one by one, us | in bulk, us |\n|---|---|---:|---:|\n")
    for language, row in CLIENTS.items():
        if row.missing() is not None:
            continue
        command = row.command()
        for name, file, record in cases():
            base = seconds(command, file, record, requests=1, times=1)
            single = (seconds(command, file, record, requests=ONE_BY_ONE, times=1) - base) / ONE_BY_ONE
            bulk = (seconds(command, file, record, requests=1, times=BULK) - base) / BULK
            sys.stdout.write(f"| {language} | {name} | {1e6 * single:,.0f} | {1e6 * bulk:,.0f} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
