"""Show one report: a true record, what left the machine of its user, and what can be guessed from that."""

import asyncio
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stream_ldp.client.reporter import Reporter
from stream_ldp.ledger.ledger_file import load_or_create_user
from stream_ldp.ledger.receipt import Receipt
from stream_ldp.ledger.terms import Terms
from stream_ldp.mechanisms.privacy_loss import shown_epsilon, shown_guess
from stream_ldp.testing import kafka_in_memory


def _described(collection: Any, row: Any) -> Iterator[str]:
    """Yield what a row says, each value after the name of its attribute; nothing of a key that is not held."""
    first = collection.attributes[0]
    if hasattr(first, "decode"):  # a string, whose symbols are the row
        yield f"{first.name} {first.decode(row)}"
        return
    for attribute, value in zip(collection.attributes, row.tolist(), strict=True):
        labels = collection.labelled.get(attribute.name)
        if not math.isnan(value):  # no number of a key
            yield f"{attribute.name} {value if labels is None else labels[int(value)]}"


def one_report(collection: Any, row: Any) -> list[str]:
    """Report a record as an application would, and say what became of it, in lines.

    It is slow, since a ledger is written to the disk: run it on a thread of its own.

    row: the record, as a row of the collection's table.
    """
    with tempfile.TemporaryDirectory() as folder, kafka_in_memory(collection) as kafka:
        secret, ledger = load_or_create_user(Path(folder) / "secret", terms=Terms(budget=math.inf, linked=True))

        async def report() -> Receipt | None:
            async with Reporter(
                collection, settings=kafka.settings, secret=secret, ledger=ledger, clock=kafka.clock
            ) as reporter:
                return await reporter.report_series(row[None])

        receipt = asyncio.run(report())
    if receipt is None:
        return []  # The collection asks a sample of its users, and not this one.
    (sent,) = receipt.rows
    bits = "".join(
        map(str, np.unpackbits(np.frombuffer(sent, dtype=np.uint8), count=collection.bits, bitorder="little"))
    )
    epsilon = receipt.spent
    return [
        f"One user's true record:  {', '.join(_described(collection, row))}",
        f"What left the machine:   {bits}",
        f"What that gives away:    the best guess between two records, from 50:50, is {shown_guess(epsilon)} right "
        f"(epsilon {shown_epsilon(epsilon)})",
    ]
