"""A collection is tried on this machine alone, without a broker."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app


def test_the_survey_is_tried_in_one_command_and_ends_by_itself_after_its_first_answer() -> None:
    done = CliRunner().invoke(app, ["try", "--seconds", "0", "--users", "3000"])
    assert done.exit_code == 0, done.stderr
    page, record, left, guess, *answers = done.stdout.splitlines()
    assert page.startswith("Page: http://127.0.0.1:")
    assert "marriage very poor" in record
    assert set(left.rpartition(" ")[2]) <= {"0", "1"}
    assert " % right (epsilon " in guess
    (answer,) = answers
    assert " final reports=3000 " in answer
    distance = float(answer.partition(" distance=")[2].split()[0])
    assert distance < 0.4, "the truth is known, and the answer is nearer to it than the uniform one, at 0.5"


def test_a_file_is_tried_as_init_guesses_it(tmp_path: Path) -> None:
    (file := tmp_path / "people.csv").write_text("age,smokes\n" + "30,no\n40,yes\n,no\n" * 40)
    done = CliRunner().invoke(app, ["try", str(file), "--seconds", "0", "--users", "500"])
    assert done.exit_code == 0, done.stderr
    assert "age-smokes final reports=500" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--collection", __file__], "--collection needs DATA"),
        ([str(Path(__file__).with_name("nothing.csv"))], "cannot be read"),
    ],
)
def test_what_cannot_be_tried_is_reported(arguments: list[str], why: str) -> None:
    done = CliRunner().invoke(app, ["try", *arguments])
    assert done.exit_code in {1, 2}
    assert why in done.stderr
