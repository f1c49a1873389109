"""The errors to expect of a collection before it runs: those of users who are drawn, report and are solved for.

No formula has the errors of what is published, which is shrunk, kept from negative shares, and ranked. So they are
measured, as `stream-ldp evaluate` does: on users of a table, or on users of the population that a kind assumes.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.evaluation.experiment import Experiment, Score, scores
from stream_ldp.evaluation.trial import Evaluation, Measured
from stream_ldp.quantity import quantity
from stream_ldp.steps import steps

#: Fewest and most repeats, about the most users of all of them, and the relative standard error of an error that is
#: enough. The distance of a few cells varies by a third from window to window: a dozen repeats are enough.
_FEWEST, _MOST, _USERS, _PRECISION = 4, 30, 400_000, 0.1
#: Part of the best quality that is precise enough of one below it.
_PART = 0.3
#: Share of an assumed user's attributes that follow what is common to them, where pairs are about so far from
#: independent.
_DEPENDENT, _SO_FAR = 0.5, 0.15
#: Mean distance of pairs from independent where nothing is known of it, as `ask: auto` expects it too. With 0.15, two
#: thirds of the predictions of records were from 0.7 to 1.4 times what is measured of generated tables, and 73 % of
#: Adult; with 0.1, 90 % and 85 %. NLTCS, whose pairs are 0.16 from independent, is predicted a little less well.
USUAL_DEPENDENCE = 0.1


class Prediction(NamedTuple):
    """The errors to expect of a series.

    users: number of reports in a window, or of users in an epoch.
    metrics: by name, see `Evaluation.predicts`.
    """

    series: str
    users: int
    metrics: Mapping[str, float]


def predictions(
    collection: Any, evaluation: Evaluation, *, users: Sequence[int], population: Any = None
) -> list[Prediction]:
    """Measure the errors to expect; the same ones whenever it is called.

    users: numbers of reports in a window, or of users in an epoch.
    population: users as the collection encodes them, from whom those who report are drawn, with replacement only if
        there are fewer; None for users whom the kind assumes. No others are drawn than `Assumed` has: beyond, a
        metric falls as `Metric` says, or is left out.

    Returns:
        One for each series and number of users with anything to measure: so few may report that no mean is told. None
        of a collection that the kind cannot assume users for.
    """
    alone, worth = evaluation.once(collection)
    like: Mapping[str, Sequence[str]] = {}
    hidden: set[str] = set()
    most = math.inf
    if population is None:
        assumed = None if evaluation.assumed is None else evaluation.assumed(alone)
        if assumed is None:
            return []
        alone, like, population = assumed
        most = len(population)
        hidden = {name for name, metric in evaluation.predicts.items() if metric.needs_table}
    known: dict[int, list[tuple[str, dict[str, float]]]] = {}
    found = []
    for number in users:
        wanted = max(1.0, number / worth)
        count = round(min(wanted, most))
        if count not in known:
            known[count] = _measured(alone, evaluation, population, users=count)
        times = wanted / count if wanted > most else 1.0
        for series, metrics in known[count]:
            scaled = {
                name: value / times ** (falls or 0.0)
                for name, value in metrics.items()
                for falls in [evaluation.predicts[name].falls]
                if (times == 1.0 or falls is not None) and name not in hidden
            }
            found += [Prediction(each, number, scaled) for each in like.get(series, (series,)) if scaled]
    return found


def _measured(
    collection: Any, evaluation: Evaluation, population: Any, *, users: int
) -> list[tuple[str, dict[str, float]]]:
    experiment = Experiment(
        collection=collection,
        population=population,
        users=users,
        measure=evaluation.measure,
        clock=float,
        taken=evaluation.taken,
    )
    repeats = min(max(_FEWEST, _USERS // users), _MOST)
    measured: list[list[Measured]] = []
    for repeat in steps(experiment.repeats(repeats, seed=0), f"samples of {quantity(users, 'user')}", total=repeats):
        measured.append(repeat)
        if len(measured) >= _FEWEST and _is_enough(scores(measured).values(), evaluation):
            break
    return [(series, _known(score, evaluation)) for series, score in scores(measured).items()]


def _known(score: Score, evaluation: Evaluation, *, ending: str = "") -> dict[str, float]:
    """Return the metrics that are predicted, each by its formula where there is one.

    ending: `_sd` for the standard deviations over the repeats.
    """
    return {
        name: float(score.metrics[f"{metric.by if metric.by in score.metrics else name}{ending}"])
        for name, metric in evaluation.predicts.items()
        if name in score.metrics
    }


def _is_enough(found: Iterable[Score], evaluation: Evaluation) -> bool:
    """Decide whether the metrics that assumed users show are precise; squares are in terms of their roots."""
    return all(
        deviation / math.sqrt(score.repeats)
        <= _PRECISION * max(2.0 * (metric.falls or 0.5) * abs(value), _PART * metric.best)
        for score in found
        for (name, value), deviation in zip(
            _known(score, evaluation).items(), _known(score, evaluation, ending="_sd").values(), strict=True
        )
        for metric in [evaluation.predicts[name]]
        if not metric.needs_table and (metric.best or metric.falls is not None)
    )


def assumed_records(
    sizes: Sequence[int], users: int, *, seed: int, dependence: float = USUAL_DEPENDENCE
) -> NDArray[np.int64]:
    """Draw the records of users whose values are of unequal frequency and depend on each other.

    The value of an attribute of r is floor(r u^2), with u uniform; with probability s, it is the u that is common to
    the user's attributes. With s = 1/2, pairs have an average variation distance of 0.1 to 0.2 from the product of
    their margins, which is in proportion to s^2.

    sizes: number of values of each attribute.
    dependence: mean distance of pairs.

    Returns:
        Shape (users, attributes).
    """
    rng = np.random.default_rng(seed)
    share = min(1.0, _DEPENDENT * math.sqrt(dependence / _SO_FAR))
    common = rng.random(users)
    ranks = [np.where(rng.random(users) < share, common, rng.random(users)) for _ in sizes]
    return np.stack([(size * rank**2).astype(np.int64) for size, rank in zip(sizes, ranks, strict=True)], axis=1)
