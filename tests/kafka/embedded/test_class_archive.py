"""Tests that an archive of classes is made once and whole, by each Java for itself, and never needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_ldp.kafka.embedded.class_archive import ClassArchive


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
