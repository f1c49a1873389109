"""Tests of `stream-ldp gateway`: what it says of options that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from stream_ldp.cli.gateway import gateway

Run = Callable[..., Result]


def test_a_file_of_tokens_that_cannot_be_read_or_holds_none_is_an_error(
    command_line: Run, survey: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "tokens"
    empty.write_text("\n \n", encoding="utf-8")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    found = ((tmp_path / "absent", "cannot be read"), (empty, "holds no token"), (binary, "not text in UTF-8"))
    for file, said in found:
        result = command_line(gateway, survey, "--tokens-file", file)
        assert result.exit_code == 2
        assert said in result.stderr


@pytest.mark.parametrize("flags", [["--key-file", "k.pem"], ["--cert-file", "absent.pem"]])
def test_a_certificate_that_cannot_be_used_is_an_error(command_line: Run, survey: Path, flags: list[str]) -> None:
    result = command_line(gateway, survey, *flags)
    assert result.exit_code == 2
    assert "cert-file" in result.stderr


@pytest.mark.parametrize("origin", ["page.example", "https://page.example/reports", "https://*.example", "null"])
def test_an_origin_that_no_page_has_is_an_error(command_line: Run, survey: Path, origin: str) -> None:
    result = command_line(gateway, survey, "--origin", "https://good.example", "--origin", origin)
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert f"--origin {origin!r} is no origin: write its scheme and host alone, such as https://a.example" in said


def test_an_unknown_collection_file_is_an_error(command_line: Run, tmp_path: Path) -> None:
    assert command_line(gateway, tmp_path / "absent.yaml").exit_code != 0


def test_a_file_of_tokens_or_a_key_that_everybody_may_read_is_refused(
    command_line: Run, survey: Path, tmp_path: Path
) -> None:
    (secret := tmp_path / "secret").write_text("geheim")
    secret.chmod(0o644)
    certificate = "--cert-file", tmp_path / "cert.pem"
    for flags in (["--tokens-file", secret], [*certificate, "--key-file", secret], ["--cert-file", secret]):
        result = command_line(gateway, survey, *flags)
        assert result.exit_code == 2
        assert f"{flags[-2]} {secret} holds a secret that everybody may read" in result.stderr.replace("\n", "")
