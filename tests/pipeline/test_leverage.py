"""What liars can move: the bound of every mechanism is attained, and every kind states one of its numbers."""

import itertools

import numpy as np
import pytest

from stream_ldp.kinds import KINDS, kind_of, leverages_of, parse_collection
from stream_ldp.marginals.candidates import cohort_leverage
from stream_ldp.mechanisms import DirectResponse, Mechanism, UnaryResponse
from stream_ldp.mechanisms.randomizer import ValueRandomizer
from stream_ldp.pipeline.leverage import LIARS, Leverage, leverage_section, moved
from tests.benchmarks.liars import SHARES, cases, leverage_of
from tests.catalogue import OF_NUMBERS, OF_RECORDS, OF_VALUES
from tests.paths import REPOSITORY
from tests.schemas.recorded import COLLECTIONS

RANDOMIZERS = [each for each, _ in (*OF_VALUES, *OF_NUMBERS) if isinstance(each, ValueRandomizer) and each.identifies]


def every_row(bits: int) -> np.ndarray:
    numbers = np.arange(2**bits, dtype="<u4")[:, None].view(np.uint8)
    return np.ascontiguousarray(numbers[:, : -(-bits // 8)])


@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=repr)
def test_a_crafted_report_adds_as_much_as_the_leverage_says(randomizer: ValueRandomizer) -> None:
    rows = every_row(randomizer.bits)
    rows = rows[randomizer.valid(rows)]
    added = np.array([randomizer.estimate(randomizer.sums(row[None]), reports=1) for row in rows])
    assert max(added.max(), 1 - added.min()) == pytest.approx(randomizer.leverage)


@pytest.mark.parametrize("mechanism", [each for each, _ in OF_RECORDS], ids=repr)
def test_no_crafted_report_of_a_record_adds_more_to_a_cell(mechanism: Mechanism) -> None:
    rows = every_row(mechanism.bits)
    rows = rows[mechanism.valid(rows)]
    bits = np.unpackbits(rows, axis=1, count=mechanism.bits, bitorder="little")
    bound, factors = 1.0, []
    for attribute, support in enumerate(mechanism.supports):
        columns = list(mechanism.columns([attribute]))
        supported = mechanism.supported(bits[:, columns], [attribute])
        factors.append((supported - support.zero) / (support.one - support.zero))
        bound *= support.leverage
    cells = np.array(
        [factors[0][:, one] * factors[1][:, other] for one, other in itertools.product(range(2), range(2))]
    )
    most = max(cells.max(), 1 - cells.min())
    assert most <= bound * (1 + 1e-12)
    assert most >= 0.4 * bound, "and some add nearly as much"


@pytest.mark.parametrize("oracle", [DirectResponse(size=3, epsilon=1.0), UnaryResponse(size=3, epsilon=1.0)])
def test_a_crafted_report_of_a_cohort_adds_as_much_as_the_leverage_says(
    oracle: DirectResponse | UnaryResponse,
) -> None:
    """By the least squares of two cohorts, each of one report, of which all are tried."""
    design = np.array([[[1, 0, 1], [0, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 1], [0, 1, 0]]], dtype=np.float64)
    rows = every_row(oracle.bits)
    p, q = oracle.support
    shares = np.array([(oracle.sums(row[None])[: oracle.size] - q) / (p - q) for row in rows[oracle.valid(rows)]])
    inverse = np.linalg.pinv(design.reshape(-1, 3))
    # The other cohort adds nothing; a report is one of both, so its part of the mean is a half.
    added = [
        2 * inverse @ np.concatenate([share, np.zeros(3)] if first else [np.zeros(3), share])
        for share in shares
        for first in (True, False)
    ]
    assert max(np.max(added), 1 - np.min(added)) == pytest.approx(cohort_leverage(design, oracle))


def test_liars_who_all_claim_to_be_asked_move_more() -> None:
    alone = Leverage(series="x", of_one=4.0)
    assert alone.moved(liars=0.01) == pytest.approx(0.04)
    # 100 liars beside 990 honest users who are asked, of 10,000.
    few = Leverage(series="x", of_one=4.0, asked=0.1)
    assert few.moved(liars=0.01) == pytest.approx(4 * 100 / (100 + 990))
    counted = Leverage(series="x", about="y", of_one=4.0, counts=True)
    (told,) = moved([alone, counted], series="x", reports=500)[1:]
    assert (told.about, told.liars) == ("y", LIARS)
    assert told.most == pytest.approx(20.0)
    assert moved([alone], series="z", reports=500) == ()
    assert leverage_section([counted]).rows == (("x y", "0.04 of all reports", "0.2 of all reports"),)


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_every_kind_says_what_liars_can_move(kind: str) -> None:
    collection = parse_collection(COLLECTIONS[kind])
    found = kind_of(collection).leverages(collection)
    assert {each.series for each in found} <= {series.name for series in collection.series}
    assert found
    assert all(each.of_one >= 1 and 0 < each.asked <= 1 for each in found), "a lie alone moves one user"
    assert leverages_of(collection) == found
    assert set(COLLECTIONS) >= set(KINDS)


def test_the_table_of_the_page_on_security_has_every_kind_and_its_bounds() -> None:
    """Or a bound that has changed would stand beside gains that were measured under another."""
    page = (REPOSITORY / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    rows = (line.strip("| ").split(" | ") for line in page.splitlines() if line.endswith(" of 5 |"))
    stated = {(name, liars): bound for name, liars, _, _, bound, _ in rows}
    found = {
        (case.name, f"{share:.0%}"): f"{leverage_of(case).moved(liars=share):.3f}"
        for case in cases()
        for share in SHARES
    }
    assert stated == found
    assert {kind_of(case.collection).name for case in cases()} == set(KINDS) - {"coin"}
