"""Tests of the one form in which origins are compared."""

import pytest

from stream_ldp.http.origins import origin_of


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://page.example", "https://page.example"),
        ("HTTPS://Page.Example", "https://page.example"),
        (" https://page.example/ ", "https://page.example"),
        ("https://page.example:443", "https://page.example"),
        ("http://page.example:80/", "http://page.example"),
        ("http://page.example:443", "http://page.example:443"),
        ("https://page.example:8443", "https://page.example:8443"),
        ("https://b\u00fccher.example", "https://xn--bcher-kva.example"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("http://[2001:DB8:0::1]:8080", "http://[2001:db8::1]:8080"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("capacitor://localhost", "capacitor://localhost"),
        ("chrome-extension://abcdefgh", "chrome-extension://abcdefgh"),
    ],
)
def test_an_origin_has_one_form(text: str, origin: str) -> None:
    assert origin_of(text) == origin
    assert origin_of(origin) == origin


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "null",
            "page.example",
            "page.example:443",
            "//page.example",
            "https://",
            "file://",
            "https:page.example",
        ),
        *("https://page.example/path", "https://page.example/?", "https://page.example#", "https://a@page.example"),
        *("https://*.example", "https://a b.example", "https://a%2eb", "https://a\nb", "https://page.example:99999"),
        *("https://page.example:x", "https://[::1", "https://a\u200bb.example", "https://\ud800", "*"),
        "https://a.example https://b.example",
    ],
)
def test_what_is_no_origin_has_none(text: str) -> None:
    assert origin_of(text) is None
