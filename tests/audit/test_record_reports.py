"""What `perturb` sends is what its parts draw, for one user and several, and permanent words are all different."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.audit import record_reports
from stream_ldp.audit.enumeration import Enumeration
from stream_ldp.audit.record_reports import record_differences
from stream_ldp.mechanisms import KRR, RRLDP, Entropy, Mechanism, PermanentWords
from stream_ldp.mechanisms.randomness.entropy import WordEntropy
from tests.audit import broken

LOW_NOISE = {"f": 0.3, "p": 0.2, "q": 0.8}


def differences(mechanism: Mechanism, words: type[PermanentWords] = PermanentWords) -> Iterator[str]:
    """Find where a mechanism, and permanent words, are not what is stated."""
    return record_differences(mechanism, keyed(mechanism, words), realised=Enumeration.realised(mechanism))


def keyed(mechanism: Mechanism, words: type[PermanentWords]) -> PermanentWords:
    attributes = [(f"a{place}", [str(value) for value in range(size)]) for place, size in enumerate(mechanism.sizes)]
    return words(collection="audited", attributes=attributes, noise=mechanism.noise, counts=mechanism.words)


@pytest.mark.parametrize(
    "mechanism",
    [
        RRLDP(sizes=(2, 3), **LOW_NOISE),
        pytest.param(RRLDP(sizes=(30, 2, 5), f=0.5, p=0.5, q=0.75), marks=pytest.mark.long),
        RRLDP(sizes=(3,), f=0.3),
        KRR(sizes=(3, 4, 5), attribute_epsilon=2.0),
    ],
    ids=repr,
)
def test_an_honest_mechanism_has_no_differences(mechanism: Mechanism) -> None:
    assert list(differences(mechanism)) == []


class PerturbsOneUserOnly(RRLDP):
    """Sends all users of a call but the first in the clear."""

    def perturb(
        self, values: NDArray[np.integer], *, entropy: Entropy, permanent_words: NDArray[np.uint32] | None = None
    ) -> NDArray[np.uint8]:
        rows = super().perturb(values, entropy=entropy, permanent_words=permanent_words)
        rows[1:] = self.packed(broken.one_hot(self, values))[1:]
        return rows


class SendsWideRecordsInTheClear(broken.SendsInTheClear):
    """Sends only records with more than 40 bits in the clear."""

    def perturb(
        self, values: NDArray[np.integer], *, entropy: Entropy, permanent_words: NDArray[np.uint32] | None = None
    ) -> NDArray[np.uint8]:
        honest = broken.SendsInTheClear if self.bits > 40 else RRLDP
        return honest.perturb(self, values, entropy=entropy, permanent_words=permanent_words)


@pytest.mark.parametrize(
    ("mechanism", "place"),
    [
        (broken.SendsInTheClear(sizes=(2, 3), **LOW_NOISE), "one user, record (0, 0), no permanent words: it sends"),
        (broken.RedrawsPermanent(sizes=(2, 3), **LOW_NOISE), "one user, record (0, 0), permanent response"),
        (PerturbsOneUserOnly(sizes=(2, 3), **LOW_NOISE), "two users in a call, records ((0,), (0,)), no permanent"),
        (SendsWideRecordsInTheClear(sizes=(45,), **LOW_NOISE), "1 users in a call, without permanent words"),
        (broken.NeverClearsOneBit(sizes=(2, 3), **LOW_NOISE), "permanent, symbol 2 of attribute 1"),
        (broken.SwapsPAndQ(sizes=(2, 3), **LOW_NOISE), "instantaneous, symbol 0 of attribute 0"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_where_a_mechanism_differs_is_said_first(mechanism: Mechanism, place: str) -> None:
    assert place in next(differences(mechanism))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (broken.IgnoresSecret, "all users have the same word 0"),
        (broken.IgnoresValue, "value 0 of attribute 0 and word 0 of value 1 of attribute 0 are the same"),
        (broken.IgnoresAttribute, "of attribute 0 and word 0 of value 0 of attribute 1 are the same"),
        (broken.IgnoresBit, "word 0 of value 0 of attribute 0 and word 1 of value 0 of attribute 0 are the same"),
        (broken.RepeatsABlock, "word 0 of value 0 of attribute 0 and word 16 of value 0 of attribute 0 are the same"),
        (broken.CoarseWords, "bit 0 of a word is always the same"),
    ],
)
def test_permanent_words_that_are_shared_are_named(words: type[PermanentWords], problem: str) -> None:
    mechanism = RRLDP(sizes=(20, 20), f=0.3)
    (found, *_) = record_reports._of_words(mechanism, keyed(mechanism, words))
    assert problem in found


def test_permanent_words_are_looked_at_with_all_else() -> None:
    (found,) = differences(RRLDP(sizes=(2,), f=0.3), broken.IgnoresSecret)
    assert "all users have the same word 0" in found


def test_an_edge_that_is_off_by_one_word_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def below(self: WordEntropy, thresholds: NDArray[np.integer]) -> Any:
        return self.words(thresholds.size).reshape(thresholds.shape) <= thresholds

    monkeypatch.setattr(WordEntropy, "below", below)
    assert any("RRLDP.permanent" in each for each in differences(RRLDP(sizes=(2, 3), **LOW_NOISE)))
