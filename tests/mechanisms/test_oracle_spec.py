"""The keys of oracles in a collection file: what each makes of them, and what one report may cost."""

import math
from typing import Any, get_args

import pytest

from stream_ldp.collection.located import Misplaced
from stream_ldp.mechanisms import ORACLE_SPECS, OracleSpec
from stream_ldp.mechanisms.oracle_spec import require_less_per_report

#: Keys of every oracle that has some, by which it perturbs the values of a list.
OF_VALUES: list[dict[str, Any]] = [
    {"oracle": "k-rr", "epsilon": 2},
    {"oracle": "k-rr", "epsilon": 2, "per_report": 1},
    {"oracle": "hadamard", "epsilon": 2, "hash_bits": 2},
    {"oracle": "rappor", "epsilon": 2},
    {"oracle": "channel", "table": [[0.75, 0.25], [0.25, 0.75]]},
]

#: And by which it perturbs the buckets that they are hashed to.
OF_BUCKETS: list[dict[str, Any]] = [
    {"oracle": "o-rr", "epsilon": 2},
    {"oracle": "o-rappor", "epsilon": 2},
    {"oracle": "loloha", "epsilon": 2, "per_report": 1},
    {"oracle": "rappor", "epsilon": 2, "hashes": 2, "p": 0.25, "q": 0.75},
]


def made(options: dict[str, Any]) -> OracleSpec:
    (spec,) = [each for each in ORACLE_SPECS if options["oracle"] in get_args(each.model_fields["oracle"].annotation)]
    return spec.model_validate(options)


@pytest.mark.parametrize("options", OF_VALUES, ids=str)
def test_values_of_a_list_are_perturbed_at_the_epsilon_of_the_file(options: dict[str, Any]) -> None:
    randomizer = made(options).value_randomizer(2, of="level")
    assert randomizer is not None
    assert randomizer.memoised.epsilon == pytest.approx(options.get("epsilon", math.log(3)))


@pytest.mark.parametrize("options", OF_BUCKETS, ids=str)
def test_buckets_are_perturbed_at_the_epsilon_of_the_file(options: dict[str, Any]) -> None:
    spec = made(options)
    assert spec.value_randomizer(2, of="level") is None
    assert spec.hashing is not None
    assert spec.hashing.oracle.memoised.epsilon == pytest.approx(options["epsilon"])


def test_one_report_costs_less_than_all_of_a_lifetime() -> None:
    require_less_per_report(1, epsilon=2)
    with pytest.raises(Misplaced, match="2 is not below epsilon, 2"):
        require_less_per_report(2, epsilon=2)
