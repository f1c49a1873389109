"""These tests read what is to be audited from a file or a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.audits import document, run


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("hadamard:size=8", "not a mechanism; write it like hadamard:size=8,epsilon=1,hash_bits=1"),
        ("hadamard:size=8,epsilon=1,bits=1", "not a mechanism; write it like hadamard:"),
        ("set-hadamard:size=8,slots=2,epsilon=1,hash_bits=1", "1 bits of hash are for 1 to 1 slots, got 2"),
        ("direct:size=1,epsilon=1", "2 to 2^32 choices, got size=1"),
        ("unary:size=8,epsilon=0", "epsilon must be positive and finite, got 0.0"),
        ("unary:size=8.5,epsilon=1", "size: expected a whole number, got '8.5'"),
        ("rr-ldp:", "not a mechanism; write it like rr-ldp:f=0.5,p=0.5,q=0.75,sizes=2x3"),
        ("rr-ldp:f=0.5", "not a mechanism"),
        ("rr-ldp:f=0.5,sizes=2,z=1", "not a mechanism"),
        ("rr-ldp:f=2,sizes=2", "f must be between 0 (no privacy) and 1"),
        ("rr-ldp:f=0.5,sizes=1x2", "every attribute needs at least 2 values"),
        ("rr-ldp:f=half,sizes=2", "f: 'half' is not a number"),
        ("k-rr", "not a mechanism"),
        ("rr-lpd:f=0.5,sizes=2", "no such file, and 'rr-lpd' is no mechanism; did you mean 'rr-ldp'?"),
        ("svim:epsilon=3,k=3", "svim is a mechanism of collections of sets: write it in a collection file"),
    ],
)
def test_why_a_mechanism_cannot_be_read_is_explained(subject: str, message: str) -> None:
    result = run(subject, "--exact")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_file_is_read_although_its_name_looks_like_a_mechanism(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(collection.parent)
    collection.rename("rr-ldp:survey.yaml")
    assert document("rr-ldp:survey.yaml", "--trials", 100, "--seed", 1)["results"]
