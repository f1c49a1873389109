"""Evaluation of synthetic records on a known population: their distributions, and what classifiers learn of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.collection.synthesis import Synthesis
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.records.estimators import Stop
from stream_ldp.records.evaluation import average_variation_distance, joint_of
from stream_ldp.synthesis.marginals import OfPairs, OfViews
from stream_ldp.synthesis.records import MOST_CELLS, synthesize
from stream_ldp.views.design import ranked
from stream_ldp.views.evaluation import PerturbedRecords, Views
from stream_ldp.views.expected import DEPENDENCE
from stream_ldp.views.fitting import Fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.synthesis.marginals import Marginals

__all__ = ["MAJORITY", "REAL", "TEST_SHARE", "WAYS", "Score", "Trial", "scores", "trials"]

#: Share of the records that are kept apart: classifiers are tested on them, and no user has one.
TEST_SHARE = 0.2
#: Numbers of attributes of the distributions that are compared.
WAYS = (2, 3, 5)
#: What synthetic records are compared with: as many records of other users of the population, drawn with
#: replacement; and the class that most users have.
REAL, MAJORITY = "real", "majority"
#: Most cells of a clique of LoPub. Its joints are estimated from the reports, which takes minutes for wider ones.
_LOPUB_CELLS = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """The records of one repeat; see `Score`."""

    method: str
    epsilon: float
    structure: str
    avd: tuple[float, ...]
    accuracy: float
    auc: float | None
    accuracy_real: float
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The means over all repeats of a method.

    structure: what most repeats came to; see `stream_ldp.synthesis.graph.Structure`.
    avd2, avd3, avd5: average variation distance of random sets of 2, 3 and 5 attributes to those of the users.
    accuracy: share of the records kept apart whose label a classifier predicts that has learnt from the synthetic
        ones.
    auc: area under its receiver operating characteristic; None if the label has more than two values.
    accuracy_real: the accuracy of one that has learnt from the users' own records.
    seconds: time to estimate the distributions and draw the records.
    """

    method: str
    epsilon: float
    structure: str
    avd2: float
    avd3: float
    avd5: float
    accuracy: float
    auc: float | None
    accuracy_real: float
    seconds: float


def trials(
    population: NDArray[np.int64],
    sizes: tuple[int, ...],
    *,
    label: int,
    methods: Sequence[str],
    epsilons: Sequence[float],
    sets: dict[int, list[tuple[int, ...]]],
    dependence: float = DEPENDENCE,
    users: int,
    repeats: int,
    seed: int,
    clock: Callable[[], float],
) -> Iterator[Trial]:
    """Run every method on every repeat.

    Each repeat keeps other records apart, and draws users and noise of its own, the same for all methods; the seed
    determines all. `lopub` has reports of RR-LDP, which tell all attributes, as published; the other methods have
    views, of the design that is best for so many users. Both cost the same epsilon for ever, for any two records.

    population: value indices, shape (rows, attributes), each below its attribute's size.
    label: position of the attribute that classifiers predict from the others.
    methods: names of `Synthesis`, `REAL` or `MAJORITY`.
    sets: by their number of attributes, the ascending positions of what is compared.
    dependence: expected AVD between two attributes and the product of their margins, for the choice of views.
    users: number of users in a repeat, drawn with replacement only if there are fewer rows; as many are made.
    clock: returns seconds, from any origin.

    Raises:
        ParameterError: the population has a single row, and none that could be kept apart, or nobody.
    """
    if len(population) < 2:
        raise ParameterError(
            "records are compared with some that are kept apart: give a population of 2 rows or more"
        )
    for repeat in np.random.SeedSequence(seed).spawn(repeats):
        sampling, noise, drawing = repeat.spawn(3)
        generator = np.random.default_rng(sampling)
        order = generator.permutation(len(population))
        kept = max(1, round(TEST_SHARE * len(order)))
        test, others = population[order[:kept]], population[order[kept:]]
        people = others[generator.choice(len(others), users, replace=users > len(others))]
        truth = {of: joint_of(people[:, of], _sizes(sizes, of)) for each in sets.values() for of in each}
        accuracy_real, _ = _predicted(people, test, sizes, label=label)
        for epsilon in epsilons:
            for method in methods:
                begun = clock()
                structure, records = _records(
                    method,
                    people,
                    others,
                    sizes,
                    label=label,
                    epsilon=epsilon,
                    dependence=dependence,
                    entropy=SeededEntropy(noise),
                    seed=int(drawing.generate_state(1)[0]),
                )
                seconds = clock() - begun
                accuracy, auc = _predicted(records, test, sizes, label=label)
                yield Trial(
                    method=method,
                    epsilon=epsilon,
                    structure=structure,
                    avd=tuple(_distance(records, sizes, truth, sets.get(ways, [])) for ways in WAYS),
                    accuracy=accuracy,
                    auc=auc,
                    accuracy_real=accuracy_real,
                    seconds=seconds,
                )


