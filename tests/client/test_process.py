"""Tests of clients in processes of their own: what becomes of those that do not speak the protocol."""

import sys

import pytest

from stream_ldp.client.process import ClientFailed, ClientProcess


def program(answer: str) -> ClientProcess:
    """Return a client that answers the first request with a line, and waits for the end of its input."""
    code = f"import sys; sys.stdin.readline(); print({answer!r}, flush=True); sys.stdin.read()"
    return ClientProcess([sys.executable, "-S", "-c", code], patience=10)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("hello", "no JSON object: hello"),
        ("[]", "no JSON object"),
        ('{"protocol": 2}', "speaks protocol 2, not 1"),
        ('{"failed": "a fault"}', "a fault"),
        ('{"refused": "bad_mood", "detail": "not now"}', "bad_mood: not now"),
    ],
)
def test_a_program_that_is_no_client_is_named_with_its_fault(answer: str, problem: str) -> None:
    with pytest.raises(ClientFailed, match=problem), program(answer):
        pass


def test_a_program_that_is_missing_is_named() -> None:
    with pytest.raises(ClientFailed, match="no-such-client cannot be started"), ClientProcess(["no-such-client"]):
        pass


def test_a_program_that_does_not_answer_is_ended() -> None:
    silent = ClientProcess([sys.executable, "-S", "-c", "import time; time.sleep(60)"], patience=0.3)
    with pytest.raises(ClientFailed, match="status -9"), silent:
        pass


def test_a_client_is_used_inside_its_block() -> None:
    with pytest.raises(RuntimeError, match="with"):
        program("").spent("ada")
