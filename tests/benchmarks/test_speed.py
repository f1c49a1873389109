"""The benchmark of speed runs, and its table has the numbers that were measured. No time decides a test."""

import json

import numpy as np
import pytest

from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowTable
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.layout import JointLayout
from tests.benchmarks.speed import before, table
from tests.benchmarks.speed.__main__ import KERNELS, ON_KAFKA, main
from tests.benchmarks.speed.counting import collection_of
from tests.benchmarks.speed.goals import GOALS, goal_of
from tests.paths import REPOSITORY
from tests.records.estimators.examples import draw, latent


def test_the_table_of_speed_is_made_from_what_was_measured() -> None:
    assert table.made(table.kept()) in (REPOSITORY / "tests" / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert {row["kernel"] for row in table.kept()["rows"]} == {*KERNELS, *ON_KAFKA}


def test_every_goal_has_its_rows() -> None:
    works = [row["work"] for row in table.kept()["rows"]]
    assert {id(goal_of(work)) for work in works} >= {id(each) for each in GOALS}


def test_every_kernel_can_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--smoke", "--without-kafka"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["kernel"] for row in rows} == set(KERNELS)
    assert all(row["now"] > 0 for row in rows)


@pytest.mark.long
@pytest.mark.parametrize("kernel", ON_KAFKA)
def test_every_whole_process_can_be_measured(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--smoke", "--only", kernel])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows
    assert all(row["now"] > 0 for row in rows)


def test_the_plain_forms_of_the_solver_find_what_the_shipped_one_does() -> None:
    joint = latent((3, 4, 2), seed=1)
    counts, channel = draw(joint, 2_000, f=0.3, seed=1)
    supports = [channel] * joint.ndim
    shipped = Likelihood.of(counts, sizes=joint.shape, supports=supports).score(joint)
    for plain in (
        before.score_by_row(counts, joint.shape, supports, joint),
        before.DenseEM(counts, joint.shape, supports).score(joint),
    ):
        np.testing.assert_allclose(plain.gradient, shipped.gradient, rtol=1e-9)


def test_the_plain_forms_of_counting_and_perturbing_find_what_the_shipped_ones_do() -> None:
    collection = collection_of((8,) * 8)
    layout, mechanism = JointLayout(collection), collection.mechanism
    assert isinstance(mechanism, RRLDP)
    values = np.random.default_rng(1).integers(8, size=(20, 8))
    rows = mechanism.perturb(values, entropy=SeededEntropy(1))
    # So few decisions are taken word by word, in the same order.
    np.testing.assert_array_equal(before.perturb_by_word(mechanism, values, SeededEntropy(1)), rows)
    tallies = layout.tallies()
    layout.count(tallies, rows)
    columns = [np.array(collection.bits_of(each.of)) for each in collection.estimates]
    for each, patterns in zip(collection.estimates, before.count_unpacked(rows, layout.bits, columns), strict=True):
        counted = tallies[each.of].take_changed(closing=True)[0]
        assert isinstance(counted, RowTable)
        assert counted.reports == patterns.sum() == len(rows)
        np.testing.assert_array_equal(counted.counts, patterns)
