"""This program is a member of a group that reads the finals of a collection, and notes each of them in a file."""

import argparse
import asyncio
import json
from contextlib import suppress
from pathlib import Path

from stream_ldp.client.subscriber import Subscriber
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of, load_collection
from stream_ldp.pipeline.answer import Answer


def received(notes: Path) -> set[tuple[str, int]]:
    """Read which series and windows have been noted; the last line may be cut short by a kill."""
    found = set[tuple[str, int]]()
    for line in notes.read_text().splitlines() if notes.exists() else ():
        with suppress(ValueError):
            series, start_ms = json.loads(line)
            found.add((series, start_ms))
    return found


async def read(file: Path, *, settings: Settings, notes: Path) -> None:
    """Note finals for ever."""
    collection = load_collection(file)
    subscriber: Subscriber[Answer] = Subscriber(
        collection.name,
        kind_of(collection).answer,
        settings=settings,
        from_beginning=True,
        group="chaos-readers",
    )
    async with subscriber as answers:
        with notes.open("a") as lines:
            async for answer in answers:
                if answer.final:
                    # A new line first, since the one before may have been cut short.
                    lines.write("\n" + json.dumps([answer.series, answer.window.start_ms]) + "\n")
                    lines.flush()


def main() -> None:
    """Note finals until it is killed."""
    arguments = argparse.ArgumentParser(prog="python -m tests.chaos.subscriber", description=__doc__)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--brokers", required=True)
    arguments.add_argument("--topic-prefix", required=True)
    arguments.add_argument("--notes", type=Path, required=True)
    given = arguments.parse_args()
    settings = Settings.load(brokers=given.brokers, topic_prefix=given.topic_prefix)
    asyncio.run(read(given.file, settings=settings, notes=given.notes))


if __name__ == "__main__":
    main()
