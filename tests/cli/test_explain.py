"""The last answer is explained in sentences, by the name of its collection."""

from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

from stream_ldp.cli.explain import explain
from stream_ldp.kinds import parse_collection
from tests.client.answer_topics import published
from tests.client.examples import of_minute
from tests.schemas.recorded import COLLECTIONS


def test_the_last_final_is_explained(command_line: Callable[..., Result]) -> None:
    with published(of_minute(1), of_minute(2)):
        done = command_line(explain, "care-survey")
    assert done.exit_code == 0, done.output
    head, what, *_ = done.stdout.splitlines()
    assert head == "care-survey, bathing-mobility, 1970-01-01T00:02:00Z/1970-01-01T00:03:00Z"
    assert "the largest share is that of bathing no, mobility full" in what


def test_the_question_of_a_file_is_said_before_its_answer(
    command_line: Callable[..., Result], tmp_path: Path
) -> None:
    collection = parse_collection(f"{COLLECTIONS['records']}question: Who needs help?\n")
    file = tmp_path / "survey.yaml"
    file.write_text(f"{COLLECTIONS['records']}question: Who needs help?\n", encoding="utf-8")
    assert collection.fingerprint == parse_collection(COLLECTIONS["records"]).fingerprint
    with published(of_minute(1, fingerprint=collection.fingerprint.hex()), collection=collection):
        done = command_line(explain, file)
    assert done.stdout.splitlines()[1] == "Asked: Who needs help?", done.output


def test_where_there_is_no_answer_that_is_said(command_line: Callable[..., Result]) -> None:
    with published():
        done = command_line(explain, "care-survey")
    assert done.exit_code == 1
    assert "its topic has no final answer yet" in done.stderr
    assert "stream-ldp query care-survey --provisional" in done.stderr
