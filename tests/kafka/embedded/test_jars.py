"""Tests that Kafka's jars are fetched once and whole, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stream_ldp.kafka.embedded import EmbeddedBrokerError, EmbeddedKafka, MissingTool
from stream_ldp.kafka.embedded.jars import KAFKA_VERSION, LOG4J_VERSION, fetch_jars


def test_without_maven_the_message_says_what_it_is_for(script: Callable[[str, str], None]) -> None:
    with pytest.raises(MissingTool, match="no mvn on PATH: Maven fetches Kafka's jars"):
        EmbeddedKafka().start()


def test_a_failed_fetch_quotes_maven_and_leaves_no_cache_behind(
    tmp_path: Path, script: Callable[[str, str], None]
) -> None:
    script("mvn", "mkdir -p $(dirname $6)/jars; echo '[ERROR] repository is down'; exit 1")
    with pytest.raises(EmbeddedBrokerError, match="repository is down"):
        EmbeddedKafka().start()
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_interrupted_fetch_is_not_taken_for_a_finished_one(
    tmp_path: Path, script: Callable[[str, str], None]
) -> None:
    fetch = (
        "for each; do case $each in -DoutputDirectory=*) out=${each#*=};; esac; done; mkdir $out; touch $out/a.jar"
    )
    script("mvn", f"{fetch}; kill -9 $$")
    with pytest.raises(EmbeddedBrokerError, match="Maven could not fetch Kafka"):
        EmbeddedKafka().start()
    script("mvn", f"{fetch}; touch $out/b.jar")
    assert sorted(jar.name for jar in fetch_jars().iterdir()) == ["a.jar", "b.jar"]


def test_of_two_simultaneous_fetches_the_later_one_uses_the_jars_of_the_first(
    tmp_path: Path, script: Callable[[str, str], None]
) -> None:
    other = tmp_path / "cache" / f"kafka-{KAFKA_VERSION}-log4j-{LOG4J_VERSION}"
    fetch = (
        "for each; do case $each in -DoutputDirectory=*) out=${each#*=};; esac; done; mkdir $out; touch $out/a.jar"
    )
    script("mvn", f"{fetch}; mkdir -p {other}; touch {other}/first.jar")
    assert [jar.name for jar in fetch_jars().iterdir()] == ["first.jar"]
    assert list((tmp_path / "cache").iterdir()) == [other]
