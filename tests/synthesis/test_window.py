"""Tests of what records of a collection are made from."""

import numpy as np

from stream_ldp.records.layout import JointLayout
from stream_ldp.synthesis.window import all_pairs, labels_of
from tests.client.examples import collection_of
from tests.views.examples import collection_of as views_collection


def test_all_attributes_and_pairs_of_records_are_asked_for_without_another_fingerprint() -> None:
    survey = collection_of()
    asked = all_pairs(survey)
    attributes = len(survey.attributes)
    assert len(asked.series) == attributes + attributes * (attributes - 1) // 2
    assert asked.fingerprint == survey.fingerprint
    assert {each.prior for each in asked.series} == {"window"}


def test_whole_reports_are_counted_for_records_without_another_fingerprint() -> None:
    counting = collection_of().counting_all()
    assert counting.fingerprint == collection_of().fingerprint
    assert counting.whole.statistic(None) == ("bathing", "mobility")
    assert set(JointLayout(counting).tallies()) == {("bathing", "mobility"), ("mobility",)}


def test_what_views_count_holds_all_that_is_needed() -> None:
    care = views_collection()
    assert care.counting_all() is care
    assert care.whole is care.series[0]


def test_values_have_their_names() -> None:
    found = labels_of(views_collection(), np.array([[0, 1, 2, 0], [1, 0, 0, 1]]))
    assert {name: column.tolist() for name, column in found.items()} == {
        "walks": ["no", "yes"],
        "bathes": ["yes", "no"],
        "diet": ["plants", "meat"],
        "region": ["north", "south"],
    }
