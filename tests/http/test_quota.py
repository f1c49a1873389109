"""Tests of what clients may hold."""

from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.http.quota import Quota


def test_nobody_holds_more_than_a_share_and_all_together_no_more_than_there_is() -> None:
    quota = Quota(most=5, share=2)
    assert [quota.take(client) for client in "aaabbcc"] == [True, True, False, True, True, True, False]
    quota.give_back("a", 2)
    assert quota.take("c")
    assert not quota.take("c"), "it has its share"
    assert quota.taken == 4


def test_one_that_stands_for_several_holds_as_many_shares() -> None:
    quota = Quota(most=8, share=2)
    assert [quota.take("proxy", shares=3) for _ in range(7)] == [*[True] * 6, False]
    assert quota.share_is_taken("proxy", shares=3)
    assert not quota.share_is_taken("proxy", shares=4)
    assert [quota.take("other") for _ in range(3)] == [True, True, False]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), max_size=50))
def test_what_is_given_back_is_there_again_and_nobody_is_remembered(amounts: list[tuple[str, int]]) -> None:
    quota = Quota(most=10, share=5)
    taken = [(client, amount) for client, amount in amounts if quota.take(client, amount)]
    assert quota.taken == sum(amount for _, amount in taken) <= 10
    for client, amount in taken:
        quota.give_back(client, amount)
    assert (quota.taken, len(quota._of_client)) == (0, 0)
