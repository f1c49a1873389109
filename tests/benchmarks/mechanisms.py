"""Print the tables of docs/mechanisms.md: the error of every mechanism by its formulas, and what enumeration finds.

python -m tests.benchmarks.mechanisms
"""

import math
import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import linprog

from stream_ldp.audit.output_distribution import epsilon_of, realised_distribution
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.mechanisms import HalfSpaceResponse, RepeatedResponse
from stream_ldp.mechanisms.channel import least_epsilon
from stream_ldp.mechanisms.piecewise import coin, least_worst_case, square_wave
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pipeline.changing import change_plans
from stream_ldp.questions.oracles import value_oracle
from tests.audit import broken

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0)
SIZES = (2, 4, 16, 64, 256, 1_024)
MEAN_EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0)


def frequencies() -> Iterator[str]:
    """Yield n x variance of one frequency, mean over a uniform population, without the sampling of users."""
    yield "| epsilon | values | k-rr | hadamard | k-subset | auto is | auto |"
    yield "|---:|---:|---:|---:|---:|---|---:|"
    for epsilon in EPSILONS:
        for size in SIZES:
            oracles = [value_oracle(name, size, epsilon=epsilon) for name in ("k-rr", "hadamard", "k-subset", "auto")]
            first, second, third, best = [f"{oracle.mean_variance:.3g}" for oracle in oracles]
            yield f"| {epsilon:g} | {size} | {first} | {second} | {third} | {oracles[-1].title} | {best} |"


def repeated() -> Iterator[str]:
    """Yield the loss of reports that show one answer by k-RR through k-RR."""
    yield "| values | epsilon | per_report | 1 report | 2 | 3 | 5 | 30 | lifetime |"
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for size, lifetime, epsilon in ((2, 4.0, 2.0), (3, 4.0, 1.0), (4, 4.0, 2.0), (16, 4.0, 2.0), (64, 4.0, 0.5)):
        response = RepeatedResponse(size=size, epsilon=epsilon, lifetime=lifetime)
        losses = [f"{response.loss(reports=reports):.3f}" for reports in (1, 2, 3, 5, 30, math.inf)]
        yield f"| {size} | {lifetime:g} | {epsilon:g} | {' | '.join(losses)} |"


