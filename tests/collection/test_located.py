"""These tests show where a fault in a collection's file is located, and which files can be read."""

import os
import re
from pathlib import Path

import pytest

from stream_ldp.collection import located
from stream_ldp.collection.located import CollectionError, suggestion
from stream_ldp.kinds import load_collection, parse_collection
from stream_ldp.records.collection import JointCollection
from tests.records.examples import TEXT, problems_of


def test_several_problems_are_all_listed() -> None:
    found = problems_of(TEXT.replace("f: 0.25", "f: high").replace("60s", "60").replace("window", "windows"))
    assert [problem.split(": ")[1] for problem in found] == ["window", "mechanism.f", "windows"]


def test_attribute_values_stay_text() -> None:
    text = TEXT.replace("[none, some, full]", "[null, 1, 1.0, 0x1, on, 2001-01-01, ~]")
    bathing, mobility = JointCollection.parse(text).attributes
    assert bathing.values == ("no", "yes")
    assert mobility.values == ("null", "1", "1.0", "0x1", "on", "2001-01-01", "~")


@pytest.mark.parametrize("null", ["null", "~", "", "NULL"])
def test_a_null_is_no_name_unless_it_is_in_quotes(null: str) -> None:
    text = TEXT.replace("name: bathing,", f"name: {null},")
    (problem,) = problems_of(text)
    assert re.fullmatch(r"[^:]+:\d+:\d+: name: a name is required, and this is null; .*", problem)
    (problem,) = problems_of(TEXT.replace("collection: ", f"collection: {null} #"))
    assert ":1:" in problem
    assert "collection: a name is required, and this is null" in problem
    quoted = TEXT.replace("name: bathing,", 'name: "null",').replace("[bathing", "[null")
    assert JointCollection.parse(quoted).attributes[0].name == "null"


def test_a_list_that_is_too_short_is_a_problem_with_its_place() -> None:
    mechanism, attributes = "{kind: sampled, epsilon: 1}", "[{name: a, range: [0]}]"
    text = f"collection: c\nmechanism: {mechanism}\nattributes: {attributes}\nwindow: {{size: 1s}}"
    with pytest.raises(CollectionError, match=r"3:31: attributes.0.range.1: the list ends before this item"):
        parse_collection(text)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("? {}\n: 1", r"x{400,} ... x+: unknown key; known are "),
        ("? {}\n: 1\n? {}\n: 2", r"key 'x{400,} ... x+' is given twice"),
        ("prior: *{}", r"not YAML: the alias \*x{400,} ... x+ is not allowed: write out"),
    ],
)
def test_a_problem_is_no_longer_than_can_be_read_however_long_a_word_of_the_file_is(lines: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=rf"^long.yaml:\d+:\d+: {problem}") as caught:
        parse_collection(f"{TEXT}\n{lines.format('x' * 10**6, 'x' * 10**6)}\n", source="long.yaml")
    assert len(str(caught.value)) < 1_000


def test_a_file_is_read_to_a_bound_and_nothing_waits_for_the_other_end_of_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(located, "MAX_BYTES", 2**20)
    os.mkfifo(pipe := tmp_path / "pipe")
    for path, problem in (
        (Path("/dev/zero"), "more than 1 MiB, which no collection has"),
        (tmp_path, "cannot be read: Is a directory"),
        (pipe, "expected keys such as"),
    ):
        with pytest.raises(CollectionError, match=problem):
            load_collection(path)
    # A pipe that somebody writes to is read to its end, as the shell's <(...) is.
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as end:
        end.write(TEXT)
    assert load_collection(Path(f"/dev/fd/{reading}")) == parse_collection(TEXT)
    os.close(reading)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "there is no such file; `stream-ldp init TABLE.csv` writes one for a table"),
        (b"\xff\xfe\x00\x01", "not UTF-8 text: invalid start byte at byte 0"),
        (TEXT.encode("utf-16"), "not UTF-8 text: invalid start byte at byte 0"),
        (b"collection: \x00\n", "1:13: not YAML: character U+0000 is not allowed"),
    ],
)
def test_a_file_that_is_missing_or_not_text_raises_a_collection_error(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    path = tmp_path / "survey.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CollectionError) as caught:
        JointCollection.load(path)
    assert re.fullmatch(rf"{re.escape(str(path))}:\s?{re.escape(problem)}", str(caught.value))


def test_a_file_of_another_name_in_the_directory_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "survey.yaml").touch()
    with pytest.raises(CollectionError, match=r"sruvey\.yml: there is no such file; did you mean 'survey\.yaml'\?"):
        JointCollection.load(tmp_path / "sruvey.yml")


