"""What clients and a worker of each release write to every topic.

`python -m tests.schemas.recorded > tests/golden/messages/VERSION.json` records what this one writes. What a release
has written stays as it is: every later one has to read it.
"""

import asyncio
import json
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from stream_ldp.client.reporter import Reporter
from stream_ldp.collection.synthesis import topics_of
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.content_type import PARTIAL
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.client.rankings import FILMS
from tests.in_memory import START_MS, rank_films
from tests.paths import GOLDEN

FOLDER = GOLDEN / "messages"

#: A collection of each kind, with all its values small.
COLLECTIONS = {
    "records": """
collection: care-survey
mechanism: {kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
window: {size: 60s}
estimates:
  - {name: bathing-mobility, of: [bathing, mobility]}
synthesis: {records: 3, seed: 7}
""",
    "sets": FILMS,
    "sampled": """
collection: diets
mechanism: {kind: sampled, epsilon: 2}
attributes:
  - {name: diet, values: [meat, fish, plants]}
  - {name: smokes, values: [no, yes]}
window: {size: 60s}
""",
    "strings": """
collection: words
mechanism: {kind: strings, epsilon: 4, k: 2}
string: {name: word, length: 2, alphabet: ab}
window: {size: 60s}
""",
    "views": """
collection: habits
mechanism: {kind: sampled, epsilon: 2, ask: pairs}
attributes:
  - {name: diet, values: [meat, plants]}
  - {name: smokes, values: [no, yes]}
window: {size: 60s}
estimates:
  - {name: diet-smokes, of: [diet, smokes]}
""",
    "places": """
collection: visits
mechanism: {kind: places, epsilon: [0.5, 2]}
places: {north: [a, b], south: [c, d, e]}
window: {size: 60s}
""",
    "pairs": """
collection: features
mechanism: {kind: pairs, epsilon: 2}
keys: {names: [search, maps], range: [0, 60]}
window: {size: 60s}
""",
}

#: What users hold, by kind.
_TRUTH: dict[str, list[Any]] = {
    "records": [{"bathing": "no", "mobility": "some"}, {"bathing": "yes", "mobility": "full"}],
    "sampled": [{"diet": "meat", "smokes": "no"}, {"diet": "plants", "smokes": "yes"}],
    "strings": [{"word": "ab"}, {"word": "b"}],
    "views": [{"diet": "meat", "smokes": "no"}, {"diet": "plants", "smokes": "yes"}],
    "places": [
        {"place": "a", "region": "north", "epsilon": "2"},
        {"place": "d", "region": "everywhere", "epsilon": "0.5"},
    ],
    "pairs": [{"search": "12.5"}, {"search": "3", "maps": "60"}],
}
_USERS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """A record as it was written.

    kind: that of its collection.
    topic: last part of the name of its topic.
    """

    kind: str
    topic: str
    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


def versions() -> list[str]:
    """Name all that was recorded."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def recorded(version: str) -> tuple[Recorded, ...]:
    """Return what a version wrote."""
    return tuple(
        Recorded(
            kind=each["kind"],
            topic=each["topic"],
            key=bytes.fromhex(each["key"]),
            value=each["text"].encode() if "text" in each else bytes.fromhex(each["hex"]),
            headers=tuple((name, value.encode()) for name, value in each["headers"]),
        )
        for each in json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))
    )


async def record(kind: str) -> list[Recorded]:
    """Let users report to a collection, and return a record of each sort that is then on its topics."""
    collection: Any = parse_collection(COLLECTIONS[kind])
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        if kind == "sets":
            rank_films(kafka)
        else:
            async with Reporter(collection, settings=kafka.settings, clock=kafka.clock) as reports:
                await reports.report_many(_TRUTH[kind] * (_USERS // 2), secrets=None)
        kafka.broker.put(kafka.settings.topic_names.reports(collection.name), b"nothing of ours", key=b"")
        kafka.close_windows()
        names = kafka.settings.topic_names
        own = topics_of(collection)
        topics = [names.reports, names.dead_letters]
        topics += [names.rounds] * own.rounds + [names.records] * own.records
        found = [
            each
            for topic in [names.collections, names.answers(collection), *(name(collection.name) for name in topics)]
            for each in _of_topic(kafka, kind, topic)
        ]
    return found + _partials(kind, [each.value for each in found if each.topic == "reports"])


def _of_topic(kafka: KafkaInMemory, kind: str, topic: str) -> list[Recorded]:
    """Return the first two records of a topic, and the last."""
    stored = kafka.broker.available(topic)
    return [
        Recorded(
            kind=kind,
            topic=topic.rpartition(".")[2],
            key=each.key or b"",
            value=each.value,
            headers=each.headers,
        )
        for each in dict.fromkeys([*stored[:2], *stored[-1:]])
        if each.value != b"nothing of ours" or topic.endswith("dead-letters")
    ]


def _partials(kind: str, batches: list[bytes]) -> list[Recorded]:
    """Return the partials of some batches, and a watermark."""
    collection: Any = parse_collection(COLLECTIONS[kind])
    source = SourcePartition(collection, kind_of(collection).layout(collection), partition=0)
    source.take_changes()
    source.count(range(len(batches)), [START_MS] * len(batches), batches)
    source.advance_idle(START_MS + 3_600_000)
    changes = source.take_changes()
    assert changes is not None
    written = (*changes.partials[:2], changes.watermark)
    return [
        Recorded(kind=kind, topic="partials", key=key, value=value, headers=PARTIAL)
        for key, value in (partials.encode(each, writer="w") for each in written if each is not None)
    ]


def _plain(each: Recorded) -> dict[str, Any]:
    headers = [[name, text.decode()] for name, text in each.headers]
    value = (
        {"text": each.value.decode()}
        if each.value.startswith(b"{") and each.value.isascii()
        else {"hex": each.value.hex()}
    )
    return {"kind": each.kind, "topic": each.topic, "key": each.key.hex(), "headers": headers, **value}


async def _print() -> None:
    found = [_plain(each) for kind in COLLECTIONS for each in await record(kind)]
    sys.stdout.write(",\n".join(json.dumps(each, ensure_ascii=False) for each in found).join(["[\n", "\n]\n"]))


if __name__ == "__main__":
    asyncio.run(_print())
