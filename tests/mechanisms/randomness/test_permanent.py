"""The permanent response is remembered by recomputing it, the instantaneous one is new in every report.

What a bit's probability is, and what reports cost in privacy, is held in tests/mechanisms and tests/audit; the
bytes of the keyed words are held by golden vectors in tests/pipeline/test_wire.py.
"""

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from stream_ldp.mechanisms import RRLDP, OSEntropy, PermanentWords, SeededEntropy

SECRET = bytes(range(32))
#: Wider than the 16 words of one block of the keyed function, and not a multiple of it.
SIZE = 40
MEANING: dict[str, Any] = {
    "collection": "survey",
    "attributes": [("town", [f"town {i}" for i in range(SIZE)])],
    "noise": [[2**29]],
    "counts": [SIZE],
}


def words(secret: bytes = SECRET, value: int = 3, **changes: Any) -> NDArray[np.uint32]:
    return PermanentWords(**(MEANING | changes)).words(secret, [value])


def test_a_permanent_response_is_the_same_in_every_report() -> None:
    assert np.array_equal(words(), words())
    mechanism = RRLDP(sizes=(SIZE,), f=0.5)
    values = np.full((5, 1), 3)
    permanent_words = np.stack([words()] * 5)
    rows = [mechanism.perturb(values, entropy=OSEntropy(), permanent_words=permanent_words) for _ in range(2)]
    assert len(np.unique(np.concatenate(rows), axis=0)) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"secret": SECRET[:-1] + b"x"},
        {"value": 4},
        {"collection": "survey2"},
        {"attributes": [("village", MEANING["attributes"][0][1])]},
        {"attributes": [("town", [*MEANING["attributes"][0][1][:-1], "elsewhere"])]},
        {"attributes": [("town", MEANING["attributes"][0][1][::-1])]},
        {"attributes": [("town", [*MEANING["attributes"][0][1], "elsewhere"])], "counts": [SIZE + 1]},
        {"noise": [[2**29 + 1]]},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_different_meanings_share_no_word(changed: dict[str, Any]) -> None:
    """A word in common would tell, where the responses differ, that the values do. By chance: once in 10^8."""
    assert not np.any(words(**changed)[:SIZE] == words())


def test_no_two_bits_of_a_wide_attribute_share_a_word() -> None:
    """Were a block used twice, bits 16 apart would be flipped together."""
    assert len(words()) == SIZE
    assert len(np.unique(words())) == SIZE


def test_a_word_does_not_depend_on_the_other_attributes_of_a_record() -> None:
    two = PermanentWords(
        collection=MEANING["collection"],
        attributes=[("bathing", ["no", "yes"]), *MEANING["attributes"]],
        noise=MEANING["noise"] * 2,
        counts=[2, SIZE],
    )
    assert np.array_equal(two.words(SECRET, [0, 3])[2:], words())
    assert np.array_equal(two.words(SECRET, [1, 3])[2:], words())


def test_many_users_at_once_have_the_same_words_as_each_alone() -> None:
    keyed = PermanentWords(**MEANING)
    secrets = [bytes([user]) * 32 for user in range(3)]
    values = np.array([[0], [SIZE - 1], [7]])
    each = [keyed.words(secret, row) for secret, row in zip(secrets, values.tolist(), strict=True)]
    assert np.array_equal(keyed.words_of(secrets, values), np.stack(each))
    assert keyed.words_of([], np.zeros((0, 1), dtype=np.intp)).shape == (0, SIZE)


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_secret_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"a user secret has 32 bytes, got {length}"):
        words(secret=bytes(length))


def test_keyed_words_are_uniform() -> None:
    """Of 500 users, by the upper four bits. The secrets are fixed; of all sets of them, one in 10^6 would fail."""
    keyed = PermanentWords(**MEANING)
    drawn = np.concatenate([keyed.words(user.to_bytes(32, "little"), [3]) for user in range(500)])
    observed = np.bincount(drawn >> np.uint32(28), minlength=16)
    expected = len(drawn) / 16
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 15)


def test_an_instantaneous_response_is_drawn_anew_for_every_report() -> None:
    """400 bits that are each the same in two reports with probability 1/2: never all of them."""
    mechanism = RRLDP(sizes=(2,) * 200, f=0.5, p=0.25, q=0.75)
    values = np.zeros((1, 200), dtype=np.intp)
    permanent_words = SeededEntropy(1).words(400).reshape(1, 400)
    first, second = (
        mechanism.perturb(values, entropy=OSEntropy(), permanent_words=permanent_words) for _ in range(2)
    )
    assert not np.array_equal(first, second)


def test_reports_from_the_system_generator_are_as_likely_as_stated() -> None:
    """All 8 reports of 3 bits, 100,000 times, against the channel. By chance, one run in 10^6 fails."""
    mechanism = RRLDP(sizes=(3,), f=0.3, p=0.2, q=0.9)
    users = 100_000
    rows = mechanism.perturb(np.ones((users, 1), dtype=np.intp), entropy=OSEntropy())
    channel = mechanism.channel()
    patterns = np.array([[pattern >> bit & 1 for bit in range(3)] for pattern in range(8)])
    one = np.array([channel.zero, channel.one, channel.zero])
    expected = users * np.where(patterns, one, 1 - one).prod(axis=1)
    observed = np.bincount(rows[:, 0], minlength=8)
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 7)


@pytest.mark.parametrize("value", [-1, 3, 1_000])
def test_a_value_outside_its_attribute_is_refused_and_not_repeated_in_the_error(value: int) -> None:
    mechanism = RRLDP(sizes=(2, 3), f=0.5)
    with pytest.raises(ValueError, match=re.escape("attribute 1 has a value outside 0..2")) as caught:
        mechanism.perturb(np.array([[0, 1], [1, value]]), entropy=SeededEntropy(1))
    assert str(value) not in str(caught.value).replace("0..2", "")


def test_records_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("values must have shape (n, 2), got (4, 1)")):
        RRLDP(sizes=(2, 3), f=0.5).perturb(np.zeros((4, 1), dtype=np.intp), entropy=SeededEntropy(1))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sizes": ()}, "every attribute needs at least 2 values"),
        ({"sizes": (2, 1)}, "every attribute needs at least 2 values"),
        ({"f": 0.0}, "f must be between 0 (no privacy) and 1 (no information)"),
        ({"f": 1.0}, "f must be between 0 (no privacy) and 1 (no information)"),
        # Realised as 0 and as 1.
        ({"f": 2**-33}, "f must be between 0 (no privacy) and 1 (no information)"),
        ({"f": 1 - 2**-33}, "f must be between 0 (no privacy) and 1 (no information)"),
        ({"p": 0.5}, "p and q belong together"),
        ({"p": -0.1, "q": 0.5}, "p is a probability, from 0 to 1"),
        ({"p": 0.5, "q": 0.5}, "p (chance to send 1 for a 0) must be below q"),
        ({"p": 0.5, "q": 0.5 + 2**-34}, "p (chance to send 1 for a 0) must be below q"),
    ],
)
def test_a_mechanism_that_hides_nothing_or_everything_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        RRLDP(**{"sizes": (2, 3), "f": 0.5, **parameters})


def test_a_record_of_other_attributes_is_refused() -> None:
    with pytest.raises(ValueError, match="a value of each of 1 attributes, got 2"):
        PermanentWords(**MEANING).words(SECRET, [3, 4])
