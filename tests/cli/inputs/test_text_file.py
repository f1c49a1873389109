"""A text file is read whether it is gzipped or not, and what is wrong with it is said at whatever line it shows."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from stream_ldp.cli.inputs.text_file import text_of
from stream_ldp.errors import DataError

TEXT = "\ufeffname\r\n" + "ä\r\n" * 100_000


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_text_is_the_same_gzipped_or_not_without_its_byte_order_mark(tmp_path: Path, name: str) -> None:
    data = TEXT.encode()
    (path := tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with text_of(path) as file:
        assert file.read() == TEXT[1:]


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("cut.gz", gzip.compress(TEXT.encode())[:-20], "it is not gzip, or damaged or cut short"),
        ("plain.gz", TEXT.encode(), "it is not gzip, or damaged or cut short"),
        ("late.csv", TEXT.encode() + b"\xff", "not text in UTF-8; the name of a gzipped file must end in .gz"),
        ("missing.csv", None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_to_its_end_is_named_with_the_reason(
    tmp_path: Path, name: str, data: bytes | None, problem: str
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)

    def read() -> None:
        with text_of(path) as file:
            for _ in file:
                pass

    with pytest.raises(DataError) as refusal:
        read()
    assert str(refusal.value).startswith(f"{path}: ")
    assert str(refusal.value).endswith(problem)
