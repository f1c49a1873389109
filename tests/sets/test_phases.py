"""Tests of phases: they ask the users in their share, and every inquiry has a fingerprint of its own."""

import numpy as np
import pytest

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.sets.phases import Inquiry, Phase, Target

COLLECTION = "b03f12fe79fa4c019fd3b3880d46d8e6"


def test_a_phase_asks_from_the_beginning_of_its_share_up_to_its_end() -> None:
    words = np.array([0, 9, 10, 19, 20, RESOLUTION - 1], dtype=np.uint32)
    some = Phase(number=1, asked=Target.ITEM, share=(10, 20), epsilon=1.0)
    assert some.asks(words).tolist() == [False, False, True, True, False, False]
    everybody = Phase(number=1, asked=Target.ITEM, share=(0, RESOLUTION), epsilon=1.0)
    assert everybody.asks(words).all()
    assert everybody.part == 1.0


def test_the_fingerprint_of_a_later_phase_is_that_of_all_that_is_asked() -> None:
    """The literal is that of the golden round."""
    asked = Inquiry(phase=2, candidates=np.array([2, 0, 7, 1, 9, 3]), padding=3)
    assert asked.fingerprint(COLLECTION, epoch=9_777_777).hex() == "640a6835ad446901028cf6bda4e77843"


@pytest.mark.parametrize("epoch", [0, 9_777_777])
def test_the_fingerprint_of_a_first_phase_is_the_collections_in_every_epoch(epoch: int) -> None:
    asked = Inquiry(phase=1, candidates=None, padding=3)
    assert asked.fingerprint(COLLECTION, epoch=epoch).hex() == COLLECTION


def test_the_correction_is_not_asked_of_clients_and_leaves_the_fingerprint() -> None:
    plain, corrected = (
        Inquiry(phase=3, candidates=np.arange(4), padding=2, correction=correction) for correction in (1.0, 1.5)
    )
    assert plain.fingerprint(COLLECTION, epoch=1) == corrected.fingerprint(COLLECTION, epoch=1)
