"""This benchmark measures poisoning: what attacks gain, and what is flagged. `python -m tests.benchmarks.poisoning`.

Malicious users replace a share of honest ones and all send reports for the same target values (Cao, Jia and Gong,
2021, maximal gain attack). Two attributes of 8 values and five binary ones, each user one report, one window; the
target is the last value of every attribute. Half a minute on one core.
"""

from collections import defaultdict
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.mechanisms.bit_counts import (
    BATCH_LIMIT,
    batch_scores,
    bit_count_distribution,
    check,
)
from stream_ldp.mechanisms.plausibility import FALSE_ALARM_RATE
from stream_ldp.pipeline.statistics import RowCounts

SIZES = (8, 8, 2, 2, 2, 2, 2)

#: What honest users have: falling probabilities, so that the target is the rarest value.
POPULATION = tuple(np.arange(size, 0, -1) / (size * (size + 1) / 2) for size in SIZES)

#: The noise of the paper's experiments, and a lighter one.
MECHANISMS = (RRLDP(sizes=SIZES, f=0.5, p=0.5, q=0.75), RRLDP(sizes=SIZES, f=0.25, p=0.25, q=0.75))

REPEATS = 20  # windows of each line, seeds 0 to 19
BATCHES = 1_000
OWN_BATCH = 100  # reports of a batch that holds nothing but an attacker's


class Attack(StrEnum):
    """Make the report that a malicious user sends for every attribute.

    PADDED_TO_MEAN: the target bit and as many others as make the expected number, rounded down, as Cao, Jia and Gong
        pad against detection. PADDED_TO_DRAW: the same for a number drawn as an honest report's is.
    FALSE_VALUE: what the honest mechanism makes of the target.
    """

    NONE = "none"
    ALL_BITS = "all bits"
    TARGET_ALONE = "target bit alone"
    PADDED_TO_MEAN = "padded to the mean"
    PADDED_TO_DRAW = "padded to a draw"
    FALSE_VALUE = "false value"


def honest(mechanism: RRLDP, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Packed reports of honest users with values drawn from `POPULATION`."""
    values = np.column_stack([rng.choice(len(share), size=reports, p=share) for share in POPULATION])
    return mechanism.perturb(values, entropy=_entropy(rng))


def crafted(attack: Attack, mechanism: RRLDP, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Packed reports of malicious users."""
    if attack is Attack.NONE:
        return honest(mechanism, reports, rng)
    if attack is Attack.FALSE_VALUE:
        targets = np.tile(np.array(mechanism.sizes) - 1, (reports, 1))
        return mechanism.perturb(targets, entropy=_entropy(rng))
    bits = []
    for size in mechanism.sizes:
        # The target bit comes first, the others in random order.
        order = rng.random((reports, size))
        order[:, -1] = -1.0
        place = order.argsort(axis=1).argsort(axis=1)
        bits.append(place < _set_bits(attack, mechanism, size, reports, rng)[:, None])
    return np.packbits(np.concatenate(bits, axis=1), axis=1, bitorder="little")


def _set_bits(
    attack: Attack, mechanism: RRLDP, size: int, reports: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    law = bit_count_distribution(size, mechanism.channel())
    match attack:
        case Attack.ALL_BITS:
            return np.full(reports, size)
        case Attack.TARGET_ALONE:
            return np.ones(reports, dtype=np.int64)
        case Attack.PADDED_TO_MEAN:
            return np.full(reports, int(law @ np.arange(size + 1)))
        case _:
            return rng.choice(size + 1, size=reports, p=law)


def _entropy(rng: np.random.Generator) -> SeededEntropy:
    return SeededEntropy(int(rng.integers(2**63)))


def frequencies(counts: RowCounts, mechanism: RRLDP) -> NDArray[np.float64]:
    """Unbiased estimate of the frequency of every value, shape (bits,) (Chu, Long and Liu, 2022, Algorithm 2)."""
    channel = mechanism.channel()
    return (counts.counts.astype(np.float64) @ counts.unpacked() / counts.reports - channel.zero) / (
        channel.one - channel.zero
    )


def main() -> None:
    """Print both tables."""
    console = Console(width=118)
    console.print(_windows())
    console.print(_batches())


def _windows() -> Table:
    table = Table(
        title=f"One window, flagged at p < {FALSE_ALARM_RATE:g}; gain: percentage points of the target's estimate",
        title_justify="left",
    )
    for column in ("f, p, q", "users", "malicious", "attack", "gain, 1 of 8", "gain, 1 of 2", "flagged", "median p"):
        table.add_column(column, justify="left" if column in {"f, p, q", "attack"} else "right")
    for mechanism in MECHANISMS:
        for users in (20_000, 200_000):
            for (share, attack), outcomes in _outcomes(mechanism, users).items():
                gains, p_values = (np.array(column) for column in zip(*outcomes, strict=True))
                gain = 100 * gains.mean(axis=0)
                table.add_row(
                    _noise(mechanism),
                    f"{users:,}",
                    f"{share:.0%}",
                    attack,
                    f"{gain[SIZES[0] - 1]:+.1f}",
                    f"{gain[-1]:+.1f}",
                    f"{np.count_nonzero(p_values < FALSE_ALARM_RATE)} of {REPEATS}",
                    f"{np.median(p_values):.1g}",
                )
            table.add_section()
    return table


def _outcomes(mechanism: RRLDP, users: int) -> dict[tuple[float, Attack], list[tuple[NDArray[np.float64], float]]]:
    """For each share and attack, the gain of every value and the p-value of each window."""
    outcomes = defaultdict(list)
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        rows = honest(mechanism, users, rng)
        before = frequencies(RowCounts.of(rows, bits=mechanism.bits), mechanism)
        for share, attack in ((0.0, Attack.NONE), *((share, a) for share in (0.01, 0.05) for a in list(Attack)[1:])):
            malicious = round(share * users)
            poisoned = np.concatenate((crafted(attack, mechanism, malicious, rng), rows[malicious:]))
            counts = RowCounts.of(poisoned, bits=mechanism.bits)
            plausibility = check(counts.unpacked(), counts.counts, sizes=SIZES, channel=mechanism.channel())
            outcomes[share, attack].append((frequencies(counts, mechanism) - before, plausibility.p_value))
    return outcomes


def _batches() -> Table:
    table = Table(
        title=f"Batches of {OWN_BATCH} reports, all of them malicious; {BATCHES:,} of each kind", title_justify="left"
    )
    for column in ("f, p, q", "attack", "mean score", f"|score| > {BATCH_LIMIT:.2f}"):
        table.add_column(column, justify="left" if column in {"f, p, q", "attack"} else "right")
    for mechanism in MECHANISMS:
        for attack in Attack:
            rows = crafted(attack, mechanism, BATCHES * OWN_BATCH, np.random.default_rng(0))
            scores = batch_scores(rows, np.full(BATCHES, OWN_BATCH), sizes=SIZES, channel=mechanism.channel())
            flagged = np.mean(np.abs(scores) > BATCH_LIMIT)
            table.add_row(_noise(mechanism), attack, f"{scores.mean():+.1f}", f"{flagged:.1%}")
        table.add_section()
    return table


def _noise(mechanism: RRLDP) -> str:
    return f"{mechanism.f}, {mechanism.p}, {mechanism.q}"


if __name__ == "__main__":
    main()
