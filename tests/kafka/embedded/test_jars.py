"""Tests that Kafka's jars are fetched once and whole, or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_ldp.kafka.embedded import EmbeddedBrokerError, EmbeddedKafka, MissingTool
from stream_ldp.kafka.embedded.jars import KAFKA_VERSION, LOG4J_VERSION, ClassArchive, fetch_jars


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


@pytest.fixture
def archive(tmp_path: Path, script: Callable[[str, str], None]) -> ClassArchive:
    """The archive of a machine without one."""
    (tmp_path / "cache").mkdir()
    return ClassArchive.of(str(tmp_path / "java"), tmp_path / "cache" / "jars")


def end(options: tuple[str, ...], content: str) -> None:
    """Simulate the end of a program of java, which leaves its archive."""
    name, _, file = options[0].partition("=")
    assert name == "-XX:ArchiveClassesAtExit"
    Path(file).write_text(content)


def test_the_first_program_leaves_the_archive_and_the_next_ones_use_it(archive: ClassArchive) -> None:
    assert archive.options() == ()
    with archive.made() as options:
        end(options, "classes")
        assert not archive.file.exists()
    assert list(archive.file.parent.iterdir()) == [archive.file]
    assert archive.file.read_text() == "classes"
    assert archive.options()[0] == f"-XX:SharedArchiveFile={archive.file}"
    with archive.made() as options:
        assert options == archive.options()


def test_an_interrupted_program_leaves_no_archive(archive: ClassArchive) -> None:
    def interrupted() -> None:
        with archive.made() as options:
            end(options, "half of the classes")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(archive.file.parent.iterdir()) == []


def test_a_java_that_cannot_archive_is_asked_again_and_goes_without(archive: ClassArchive) -> None:
    for _ in range(2):
        with archive.made() as options:
            assert options
        assert archive.options() == ()


def test_without_a_cache_to_write_to_there_is_no_archive_and_no_error(archive: ClassArchive) -> None:
    archive.file.parent.rmdir()
    with archive.made() as options:
        assert options == ()


def test_another_java_and_an_upgraded_one_have_archives_of_their_own(archive: ClassArchive, tmp_path: Path) -> None:
    jars = tmp_path / "cache" / "jars"
    (tmp_path / "another").write_text("")
    files = {archive.file, ClassArchive.of(str(tmp_path / "another"), jars).file}
    os.utime(tmp_path / "java", ns=(1, 1))
    files.add(ClassArchive.of(str(tmp_path / "java"), jars).file)
    assert len(files) == 3
