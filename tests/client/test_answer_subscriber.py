"""Tests of what every subscriber refuses; test_subscriber.py has what each hands out."""

from __future__ import annotations

import pytest

from stream_ldp.client import NotAnEstimate, Subscriber
from stream_ldp.errors import ParameterError
from tests.client.answer_topics import SETTINGS, published
from tests.client.examples import collection_of, estimate_of


def test_a_group_member_that_does_not_follow_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a group member has to follow"):
        Subscriber("care-survey", settings=SETTINGS, group="readers", follow=False)


def test_a_subscriber_says_that_it_takes_a_name_in_place_of_a_collection() -> None:
    with pytest.raises(TypeError, match="Subscriber takes the name of a collection, not a JointCollection"):
        Subscriber(collection_of(), settings=SETTINGS)  # type: ignore[arg-type]


def test_the_name_of_a_file_is_refused_in_place_of_that_of_a_collection() -> None:
    with pytest.raises(ParameterError, match=r"'survey\.yaml' is not the name of a collection: give the one"):
        Subscriber("survey.yaml", settings=SETTINGS)


async def test_the_answer_of_another_collection_is_refused_and_reading_goes_on() -> None:
    strange = estimate_of().model_copy(update={"collection": "other"})
    with published(strange, estimate_of()):
        async with Subscriber("care-survey", settings=SETTINGS, from_beginning=True, follow=False) as estimates:
            with pytest.raises(NotAnEstimate, match=r"offset 0: not an estimate: it is of other, not of care-survey"):
                await anext(estimates)
            assert [each async for each in estimates] == [estimate_of()]