def changing() -> Iterator[str]:
    """Yield what values that change cost for a lifetime, of 8 values whose buckets are perturbed twice."""
    collection = parse_collection(
        "{collection: diets, mechanism: {kind: sampled, oracle: loloha, epsilon: 2, per_report: 1}, "
        "attributes: [{name: diet, values: [a, b, c, d, e, f, g, h]}], window: {size: 10s}}"
    )
    yield (
        "| changes | refuse | charge by value | `loloha`: at most | on average | its error, at the cost of charging "
        "by value | bits | `d-bit-flip`: at most | their error |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for each in change_plans(kind_of(collection).changing(collection)):
        costs = (each.refused, each.by_value, each.by_bucket, each.by_bucket_on_average)
        by_bits = f"{each.bits} | {shown_epsilon(each.by_bit)} | {each.bit_error:.2f}"
        yield f"| {each.changes} | {' | '.join(map(shown_epsilon, costs))} | {each.error:.2f} | {by_bits} |"


def channels() -> Iterator[str]:
    """Yield the least epsilon of channels from 8 values, and n x variance of a frequency of 1 / 8."""
    yield "| measure | distortion | outputs | epsilon | rank | n x variance |"
    yield "|---|---:|---:|---:|---:|---:|"
    uniform = np.full(8, 1 / 8)
    for measure, distortion, alphabet in (
        ("hamming", 0.3, 8),
        ("squared", 0.5, 8),
        ("squared", 1.0, 8),
        ("squared", 2.0, 8),
        ("squared", 2.0, 4),
        ("squared", 4.0, 2),
    ):
        channel = least_epsilon(distortion, size=8, alphabet=alphabet, measure=measure)
        variance = f"{channel.noise(uniform).mean():.3g}" if channel.identifies else "-"
        yield f"| {measure} | {distortion:g} | {alphabet} | {channel.epsilon:.3f} | {channel.rank} | {variance} |"


def means() -> Iterator[str]:
    """Yield the largest n x variance of the mean of one number, in units in which its range is from -1 to 1."""
    yield "| epsilon | harmony-mean | hybrid, as published | auto | minimax | least of any | minimax / least |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for epsilon in MEAN_EPSILONS:
        of_coin, wave, best = (response(epsilon).worst_variance for response in (coin, square_wave, least_worst_case))
        least = least_of_any(epsilon)
        figures = " | ".join(f"{each:.3g}" for each in (of_coin, published_hybrid(epsilon), wave, best, least))
        yield f"| {epsilon:g} | {figures} | {best / least:.3f} |"


def least_of_any(epsilon: float) -> float:
    """Return the least worst-case variance of any channel from 17 points of [-1, 1] to 121 estimates.

    It is found by linear programme. The estimates go to 1.6 times those of a coin. A channel may be taken to answer
    opposite numbers by opposite estimates: the unknowns are the chances of each estimate for the 9 numbers from 0 to
    1, the least chance of each estimate up to 0, and the variance.
    """
    numbers, estimates = np.linspace(0, 1, 9), np.linspace(-1.6, 1.6, 121) / math.tanh(epsilon / 2)
    chances = np.eye(9 * 121)
    least = np.tile(np.eye(61)[np.minimum(np.arange(121), np.arange(121)[::-1])], (9, 1))
    none = np.zeros((len(chances), 1))
    second = np.hstack([np.kron(np.eye(9), estimates**2), np.zeros((9, 61)), -np.ones((9, 1))])
    bounds = [[-chances, least, none], [chances, -math.exp(epsilon) * least, none]]
    sums = np.vstack([np.kron(np.eye(9), np.ones(121)), np.kron(np.eye(9), estimates)])
    solution = linprog(
        np.eye(second.shape[1])[-1],
        A_ub=np.vstack([np.block(bounds), second]),
        b_ub=np.concatenate([np.zeros(2 * len(chances)), numbers**2]),
        A_eq=np.hstack([sums, np.zeros((18, 62))]),
        b_eq=np.concatenate([np.ones(9), numbers]),
        method="highs-ipm",
    )
    assert solution.fun is not None, solution.message
    return float(solution.fun)


def published_hybrid(epsilon: float) -> float:
    """Return the largest variance of the hybrid mechanism (Wang et al., 2019, sections III-B and III-C)."""
    c = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    if epsilon <= 0.61:
        return c**2
    numbers, odds = np.linspace(0, 1, 1_001), math.exp(epsilon / 2)
    share = 1 - math.exp(-epsilon / 2)
    piecewise = numbers**2 / (odds - 1) + (odds + 3) / (3 * (odds - 1) ** 2)
    return float((share * piecewise + (1 - share) * (c**2 - numbers**2)).max())


def mean_est() -> Iterator[str]:
    """Yield the enumerated epsilon of MeanEst at epsilon 1 by three rules, and n x variance of the right one."""
    yield "| numbers | as the survey prints it | as Duchi et al. wrote it | here | n x variance | harmony-mean |"
    yield "|---:|---:|---:|---:|---:|---:|"
    c = coin(1.0)
    for dimensions in range(1, 6):
        responses = [
            rule(dimensions=dimensions, epsilon=1.0)
            for rule in (broken.NeverSendsTies, broken.SendsTiesFromBothSides, HalfSpaceResponse)
        ]
        found = [f"{epsilon_of(realised_distribution(each)):.4f}" for each in responses]
        variance = responses[-1].scale ** 2
        of_coin = dimensions * float(c.variance(np.zeros(1))[0])
        yield f"| {dimensions} | {found[0]} | {found[1]} | {found[2]} | {variance:.2f} | {of_coin:.2f} |"


def harmony() -> Iterator[str]:
    """Yield n x variance of a value of 90 % in one of d attributes of 4 values, Hadamard with a sign each."""
    yield "| attributes | epsilon | times d, as printed | divided by the reports of the attribute |"
    yield "|---:|---:|---:|---:|"
    share = 0.9
    for attributes, epsilon in ((2, 1.0), (8, 1.0), (16, 2.0), (16, 4.0)):
        p, q = value_oracle("hadamard", 4, epsilon=epsilon).support
        c = 1 / (2 * p - 1)
        supported = q + share * (p - q)
        by_reports = attributes * supported * (1 - supported) / (p - q) ** 2
        yield f"| {attributes} | {epsilon:g} | {attributes * c**2 - share:.2f} | {by_reports:.2f} |"


#: Every table, as lines of Markdown, by its name in the document.
TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "frequencies": frequencies,
    "means": means,
    "mean-est": mean_est,
    "harmony": harmony,
    "repeated": repeated,
    "changing": changing,
    "channels": channels,
}


if __name__ == "__main__":
    for name, lines in TABLES.items():
        sys.stdout.write("\n".join([f"<!-- {name} -->", "", *lines(), "", f"<!-- /{name} -->", "", ""]))
