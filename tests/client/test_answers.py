"""Tests of which answers are fetched from a topic."""

from datetime import UTC, datetime

import pytest

from stream_ldp.client.answers import Answers, fetch_answers, query
from stream_ldp.client.errors import MissingTopic, UnreadableAnswer
from stream_ldp.kafka.memory import MemoryBroker, connected
from stream_ldp.pipeline.answer import Status
from tests.client.answer_topics import SETTINGS, published
from tests.client.examples import collection_of, estimate_of, of_minute
from tests.client.rankings import films, ranking_of, result_of
from tests.marginals.examples import collection_of as sampled_collection
from tests.marginals.examples import marginals_of

OTHER = {"estimate": "mobility"}


def test_the_last_final_of_each_series_comes_oldest_first() -> None:
    with published(of_minute(0), of_minute(0, **OTHER), of_minute(1), of_minute(2, final=False)):
        answers = query("care-survey", settings=SETTINGS)
    assert list(answers) == [of_minute(0, **OTHER), of_minute(1)]


def test_the_history_comes_whole_or_in_part() -> None:
    history = [of_minute(minute) for minute in range(5)]
    at = [datetime.fromtimestamp(60 * minute, UTC) for minute in range(6)]
    with published(*history):
        assert list(query("care-survey", settings=SETTINGS, last=None)) == history
        assert list(query("care-survey", settings=SETTINGS, last=2)) == history[3:]
        assert list(query("care-survey", settings=SETTINGS, last=None, since=at[3])) == history[3:]
        assert list(query("care-survey", settings=SETTINGS, last=None, until=at[2])) == history[:2]
        assert query("care-survey", settings=SETTINGS, last=None, since=at[1], until=at[3])[:1][0] == history[1]
        assert len(query("care-survey", settings=SETTINGS, last=None, series=["mobility"])) == 0


def test_a_provisional_answer_gives_way_to_later_ones_of_its_window() -> None:
    open_window = [of_minute(1, final=False, reports=count) for count in (10, 20)]
    with published(of_minute(0), *open_window):
        answers = query("care-survey", settings=SETTINGS, provisional=True, last=None)
        assert list(answers) == [of_minute(0), open_window[1]]
    with published(of_minute(0), *open_window, of_minute(1)):
        answers = query("care-survey", settings=SETTINGS, provisional=True, last=None)
        assert list(answers) == [of_minute(0), of_minute(1)]


def test_the_final_answer_of_item_sets_is_the_result_of_an_epoch() -> None:
    with published(result_of(6), ranking_of(epoch=7, phase=1), collection=films()):
        assert list(query("films", settings=SETTINGS)) == [result_of(6)]
        assert list(query(films(), settings=SETTINGS)) == [result_of(6)]


def test_every_kind_is_found_by_its_name_alone() -> None:
    marginals, collection = marginals_of(sampled_collection(), 500), sampled_collection()
    with published(marginals, collection=collection):
        assert list(query(collection.name, settings=SETTINGS)) == [marginals]


async def test_it_can_be_awaited() -> None:
    with published(of_minute(0)):
        assert len(await fetch_answers("care-survey", settings=SETTINGS)) == 1


def test_windows_without_reports_are_left_out() -> None:
    with published(of_minute(0), of_minute(1, status=Status.NO_REPORTS)):
        assert list(query(collection_of(), settings=SETTINGS)) == [of_minute(0)]


def test_what_is_no_answer_is_raised_or_told_and_passed_over() -> None:
    told: list[UnreadableAnswer] = []
    with published(b"{}", of_minute(0)):
        with pytest.raises(UnreadableAnswer, match="offset 0: not an answer"):
            query("care-survey", settings=SETTINGS)
        assert len(query("care-survey", settings=SETTINGS, on_unreadable=told.append)) == 1
    assert [error.offset for error in told] == [0]


def test_a_collection_without_a_topic_is_missing() -> None:
    broker = MemoryBroker(topics=set(), now_ms=0)
    with connected(broker), pytest.raises(MissingTopic, match=r"care-survey\.estimates, .* does not exist"):
        query("care-survey", settings=SETTINGS)


def test_a_time_without_a_zone_and_a_number_below_one_are_refused() -> None:
    with published(), pytest.raises(ValueError, match="time zone"):
        query("care-survey", settings=SETTINGS, since=datetime(2026, 1, 1))  # noqa: DTZ001
    with published(), pytest.raises(ValueError, match="at least 1"):
        query("care-survey", settings=SETTINGS, last=0)


def test_a_name_alone_is_one_attribute_and_not_its_letters() -> None:
    answers = Answers((estimate_of(),))
    assert answers.table(of="mobility").rows == answers.table(of=["mobility"]).rows
    given = answers.table(of=["mobility"], given="bathing")
    assert given.rows == answers.table(of=["mobility"], given=["bathing"]).rows


def test_answers_are_shown_in_a_line_and_not_as_all_that_they_hold() -> None:
    answers = Answers((estimate_of(),))
    assert repr(answers).startswith("<1 answer of care-survey (bathing-mobility), 1970-01-01T00:00:00Z to ")
    assert repr(Answers(())) == "<no answers>"
    assert f"{answers[0]}" == repr(answers[0])
    assert repr(answers[0]).startswith("<Estimate bathing-mobility of care-survey, final, 1970-01-01T00:00:00Z/")
    assert repr(answers[0]).endswith("12,345 reports>")
