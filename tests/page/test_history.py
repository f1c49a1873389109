"""Tests of which answers the page keeps."""

import json

import pytest

from stream_ldp.page.history import History
from tests.client.examples import of_minute
from tests.client.rankings import ranking_of

KNOWN = {"care-survey": {"kind": "records"}, "films": {"kind": "sets"}}


def starts(history: History) -> list[int]:
    return [answer["window"]["start_ms"] // 60_000 for answer in json.loads(b"".join(history.snapshot()))["answers"]]


def test_a_snapshot_has_the_published_messages_oldest_first() -> None:
    history = History(KNOWN)
    second, first = of_minute(2), of_minute(1, estimate="mobility", axes=of_minute(1).axes)
    for each in (second, first):
        assert history.add(each) == each.to_bytes()
    snapshot = json.loads(b"".join(history.snapshot()))
    assert snapshot["collections"] == KNOWN
    assert snapshot["answers"] == [json.loads(first.to_bytes()), json.loads(second.to_bytes())]


def test_before_the_first_answer_a_snapshot_names_the_collections() -> None:
    assert json.loads(b"".join(History(KNOWN).snapshot())) == {"collections": KNOWN, "answers": []}


def test_only_the_last_finals_of_a_series_are_kept() -> None:
    history = History(KNOWN, finals=2)
    for minute in range(5):
        history.add(of_minute(minute))
    assert starts(history) == [3, 4]


def test_a_provisional_answer_replaces_the_one_before_and_goes_when_its_window_is_final() -> None:
    history = History(KNOWN)
    history.add(of_minute(1, final=False, reports=5))
    history.add(of_minute(1, final=False, reports=6))
    assert [answer["reports"] for answer in json.loads(b"".join(history.snapshot()))["answers"]] == [6]
    history.add(of_minute(1))
    assert [answer["final"] for answer in json.loads(b"".join(history.snapshot()))["answers"]] == [True]


def test_a_provisional_answer_of_a_later_window_stays_when_an_earlier_one_is_final() -> None:
    history = History(KNOWN)
    history.add(of_minute(2, final=False))
    history.add(of_minute(1))
    assert starts(history) == [1, 2]


def test_an_answer_to_a_window_that_is_final_already_is_no_news() -> None:
    history = History(KNOWN)
    history.add(of_minute(3))
    assert history.add(of_minute(3, final=False)) is None
    assert history.add(of_minute(2)) is None
    assert starts(history) == [3]


def test_each_phase_of_an_epoch_is_a_series_of_its_own() -> None:
    history = History(KNOWN)
    for phase in (1, 2):
        assert history.add(ranking_of(epoch=0, phase=phase)) is not None
    assert history.add(ranking_of(epoch=1, phase=1)) is not None
    assert len(starts(history)) == 3


def test_an_answer_of_a_collection_that_is_not_served_is_refused() -> None:
    with pytest.raises(KeyError, match="films"):
        History({"care-survey": {"kind": "records"}}).add(ranking_of(epoch=0, phase=1))


def test_readers_share_the_bytes_of_the_answers_and_get_those_of_when_they_asked() -> None:
    history = History(KNOWN)
    for minute in (1, 2):
        history.add(of_minute(minute))
    first, second = history.snapshot(), history.snapshot()
    history.add(of_minute(3))
    assert all(one is other for one, other in zip(list(first)[1:], list(second)[1:], strict=True))
    assert starts(history) == [1, 2, 3]


def test_browsers_are_shown_labels_and_programs_the_values() -> None:
    history = History(KNOWN, labels={"care-survey": {"bathing": {"no": "Alone", "yes": "no"}}})
    history.add(of_minute(1))
    (shown,) = json.loads(b"".join(history.snapshot()))["answers"]
    assert shown["axes"][0] == {"attribute": "bathing", "values": ["Alone", "no"]}
    assert history.finals("care-survey") == [of_minute(1)]


def test_finals_are_found_while_the_first_answer_of_a_further_series_comes() -> None:
    history = History(KNOWN)

    class Asked(str):
        """A name during whose comparison an answer comes, as it may while a thread looks for finals."""

        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            history.add(of_minute(1, estimate="mobility", axes=of_minute(1).axes))
            return str(self) == other

    history.add(of_minute(1, estimate="age", axes=of_minute(1).axes))
    history.add(of_minute(1))
    assert history.oldest(Asked("care-survey")) == 60_000
    assert len(history.finals("care-survey")) == 3
