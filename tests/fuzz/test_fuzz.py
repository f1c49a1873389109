"""Tests that no bytes from outside crash a decoder or take more memory than their length allows."""

import importlib.util
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.__main__ import fuzz, summary
from tests.fuzz.decoders import DECODERS, Decoder, TooMuch
from tests.profiles import examples

#: Those whose bytes are read, and those whose bytes choose what is forged, which solve and draw what they make.
FORGERS = [name for name in DECODERS if name.startswith(("finals-of-", "shown-", "following-"))]
READERS = [name for name in DECODERS if name not in FORGERS]

#: Seconds for each decoder in `make test-all`.
SECONDS = 20


@st.composite
def damaged(draw: Any, of: str) -> bytes:
    """Draw bytes of an example with some of them changed, cut out, repeated or put in, or no example at all."""
    data = bytearray(draw(st.sampled_from([*DECODERS[of].examples(), b""])))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 8))
        data[at : at + length] = draw(
            st.one_of(
                st.binary(max_size=12),
                st.sampled_from([b"\xff" * 4, b"\x80" * 9, b"[" * 60, b"-1", b"1e999", b"null"]),
            )
        )
    return bytes(data)


@pytest.mark.parametrize("name", DECODERS)
def test_the_examples_of_each_decoder_can_be_read(name: str) -> None:
    DECODERS[name].warm()
    read = [DECODERS[name].check(each) for each in DECODERS[name].examples()]
    assert any(read), name


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=examples(300, quick=20))
@given(data=st.data())
def test_no_damaged_bytes_crash_a_decoder(name: str, data: st.DataObject) -> None:
    DECODERS[name].check(data.draw(damaged(name)))


@pytest.mark.parametrize("name", FORGERS)
@settings(max_examples=examples(100, quick=5))
@given(choices=st.binary(max_size=80))
def test_no_forged_records_crash_what_takes_them(name: str, choices: bytes) -> None:
    DECODERS[name].check(choices)


@pytest.mark.parametrize("name", READERS)
def test_deep_nesting_crashes_no_decoder(name: str) -> None:
    # The parser of YAML needs a few hundred, and takes long for more.
    levels = 500 if name == "collection" else 50_000
    for opening in (b"[", b'{"a":', b"- "):
        DECODERS[name].check(opening * levels)


def test_a_decoder_that_takes_too_much_is_caught() -> None:
    greedy = Decoder(decode=lambda data: bytes(2**25), refuses=(), examples=lambda: [b""], times=1)
    with pytest.raises(TooMuch, match=r"33,554,\d+ bytes of memory for 3 bytes"):
        greedy.check(b"abc")


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed on this platform")
@pytest.mark.parametrize("name", DECODERS)
def test_a_coverage_guided_fuzzer_finds_no_fault(name: str) -> None:
    done = fuzz(name, seconds=SECONDS)
    assert done.returncode == 0, summary(done)
