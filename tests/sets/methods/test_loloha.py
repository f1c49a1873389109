"""LOLOHA as a method: one phase, which memoises."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import RESOLUTION, SeededEntropy
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.evaluation import run_epoch
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import epoch_epsilon, epochs_epsilon
from stream_ldp.sets.reports import permanent_words
from stream_ldp.sets.sampling import respond
from tests.sets.methods.examples import build, method

MEMOISED = ItemCollection.parse("""
collection: memoised
mechanism: {kind: loloha, epsilon: 2, lifetime: 2.5, k: 8, set_size: 2}
items: {size: 8}
window: {size: 60s, grace: 5s}
""")


def test_it_asks_all_users_in_one_phase() -> None:
    (phase,) = build("loloha").phases
    assert phase.share == (0, RESOLUTION)
    assert phase.memoised is not None


def test_all_epochs_cost_what_the_file_says_or_twice_as_much_as_one() -> None:
    assert epochs_epsilon(build("loloha", lifetime=3.0), epochs=math.inf) == pytest.approx(3.0, abs=1e-8)
    assert epochs_epsilon(build("loloha"), epochs=math.inf) == pytest.approx(4.0, abs=1e-8)
    assert epochs_epsilon(build("loloha"), epochs=1) == pytest.approx(epoch_epsilon(build("loloha")), abs=1e-8)
    assert epochs_epsilon(build("svim"), epochs=math.inf) == math.inf
    assert epochs_epsilon(build("svim"), epochs=3) == 6.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lifetime": 2.0}, "one report has to cost less than the lifetime"),
        ({"lifetime": 30.0}, "beyond the resolution"),
        ({"k_max": 9}, "no candidates: leave it out"),
        ({"hash_bits": 2}, "loloha has no hash_bits, which is for"),
        ({"set_size": None}, "loloha needs set_size"),
        ({"epsilon": 25.0}, "epsilon"),
    ],
)
def test_an_impossible_option_is_refused_with_what_is_possible(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build("loloha", **changes)


def estimates(secrets: list[bytes], *, epochs: int) -> NDArray[np.float64]:
    """Estimate items 0 and 5 in each epoch: of users of whom half hold 0 and 1, and nobody 5."""
    method = MEMOISED.method
    sets = ItemSets.of([[0, 1] if user % 2 else [2] for user in range(len(secrets))])
    keyed = [permanent_words(MEMOISED, key=secret) for secret in secrets]
    found = []
    for epoch in range(epochs):
        rows = respond(method, method.first(), sets, entropy=SeededEntropy(epoch), permanent=keyed)
        sums = method.oracle(method.first()).sums(rows)
        estimate, _ = method.solve(method.first(), sums=sums, reports=len(rows), before=None)
        order = np.argsort(estimate.items)
        found.append([*estimate.frequency[order][[0, 5]], *estimate.standard_error[order][[0, 5]]])
    return np.array(found)


def secrets_of(population: int, users: int) -> list[bytes]:
    return [population.to_bytes(16, "big") + user.to_bytes(16, "big") for user in range(users)]


def test_memoised_reports_give_unbiased_estimates_with_the_errors_that_are_stated() -> None:
    """Seeded, 60 populations. A mean of z beyond 0.7 comes once in 10^7 seeds, a deviation so far off in 10^5."""
    found = np.concatenate([estimates(secrets_of(population, 150), epochs=1) for population in range(60)])
    scores = (found[:, :2] - [0.5, 0.0]) / found[:, 2:]
    assert np.abs(scores.mean(axis=0)).max() < 0.7
    assert 0.6 < scores.std(axis=0).min() <= scores.std(axis=0).max() < 1.5


def test_the_errors_of_the_same_users_in_several_epochs_are_alike() -> None:
    """What the README says of averages: here, fresh noise has 19 % of the variance, 44 % of the deviation."""
    found = estimates(secrets_of(1, 400), epochs=12)
    assert (found[:, :2].std(axis=0) < 0.8 * found[:, 2:].mean(axis=0)).all()


def test_what_larger_sets_may_have_lost_is_in_doubt_unless_a_set_of_all_items_fits() -> None:
    """The only phase tells nothing of them; of many reports, noise is the smaller part of a frequent item's error."""
    frequent = [0.0, 0.0]
    for place, set_size in enumerate((2, 4)):
        chosen = method("loloha", domain=4, k=2, epsilon=8.0, set_size=set_size)
        found = run_epoch(chosen, ItemSets.of([[0, 1]] * 20_000), entropy=SeededEntropy(5))
        frequent[place] = float(found.standard_error[0])
    assert frequent[0] > 1.0 / 3.0 > 3.0 * frequent[1]
