"""A token is brought as a bearer token or, where that is let in, as a password; nothing else opens a port."""

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from stream_ldp.http.token import Tokens


def admits(tokens: Tokens, authorization: str | None) -> bool:
    headers = {} if authorization is None else {"Authorization": authorization}
    request: Any = SimpleNamespace(headers=headers)
    return tokens.admits(request)


def basic(name: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


@pytest.mark.parametrize(
    "authorization", ["Bearer geheim", "bearer geheim", basic("", "geheim"), basic("me", "geheim")]
)
def test_the_token_opens_as_it_may_be_brought(authorization: str) -> None:
    assert admits(Tokens.of("geheim", basic=True), authorization)


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "geheim",
        "Bearer",
        "Bearer geheim2",
        "Bearer gehei",
        "Bearer \udcff",
        "Token geheim",
        "Basic",
        "Basic geheim",
        "Basic !!!",
        "Basic \udcff",
        basic("geheim", ""),
        basic("geheim", "falsch"),
        f"Basic {base64.b64encode(b'geheim').decode()}",
    ],
)
def test_nothing_else_opens(authorization: str | None) -> None:
    assert not admits(Tokens.of("geheim", basic=True), authorization)


def test_a_password_opens_only_where_it_is_let_in() -> None:
    assert not admits(Tokens.of("geheim"), basic("me", "geheim"))
    assert Tokens.of("geheim").challenges == ("Bearer",)
    assert [each.split()[0] for each in Tokens.of("geheim", basic=True).challenges] == ["Basic", "Bearer"]


def test_a_password_may_have_a_colon_and_other_letters() -> None:
    assert admits(Tokens.of("ä:b", basic=True), basic("me", "ä:b"))


def test_without_a_token_everyone_is_let_in_and_none_shows_it() -> None:
    assert admits(Tokens(), None)
    assert "geheim" not in repr(Tokens.of("geheim"))
