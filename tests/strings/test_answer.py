"""The message of a ranking of strings, as it is written and read."""

from tests.strings.examples import collection_of, ranking_of
from tests.strings.test_temporal import windows


def test_a_judgement_has_the_questions_the_candidates_and_the_privacy() -> None:
    judged = ranking_of(collection_of()).judgement()
    assert judged.evidence[0].startswith("20,000 reports: ")
    assert " candidates, " in judged.evidence[1]
    assert judged.privacy[0].startswith("pem at epsilon 4.000 a lifetime: ")


def test_a_ranking_of_nothing_says_why() -> None:
    ranking = ranking_of(collection_of(), 2_000)
    nothing, unanswered = (ranking.model_copy(update={"strings": each}).judgement() for each in ((), None))
    assert nothing.evidence[1] == "no string stands out of the noise"
    assert unanswered.evidence[1] == "a question that the ranking takes has no answers"
    assert [judged.facts for judged in (nothing, unanswered)] == [{"reported": "0"}, {"reported": "none"}]


def test_a_judgement_says_how_much_previous_windows_weigh() -> None:
    *_, last = windows(collection_of(window=", returning: 0"), seed=1, starts=range(3), count=3_000)
    assert last.learnt is not None
    weight = f"previous windows weigh as much as {last.learnt.shares.weight:,.0f} reports"
    assert last.judgement().previous == (weight,)


def test_a_judgement_says_where_shares_are_not_the_middle_of_their_intervals() -> None:
    ranking = ranking_of(collection_of())
    assert ranking.strings
    alike, apart = (
        ranking.model_copy(
            update={
                "strings": tuple(each.model_copy(update={"raw": each.projected + by}) for each in ranking.strings)
            }
        ).judgement()
        for by in (0.0, 0.01)
    )
    assert not [each for each in alike.evidence if each.startswith("intervals are around raw estimates")]
    assert [each for each in apart.evidence if each.startswith("intervals are around raw estimates")]