def test_a_name_in_place_of_a_file_is_said_to_be_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        CollectionError, match=r"^care: there is no such file, and a collection's name is none; `stream"
    ):
        JointCollection.load(Path("care"))


def test_a_directory_raises_a_collection_error(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="cannot be read: Is a directory"):
        JointCollection.load(tmp_path)


@pytest.mark.parametrize("written", [TEXT.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + TEXT.encode()])
def test_a_file_from_another_system_is_read(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "survey.yaml"
    path.write_bytes(written)
    assert JointCollection.load(path) == JointCollection.parse(TEXT)


def test_for_an_unknown_name_a_close_one_is_suggested_or_all_are_listed() -> None:
    assert suggestion("gfin", ["gfim", "svim"]) == "; did you mean 'gfim'?"
    assert suggestion("nothing", ["gfim", "svim"]) == "; known are gfim, svim"


def test_a_list_that_is_too_long_is_reported_how_many_it_may_have() -> None:
    names = ", ".join(f"a{number}" for number in range(40))
    found = problems_of(f"{TEXT.split('estimates:')[0]}estimates: [{{name: e, of: [a0, a1], among: [{names}]}}]\n")
    assert any(problem.endswith("estimates.0.among: at most 32 allowed") for problem in found), found


def test_an_alias_is_refused_with_its_place_however_often_others_would_repeat_it() -> None:
    """A hundred levels of ten would be 10^100 words."""
    levels = "".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 100))
    with pytest.raises(CollectionError) as refused:
        parse_collection(f"a0: &a0 [x]\n{levels}", source="survey.yaml")
    assert str(refused.value) == (
        "survey.yaml:2:10: not YAML: the alias *a0 is not allowed: write out what it stands for"
    )


@pytest.mark.parametrize(
    "text",
    ["".join(f"key{number}: 1\n" for number in range(500)), "a: 1\n" * 500, "x: [" + "{name: }, " * 500 + "]\n"],
    ids=["unknown", "repeated", "nameless"],
)
def test_of_very_many_problems_the_first_are_reported_and_the_others_counted(text: str) -> None:
    with pytest.raises(CollectionError) as refused:
        parse_collection(TEXT + text)
    *told, rest = refused.value.problems
    assert len(told) == 20
    assert re.fullmatch("and 4[78][0-9] more problems", rest)


def test_a_number_is_no_path_of_a_collection_file() -> None:
    with pytest.raises(TypeError, match="given by its path, not by a int"):
        load_collection(42)  # type: ignore[arg-type]


def test_a_misspelt_mechanism_is_reported_which_was_meant() -> None:
    with pytest.raises(CollectionError, match="got 'k-r'; did you mean 'k-rr'"):
        parse_collection("collection: a\nmechanism: {kind: k-r}\n")


def test_a_key_of_the_whole_file_within_a_part_is_reported_where_it_belongs() -> None:
    (problem,) = problems_of(TEXT.replace("window: {", "window: {rotate: 4, "))
    assert problem.endswith("window.rotate: rotate is a key of the whole file: write it beside window, not in it")


def test_a_key_of_another_part_is_reported_where_it_belongs() -> None:
    (problem,) = problems_of(TEXT.replace("window: {", "window: {epsilon: 4, "))
    assert problem.endswith("window.epsilon: epsilon is a key of mechanism: write it there")
