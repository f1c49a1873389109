"""A round of item sets is read only if the collection may ask it, and follows from a ranking."""

import pytest

from stream_ldp.pipeline.merging import Merge
from stream_ldp.sets.asking import ROUNDS
from stream_ldp.sets.rounds import Round, RoundRefused
from tests.sets.examples import answers, batch, collection_of, decided, flush, learned, round_of

GFIM = collection_of()


def test_a_round_that_the_collection_never_asks_is_not_read() -> None:
    asked = round_of(GFIM, candidates=[1, 2])
    assert ROUNDS.read(GFIM, asked.to_bytes()) == asked
    dearer = asked.model_copy(update={"epsilon": 2 * asked.epsilon})
    with pytest.raises(RoundRefused):
        ROUNDS.read(GFIM, dearer.to_bytes())
    with pytest.raises(ValueError, match="record"):
        ROUNDS.read(GFIM, b"garbage")


def test_the_round_after_a_ranking_asks_what_the_ranking_says_and_none_follows_the_last() -> None:
    first = Round.first(GFIM, epoch=0)
    state = learned(GFIM)
    state.count([0], [0], [batch(first, answers(GFIM, first, [[1], [2], [1, 2]]), batch_id=0)])
    merge = Merge(GFIM, partitions=1)
    for partial in flush(state):
        merge.apply(partial)
    ranking = decided(merge, 0, "phase-1")
    following = ROUNDS.after(GFIM, ranking)
    assert following is not None
    assert (following.phase, following.epoch, following.fingerprint) == (2, 0, ranking.next_fingerprint)
    following.check(GFIM)
    assert ROUNDS.after(GFIM, ranking.model_copy(update={"next_phase": None})) is None
