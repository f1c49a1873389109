"""Comparisons of a backend that reports for its users: their noise, and their charges in one database on the disk."""

import asyncio
import atexit
import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from stream_ldp.client.many_users import counted_rows
from stream_ldp.client.perturber import Perturber
from stream_ldp.ledger.terms import Terms
from stream_ldp.ledger.user_database import UserDatabase
from stream_ldp.mechanisms import OSEntropy
from stream_ldp.records.collection import JointCollection
from tests.benchmarks.speed.counting import collection_of
from tests.benchmarks.speed.measuring import Comparison, Work

#: Users whose charges are one transaction, as many as `report_many` takes at once.
_GROUP = 1_000

#: 2023-11-14, 22:13:20 UTC, in milliseconds.
_NOW_MS = 1_700_000_000_000


def comparisons(scale: float) -> Iterator[Comparison]:
    """Yield the comparisons, on `scale` times as many users as are meant."""
    users = max(1, round(scale * _GROUP))
    for sizes in ((2, 2), (2,) * 16):
        yield _charged(collection_of(sizes), users)


def _charged(collection: JointCollection, users: int) -> Comparison:
    directory = TemporaryDirectory()
    atexit.register(directory.cleanup)
    database = UserDatabase(Path(directory.name).resolve() / "users.sqlite")
    secrets, ledgers = database.load_or_create([str(user) for user in range(users)], terms=Terms(budget=math.inf))
    values = np.random.default_rng(1).integers(2, size=(users, len(collection.attributes)))
    perturber = Perturber(collection, entropy=OSEntropy())

    async def report() -> None:  # a result of asyncio.run is printed by it, if nowhere to be seen
        reports = counted_rows(perturber, values, range(users), secrets=secrets, ledgers=ledgers, time_ms=_NOW_MS)
        rows, refused = await reports
        assert len(rows) == users
        assert not refused

    def charged() -> None:
        asyncio.run(report())

    record = f"{len(collection.attributes)} x 2 values"
    return Comparison(
        work=f"a report of {record} of a user with a ledger, {_GROUP:,} in a transaction",
        unit="us a user",
        now=Work(run=charged, units=users),
        against={
            "the noise alone": Work(
                run=lambda: perturber.rows(values, secrets=secrets, memoises=True, time_ms=_NOW_MS), units=users
            )
        },
    )
