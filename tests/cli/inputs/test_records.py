"""Records of a file or of standard input: what is read, what is wrong with a line, and when lines are handed on."""

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from stream_ldp.cli.inputs.records import Format, RecordReader, lines_of
from tests.client.examples import collection_of
from tests.pairs.examples import collection_of as pairs_collection


def read(*lines: str | bytes, form: Format = Format.AUTO, skip: list[str] | None = None) -> tuple[int, str | None]:
    """Return the number of records, and the problem that ended the reading."""
    reader = RecordReader(collection_of(), form=form, source="it", on_skip=None if skip is None else skip.append)
    records = reader.read(line.encode() if isinstance(line, str) else line for line in lines)
    return len(records), reader.problem


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["bathing,mobility", "no,some"], id="csv"),
        pytest.param(["\ufeffbathing,mobility\r", "no,some\r", "\r"], id="csv as a spreadsheet writes it"),
        pytest.param(["", '{"mobility": "some", "bathing": "no"}'], id="json"),
    ],
)
def test_a_record_is_read(lines: list[str]) -> None:
    assert read(*lines) == (1, None)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["bathing,mobility", "no"], "it:2: 1 value under 2 columns"),
        (["bathing,mobility", "no,some,x"], "it:2: 3 values under 2 columns"),
        (["bathing,mobility", 'no,"some'], "it:2: not CSV: unexpected end of data"),
        (["bathing,mobility", b"no,\xff"], "it:2: not UTF-8"),
        (['{"bathing": "no"}'], "it:1: attribute 'mobility' is missing"),
        (
            ['{"bathing": "no", "mobility": 1}'],
            "it:1: attribute 'mobility': the given value is not one of none, some, full",
        ),
        (
            [f'{{"bathing": "no", "mobility": {"1" * 5_000}}}'],
            "it:1: attribute 'mobility': the given value is not one of none, some, full",
        ),
        (['{"bathing": "no", "mobility": null}'], "it:1: attribute 'mobility': the value is missing"),
        (
            ['{"bathing": "no", "mobility": [1]}'],
            "it:1: attribute 'mobility': expected a JSON string, a number, or null",
        ),
        (['{"bathing": ' + "[" * 100_000], "it:1: not a record, but objects within objects"),
        (['{"bathing": "no", "bathing": "yes"}'], "it:1: a key is given twice: give each once"),
        (['{"bathing": "no", '], "it:1: not JSON: Expecting property name enclosed in double quotes at column 19"),
        (['{"bathing": "no", "mobilty": "some"}'], "did you mean 'mobility'?"),
    ],
)
def test_the_problem_with_a_line_is_named(lines: list[str | bytes], problem: str) -> None:
    count, found = read(*lines)
    assert count == 0
    assert found is not None
    assert problem in found


def test_a_record_of_pairs_has_the_keys_of_its_line_or_none() -> None:
    reader = RecordReader(pairs_collection(), form=Format.AUTO, source="it", on_skip=None)
    records = reader.read([b'{"search": 30}', b"{}", b'{"serch": 30}'])
    assert np.nan_to_num(records, nan=-1).tolist() == [[30, -1, -1], [-1, -1, -1]]
    assert str(reader.problem).startswith("it:3: a key of the record is none of collection 'features'")


def test_a_json_list_is_refused_as_a_record() -> None:
    assert read("[]", form=Format.JSONL)[1] == 'it:1: not a JSON object: expected {"attribute": "value", ...}'


@pytest.mark.parametrize("first", ["no,some", "bathing", "bathing,mobility,more", "bathing,bathing,mobility"])
def test_a_line_that_is_not_a_header_is_neither_skipped_nor_repeated(first: str) -> None:
    skipped: list[str] = []
    count, problem = read(first, "no,some", skip=skipped)
    assert (count, skipped) == (0, [])
    assert problem is not None
    assert problem.endswith("each once: bathing, mobility")
    assert problem.count("some") == 0, "the words of a missing header are answers"


def test_reading_goes_on_after_skipped_lines() -> None:
    skipped: list[str] = []
    assert read("bathing,mobility", "no,bad", "no,some", "bad,some", skip=skipped) == (1, None)
    assert [problem.split(" ")[0] for problem in skipped] == ["it:2:", "it:4:"]


@pytest.fixture
def standard_input() -> Iterator[int]:
    """Return the writing end of a pipe that this process has as its standard input."""
    saved = os.dup(0)
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    yield writing
    os.dup2(saved, 0)
    os.close(saved)


async def test_lines_are_handed_on_whole_as_they_arrive(standard_input: int) -> None:
    async with asyncio.timeout(30):
        lines = lines_of(Path("-"))
        os.write(standard_input, b"one\ntwo\nthr")
        assert await anext(lines) == [b"one", b"two"]
        os.write(standard_input, b"ee\nfour")
        assert await anext(lines) == [b"three"]
        os.close(standard_input)
        assert await anext(lines) == [b"four"]
        assert await anext(lines, None) is None


async def test_a_long_file_is_read_in_order_and_once(tmp_path: Path) -> None:
    path = tmp_path / "long"
    expected = [str(number).encode() for number in range(200_000)]
    path.write_bytes(b"\n".join(expected))
    assert [line async for lines in lines_of(path) for line in lines] == expected


async def test_a_file_that_cannot_be_read_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        await anext(lines_of(tmp_path))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and does not read")
async def test_a_file_that_opens_but_does_not_read_raises_an_error() -> None:
    with pytest.raises(OSError, match=r"Input/output error"):
        await anext(lines_of(Path("/proc/self/mem")))


def test_what_comes_after_the_reading_has_ended_goes_nowhere(tmp_path: Path) -> None:
    """The thread that reads may outlive the event loop; it once ended with a traceback then."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, b"first\n")
    others = set(threading.enumerate())

    async def first() -> list[bytes]:
        lines = await anext(lines_of(pipe))
        await asyncio.sleep(0.1)  # By then the thread waits for more.
        return lines

    assert asyncio.run(first()) == [b"first"]
    readers = set(threading.enumerate()) - others
    os.write(writer, b"second\n")
    for reader in readers:
        reader.join(10)
    os.close(writer)
    assert not any(reader.is_alive() for reader in readers)
