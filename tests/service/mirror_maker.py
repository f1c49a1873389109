"""Kafka's own MirrorMaker, set up by the words of docs/operate/regions.md."""

import asyncio
import re
from pathlib import Path
from typing import Self

from stream_ldp.kafka.embedded.jars import fetch_jars
from stream_ldp.kafka.embedded.process import find_java
from stream_ldp.kafka.settings import Settings

_PAGE = Path(__file__).parents[2] / "docs" / "operate" / "regions.md"

#: What a cluster of one broker needs beside: MirrorMaker keeps its own places in topics of three replicas.
_ONE_BROKER = """
replication.factor = 1
offset-syncs.topic.replication.factor = 1
config.storage.replication.factor = 1
offset.storage.replication.factor = 1
status.storage.replication.factor = 1
"""

#: Seconds in which it ends.
_STOP_SECONDS = 30.0


def properties(*, home: Settings, away: Settings) -> str:
    """Return the properties of the page for two clusters and a prefix of topics."""
    (found,) = re.findall(r"```properties\n(.*?)```", _PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    written: str = found
    for example, here in (
        ("kafka.us.example:9092", away.brokers),
        ("kafka.eu.example:9092", home.brokers),
        ("stream-ldp[.]", f"{home.topic_prefix}[.]"),
    ):
        assert example in written
        written = written.replace(example, here)
    return written + _ONE_BROKER


class MirrorMaker:
    """A process of MirrorMaker between a region and the home."""

    def __init__(self, directory: Path, *, home: Settings, away: Settings) -> None:
        """Prepare; its properties and its log are in a directory."""
        self._directory = directory
        self._properties = properties(home=home, away=away)

    async def __aenter__(self) -> Self:
        file = self._directory / "mirror.properties"
        file.write_text(self._properties, encoding="utf-8")
        jars = await asyncio.to_thread(fetch_jars, "connect-mirror")
        with (self._directory / "mirror.log").open("w", encoding="utf-8") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(find_java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=WARN"),
                *("-cp", f"{jars}/*", "org.apache.kafka.connect.mirror.MirrorMaker", str(file)),
                stdout=log,
                stderr=log,
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
