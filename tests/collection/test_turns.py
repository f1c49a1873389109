"""The turns of users: once in every w windows, whatever the user holds."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.collection import CollectionError
from stream_ldp.collection.turns import turn_places
from stream_ldp.kinds import parse_collection

SURVEY = """\
collection: care
mechanism: {kind: k-rr, epsilon: 1}
attributes: [{name: bathing, values: [no, yes]}]
window: {size: 1d}
estimates: [{name: bathing, of: [bathing]}]
"""
FILMS = """\
collection: films
mechanism: {kind: svim, epsilon: 2, k: 3}
items: {size: 9}
window: {size: 1h}
"""
SECRETS = [hashlib.sha256(bytes([user])).digest() for user in range(200)]


@given(every=st.integers(1, 30), first=st.integers(-100, 100))
def test_every_user_has_one_of_the_turns_that_follow_each_other(every: int, first: int) -> None:
    collection = parse_collection(SURVEY + f"rotate: {every}")
    turns = [collection.has_turn(SECRETS[:20], number=number) for number in range(first, first + every)]
    assert (np.sum(turns, axis=0) == 1).all()


def test_all_places_are_taken_about_alike() -> None:
    """Of 200 given users on 4 places; a standard deviation is 6.1."""
    counts = np.bincount(turn_places(SECRETS, fingerprint=bytes(16), every=4), minlength=4)
    assert len(counts) == 4
    assert abs(counts - 50).max() < 25


def test_users_have_other_places_in_another_collection() -> None:
    places = [turn_places(SECRETS, fingerprint=bytes([each] * 16), every=5).tolist() for each in (0, 1)]
    assert places[0] != places[1]


def test_turns_change_the_fingerprint() -> None:
    texts = (SURVEY, SURVEY + "rotate: 1", SURVEY + "rotate: 2", SURVEY.replace("1d", "2d") + "rotate: 2")
    assert len({parse_collection(text).fingerprint for text in texts}) == 4


def test_phases_of_an_epoch_are_one_turn() -> None:
    sequential = parse_collection(FILMS + "rotate: 2")
    assert sequential.turn_ms == 3 * 3_600_000
    assert parse_collection(FILMS + "rotate: 2\nepochs: pipelined").turn_ms == 3_600_000


@pytest.mark.parametrize(
    ("line", "more", "place", "problem"),
    [
        ("rotate: 0", "", "rotate", "(greater than or equal to|at least) 1"),
        ("rotate: 2.5", "", "rotate", "expected a whole number"),
        ("rotate: 31", "", "rotate", "answers are kept for 30d.*give at most 30"),
        ("rotate: 2", "sample: 0.5", "sample", "rotate already asks some.*leave it out, or make rotate larger"),
        ("rotate: 2", "linked: 7d", "linked", "nothing is gained by linking it: leave it out"),
        ("rotate: 2", "window.hop: 12h", "window.hop", "a turn is a window of its own: leave it out"),
        ("rotate: 2", "window.memory: 0.5", "window.memory", "a turn is a window of its own: leave it out"),
        ("rotate: 2", "window.returning: 0.5", "window.returning", "leave it out"),
        (
            "rotate: 2",
            "window.reports_per_user: 2",
            "window.reports_per_user",
            "reports once in a turn: leave it out",
        ),
    ],
)
def test_what_contradicts_turns_is_refused_with_its_place_and_a_cure(
    line: str, more: str, place: str, problem: str
) -> None:
    text = SURVEY
    if more.startswith("window."):
        text = text.replace("size: 1d", "size: 1d, " + more.removeprefix("window."))
        more = ""
    if "linked" in more:
        text = text.replace("{kind: k-rr, epsilon: 1}", "{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}")
    with pytest.raises(CollectionError, match=rf"(?s):\d+:\d+: {place}: .*{problem}"):
        parse_collection(f"{text}{line}\n{more}\n")


def test_item_sets_have_no_sample_beside_turns() -> None:
    with pytest.raises(CollectionError, match="sample: rotate already asks some"):
        parse_collection(FILMS + "rotate: 2\nsample: 0.5")


@pytest.mark.parametrize(
    ("window", "problem"),
    [
        ("size: 1h, period: 90m", "a period is a whole number of windows of 1h, got 90m"),
        ("size: 1h, period: 0h", "a period is longer than nothing"),
        ("size: 1h, period: 169h", "at most 168 windows.*got 169: make windows longer"),
        ("size: 1h, hop: 30m, period: 24h", "hop or memory do not learn from each other.*leave it out"),
    ],
)
def test_a_period_that_windows_cannot_have_is_refused(window: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=rf"(?s):\d+:\d+: window.period: .*{problem}"):
        parse_collection(SURVEY.replace("size: 1d", window))


def test_epochs_alternate_as_a_whole() -> None:
    films = parse_collection(FILMS.replace("size: 1h", "size: 1h, period: 24h"))
    # Phase 1 of an epoch learns from the last phase of the epoch a day before.
    assert films.same_phase_ms(48 * 3_600_000, period_ms=films.window.period_ms) == (24 + 2) * 3_600_000
    assert films.period_turns == 8
    with pytest.raises(CollectionError, match="whole number of epochs of 10800000 ms"):
        parse_collection(FILMS.replace("size: 1h", "size: 1h, period: 25h"))
    with pytest.raises(CollectionError, match="make epochs sequential"):
        parse_collection(FILMS.replace("size: 1h", "size: 1h, period: 24h") + "epochs: pipelined")


def test_a_period_leaves_the_fingerprint_as_it_is() -> None:
    texts = SURVEY, SURVEY.replace("size: 1d", "size: 1d, period: 7d")
    assert len({parse_collection(text).fingerprint for text in texts}) == 1
