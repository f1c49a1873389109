"""This program runs every kind of client where modules are missing; `test_small_client.py` starts it.

Its arguments are a directory for the user's files, and the names of the packages and modules that are missing.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any


class Missing:
    """A finder by which some modules cannot be found."""

    def __init__(self, names: list[str]) -> None:
        self._names = set(names)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing(sys.argv[2:]))
for loaded in sys.argv[2:]:
    sys.modules.pop(loaded, None)

import stream_ldp  # noqa: E402
from stream_ldp.client.audit.sending import SETTINGS, START_MS, broker_of  # noqa: E402
from stream_ldp.kafka.memory import connected  # noqa: E402
from stream_ldp.kinds import parse_collection  # noqa: E402

HEAD = "collection: {name}\nwindow: {{size: 60s}}\nmechanism: {{{mechanism}}}\n"
CARE = (
    "attributes: [{name: walks, values: [no, yes]}, {name: diet, values: [meat, fish]}, {name: age, range: [0, 9]}]"
)
RECORD: dict[str, Any] = {"walks": "yes", "diet": "fish"}
SURVEY = "attributes: [{name: walks, values: [no, yes]}, {name: diet, values: [meat, fish]}]"
ESTIMATE = "\nestimates: [{name: both, of: [walks, diet]}]"
WORD = "string: {name: word, length: 4, alphabet: abcdef}"
PLACES = "places: {north: [a, b], south: [c, d]}"
FILMS = "items: {names: [alien, brazil, dune, heat, fargo]}"

#: Of each kind of records: the mechanism, the rest of the file, and what a user reports.
REPORTED: list[tuple[str, str, Any]] = [
    ("kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75", SURVEY + ESTIMATE, RECORD),
    ("kind: k-rr, epsilon: 1", SURVEY + ESTIMATE, RECORD),
    ("kind: sampled, epsilon: 1", CARE, RECORD | {"age": 7}),
    ("kind: sampled, epsilon: 1, ask: pairs", SURVEY + ESTIMATE, RECORD),
    ("kind: sampled, oracle: rappor, epsilon: 4, hashes: 2", SURVEY, RECORD),
    ("kind: strings, epsilon: 4, k: 2", WORD, {"word": "face"}),
    (
        "kind: places, epsilon: [0.5, 2]",
        PLACES,
        {"place": "a", "region": "north", "epsilon": 2},
    ),
]

#: The methods of item sets whose first phase is asked in every window.
ASKED = [
    "kind: gfim, epsilon: 4, k: 2, k_max: 3, set_size: 2",
    "kind: loloha, epsilon: 1, lifetime: 2, k: 2, set_size: 2",
]


def collection_of(mechanism: str, rest: str) -> Any:
    return parse_collection(HEAD.format(name="small", mechanism=mechanism) + rest, source="small.yaml")


async def report(mechanism: str, rest: str, record: Any, secret: bytes, ledger: Any) -> int:
    """Report once, and return the number of batches that were sent."""
    collection = collection_of(mechanism, rest)
    broker = broker_of(collection)
    with connected(broker):
        async with stream_ldp.Reporter(
            collection, settings=SETTINGS, secret=secret, ledger=ledger, clock=broker.clock, linger=0.0
        ) as sender:
            assert await sender.report(record)
    return len(broker.sent)


async def answer(mechanism: str, secret: bytes, ledger: Any) -> int:
    """Hold a set for an epoch, and return the number of batches that were sent."""
    collection = collection_of(mechanism, FILMS)
    broker = broker_of(collection)
    broker.end_ms = START_MS + 3 * 60_000
    with connected(broker):
        async with stream_ldp.Reporter(
            collection, settings=SETTINGS, secret=secret, ledger=ledger, clock=broker.clock
        ) as sender:
            await sender.report({"alien", "heat"})
            await broker.ended.wait()
    return len(broker.sent)


async def main(directory: Path) -> None:
    for name in stream_ldp.__all__:
        getattr(stream_ldp, name)
    for number, (mechanism, rest, record) in enumerate(REPORTED):
        secret, ledger = stream_ldp.load_or_create_user(
            directory / str(number) / "secret", terms=stream_ldp.Terms(budget=99.0, linked=True)
        )
        assert await report(mechanism, rest, record, secret, ledger) == 1, mechanism
        assert stream_ldp.load_or_create_user(directory / str(number) / "secret")[1].spending.epsilon > 0
    for number, mechanism in enumerate(ASKED):
        secret, ledger = stream_ldp.load_or_create_user(
            directory / f"films{number}" / "secret", terms=stream_ldp.Terms(budget=99.0)
        )
        assert await answer(mechanism, secret, ledger) >= 1, mechanism


asyncio.run(main(Path(sys.argv[1])))
sys.stdout.write("reported\n")
