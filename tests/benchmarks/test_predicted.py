"""Every kind has generated users, predicts of assumed ones, and is measured by the same loop."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from stream_ldp.evaluation.prediction import predictions
from stream_ldp.evaluation.trial import first_metric
from stream_ldp.kinds import KINDS, kind_of, parse_collection
from tests.benchmarks.predicted import people_of
from tests.populations import ROWS, populations_of


@pytest.mark.parametrize("name", list(KINDS))
def test_each_kind_has_users_and_predicts_of_assumed_ones(name: str, tmp_path: Path) -> None:
    collection_class = KINDS[name].collection
    (setting,) = islice(populations_of(collection_class).settings(np.random.default_rng(0)), 1)
    collection = parse_collection(setting.text)
    assert type(collection) is collection_class
    few = setting._replace(lines=setting.lines[:100])
    assert (len(setting.lines), len(people_of(few, collection, tmp_path))) == (ROWS, 100)
    evaluation = kind_of(collection).evaluation
    found = predictions(collection, evaluation, users=[100])
    assert evaluation.assumes
    assert all(first_metric(evaluation, each.metrics) for each in found)
    assert found