def scores(outcomes: Iterable[Trial]) -> list[Score]:
    """Make one score for each method and epsilon, in the order in which they first appear."""
    grouped: dict[tuple[str, float], list[Trial]] = {}
    for each in outcomes:
        grouped.setdefault((each.method, each.epsilon), []).append(each)
    return [_score(repeats) for repeats in grouped.values()]


def _score(repeats: Sequence[Trial]) -> Score:
    avd2, avd3, avd5 = np.mean([each.avd for each in repeats], axis=0).tolist()
    areas = [each.auc for each in repeats if each.auc is not None]
    return Score(
        method=repeats[0].method,
        epsilon=repeats[0].epsilon,
        structure=Counter(each.structure for each in repeats).most_common(1)[0][0],
        avd2=avd2,
        avd3=avd3,
        avd5=avd5,
        accuracy=float(np.mean([each.accuracy for each in repeats])),
        auc=float(np.mean(areas)) if areas else None,
        accuracy_real=float(np.mean([each.accuracy_real for each in repeats])),
        seconds=float(np.mean([each.seconds for each in repeats])),
    )


def _records(
    method: str,
    people: NDArray[np.int64],
    others: NDArray[np.int64],
    sizes: tuple[int, ...],
    *,
    label: int,
    epsilon: float,
    dependence: float,
    entropy: Entropy,
    seed: int,
) -> tuple[str, NDArray[np.int64]]:
    """Make as many records as there are people, by a method, and tell their structure."""
    if method == REAL:
        return REAL, others[np.random.default_rng(seed).choice(len(others), len(people))]
    if method == MAJORITY:
        values, counts = np.unique(people[:, label], return_counts=True)
        records = people.copy()
        records[:, label] = values[np.argmax(counts)]
        return MAJORITY, records
    lopub = method == Synthesis.LOPUB
    marginals = (
        _of_reports(people, sizes, epsilon=epsilon, entropy=entropy)
        if lopub
        else _of_views(people, sizes, epsilon=epsilon, dependence=dependence, entropy=entropy)
    )
    found = synthesize(
        marginals,
        records=len(people),
        seed=seed,
        method=Synthesis(method),
        most_cells=_LOPUB_CELLS if lopub else MOST_CELLS,
    )
    return found.structure, found.records


def _of_views(
    people: NDArray[np.int64], sizes: tuple[int, ...], *, epsilon: float, dependence: float, entropy: Entropy
) -> Marginals:
    design = ranked(sizes, epsilon=epsilon, users=len(people), dependence=dependence)[0]
    tables = Views(name=design.name, epsilon=epsilon, design=design).tables(people, entropy=entropy)
    return OfViews(fit=Fit(tables, sizes=sizes))


def _of_reports(people: NDArray[np.int64], sizes: tuple[int, ...], *, epsilon: float, entropy: Entropy) -> Marginals:
    published = PerturbedRecords(name="rr-ldp", epsilon=epsilon, sizes=sizes, stop=Stop.PAPER)
    solution = published.solutions(people, entropy=entropy)
    pairs = {of: solution(of) for of in combinations(range(len(sizes)), 2)}
    return OfPairs(
        attributes=[solution((place,)).joint for place in range(len(sizes))],
        pairs={of: each.joint for of, each in pairs.items()},
        p_values={of: each.independence.p_value for of, each in pairs.items()},
        direct=lambda of: solution(of).joint,
    )


def _sizes(sizes: Sequence[int], of: Sequence[int]) -> tuple[int, ...]:
    return tuple(sizes[place] for place in of)


def _distance(
    records: NDArray[np.int64],
    sizes: Sequence[int],
    truth: dict[tuple[int, ...], NDArray[np.float64]],
    sets: Sequence[tuple[int, ...]],
) -> float:
    distances = [average_variation_distance(joint_of(records[:, of], _sizes(sizes, of)), truth[of]) for of in sets]
    return float(np.mean(distances)) if distances else 0.0


def _predicted(
    train: NDArray[np.int64], test: NDArray[np.int64], sizes: Sequence[int], *, label: int
) -> tuple[float, float | None]:
    """Train a logistic regression on records, and return its accuracy on others, and its AUC for a binary label."""
    # Not imported above: only this evaluation needs what takes half a second.
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import OneHotEncoder  # noqa: PLC0415

    features = [place for place in range(len(sizes)) if place != label]
    learnt, wanted = train[:, label], test[:, label]
    only = np.unique(learnt)
    if len(only) == 1:
        return float(np.mean(wanted == only[0])), 0.5 if sizes[label] == 2 else None
    encoder = OneHotEncoder(categories=[np.arange(sizes[place]) for place in features])
    model = make_pipeline(encoder, LogisticRegression(max_iter=300)).fit(train[:, features], learnt)
    accuracy = float(model.score(test[:, features], wanted))
    if sizes[label] > 2 or len(np.unique(wanted)) < 2:
        return accuracy, None
    return accuracy, float(roc_auc_score(wanted, model.predict_proba(test[:, features])[:, 1]))
