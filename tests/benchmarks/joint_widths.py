"""This benchmark measures how wide errors of joint distributions are, on generated tables.

python -m tests.benchmarks.joint_widths prints, for 1,000 and 20,000 users, for each noise and then for each family of
tables, the mean distance, the share of cells of 1 % of the users that are covered, the lowest of a table, and the
width: the distance that errors let expect over the measured one. Tables are those of `families`, three of each, with
2 and 3 attributes. The last row has 40 draws of 4,315 users, f = 0.5 with both stages, whose two attributes of 11
values nearly copy each other. Below it stands in how many answers one may be a function of the other.
"""

from functools import reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.evaluation.distance import average_variation_distance, joint_metrics, joint_of
from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import estimator
from tests.benchmarks.families import FAMILIES, generate

USERS, ATTRIBUTES, TABLES = (1_000, 20_000), (2, 3), 3
NOISES: dict[str, dict[str, float]] = {
    "f = 0.25": {"f": 0.25},
    "f = 0.5": {"f": 0.5},
    "f = 0.75": {"f": 0.75},
    "f = 0.25, both stages": {"f": 0.25, "p": 0.5, "q": 0.75},
    "f = 0.5, both stages": {"f": 0.5, "p": 0.5, "q": 0.75},
}


#: Two attributes that nearly copy each other.
PLACE = np.arange(11)
COPIES = (PLACE[:, None] + 1.0) ** -1.5 * np.exp(-1.2 * np.abs(PLACE[:, None] - PLACE))
COPIED_USERS, COPIED_DRAWS, COPIED_NOISE = 4_315, 40, "f = 0.5, both stages"


def measured(family: str, attributes: int, number: int, users: int, noise: str) -> dict[str, float]:
    """Measure one table."""
    rng = np.random.default_rng([list(FAMILIES).index(family), attributes, number])
    return estimated(generate(family, attributes, rng), users, noise, rng, number)


def copied(number: int) -> dict[str, float]:
    """Measure one draw of attributes that nearly copy each other."""
    return estimated(COPIES / COPIES.sum(), COPIED_USERS, COPIED_NOISE, np.random.default_rng([number, 77]), number)


def estimated(
    truth: NDArray[np.float64], users: int, noise: str, rng: np.random.Generator, seed: int
) -> dict[str, float]:
    """Draw users of a table and estimate it from their reports."""
    people = np.stack(np.unravel_index(rng.choice(truth.size, users, p=truth.ravel()), truth.shape), axis=1)
    mechanism = RRLDP(sizes=truth.shape, **NOISES[noise])
    rows = RowCounts.of(mechanism.perturb(people, entropy=SeededEntropy(seed)), bits=mechanism.bits)
    found = estimator("em", stop="certificate", delta=0.001).estimate(
        rows, sizes=truth.shape, supports=mechanism.supports
    )
    of_users = joint_of(people, truth.shape)
    metrics = joint_metrics(found.joint, found.standard_error, of_users)
    return metrics | {
        "may_be_function": float(found.independence.may_be_function),
        "product": average_variation_distance(reduce(np.multiply.outer, found.independence.marginals), of_users),
    }


def main() -> None:
    """Print the table."""
    table = Table("users", "noise or family", "distance", "covered", "lowest", "width", "largest")
    of = list(product(USERS, NOISES, FAMILIES, ATTRIBUTES, range(TABLES)))
    found = {each: measured(*each[2:], *each[:2]) for each in of}
    groups = {
        (f"{users:,}", said): [each for key, each in found.items() if key[0] == users and said in key[1:3]]
        for users in USERS
        for said in (*NOISES, *FAMILIES)
    }
    copies = [copied(number) for number in range(COPIED_DRAWS)]
    for (users, said), some in (*groups.items(), ((f"{COPIED_USERS:,}", "copies"), copies)):
        avd, covered, width = ([each[name] for each in some] for name in ("avd", "coverage", "width"))
        numbers = (np.mean(avd), np.mean(covered), min(covered), np.mean(width), max(width))
        table.add_row(users, said, *(f"{number:.3f}" for number in numbers))
    console = Console(width=100)
    console.print(table)
    console.print(f"one may be a function of the other: {sum(each['may_be_function'] for each in copies):.0f} copies")


if __name__ == "__main__":
    main()
