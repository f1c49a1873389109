"""Tests of which Java is accepted, and of the message where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka, MissingTool


def test_without_java_the_message_says_which_java_is_needed(
    tmp_path: Path, script: Callable[[str, str], None]
) -> None:
    (tmp_path / "java").unlink()
    with pytest.raises(MissingTool, match="no java on PATH: the embedded Kafka needs a Java 17 runtime or later"):
        EmbeddedKafka().start()


@pytest.mark.parametrize(("printed", "found"), [("1.8.0_392", "8"), ("11.0.2", "11")])
def test_an_old_java_is_named_with_its_version(printed: str, found: str, script: Callable[[str, str], None]) -> None:
    script("java", f"""echo 'openjdk version "{printed}" 2018-10-16' >&2""")
    with pytest.raises(MissingTool, match=f"is Java {found}: the embedded Kafka needs 17 or later"):
        EmbeddedKafka().start()
