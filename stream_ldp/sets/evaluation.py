"""Evaluation of collections of item sets: how good the rankings of whole epochs are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.evaluation.completion import ordered
from stream_ldp.evaluation.trial import Evaluation, Measured
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.epoch import run_phases
from stream_ldp.sets.frequent_itemsets import frequent_itemsets
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.oracle_choice import best_padding
from stream_ldp.sets.metrics import coverage, f1_score, mean_squared_error, ndcg, relative_error
from stream_ldp.sets.phases import itemsets_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stream_ldp.evaluation.trial import KnownTable, Trial
    from stream_ldp.sets.collection import ItemCollection, Itemsets
    from stream_ldp.sets.phases import RankingEstimate


def _complete(document: dict[str, Any], table: KnownTable) -> None:
    """Fill in the items that occur, and an empty `set_size`.

    That is the least size that 90 % of the sets do not exceed; of svim, which corrects for larger sets, the one with
    which reports show the most of the k most frequent items.
    """
    items = document.setdefault("items", {})
    if isinstance(items, dict) and not items.get("size"):
        items.setdefault("names", ordered(item for each in table.item_sets for item in each))
    mechanism = document.get("mechanism")
    if isinstance(mechanism, dict) and mechanism.get("set_size") == "":
        mechanism["set_size"] = _set_size(mechanism, items, table)


def _set_size(mechanism: dict[str, Any], items: dict[str, Any], table: KnownTable) -> int:
    names = items.get("names") or list(map(str, range(int(items["size"]))))
    numbers = {name: number for number, name in enumerate(names)}
    sets = ItemSets.of([numbers[item] for item in each if item in numbers] for each in table.item_sets)
    try:
        k, epsilon = int(mechanism["k"]), float(mechanism["epsilon"])
    except (KeyError, ValueError):
        k = epsilon = 0  # the collection says what is wrong with them
    if mechanism.get("kind") == "svim" and 0 < k <= len(names) and epsilon > 0:
        return best_padding(sets, k=k, domain=len(names), epsilon=epsilon)
    return max(int(np.quantile(sets.sizes, 0.9, method="inverted_cdf")), 1)


def _measure(trial: Trial[ItemCollection]) -> Iterator[Measured]:
    """Measure the ranking of an epoch, and its itemsets; the seconds are those of all users and the server."""
    method, asked = trial.collection.method, trial.collection.itemsets
    begun = trial.clock()
    estimates = {
        phase.sizes: estimate
        for phase, estimate in run_phases(method, trial.people, entropy=SeededEntropy(trial.noise))
    }
    seconds = trial.clock() - begun
    truth = trial.people.frequencies(method.domain)
    yield Measured("heavy-hitters", metrics(estimates[()], truth, k=method.k), seconds)
    if asked is not None:
        found = itemset_metrics(estimates[asked.sizes], trial.people, asked, domain=method.domain)
        yield Measured("itemsets", found, seconds)


def metrics(estimate: RankingEstimate, truth: NDArray[np.float64], *, k: int) -> dict[str, float]:
    """Measure a ranking as published: the k best items, and frequencies in [0, 1], 0 for other than candidates.

    truth: true frequency of each item of the domain, shape (d,).
    """
    published = estimate.items[:k]
    frequency = np.zeros(len(truth))
    frequency[estimate.items] = np.clip(estimate.frequency, 0.0, 1.0)
    return {
        "ndcg": ndcg(published, truth, k=k),
        "re": relative_error(frequency, truth, k=k),
        "f1": f1_score(published, truth, k=k),
        "mse": mean_squared_error(frequency, truth, k=k),
        "coverage": coverage(estimate, truth, k=k),
    }


def itemset_metrics(estimate: RankingEstimate, people: ItemSets, asked: Itemsets, *, domain: int) -> dict[str, float]:
    """Measure published itemsets against those that most of these people hold.

    estimate: of itemsets, best first.
    domain: a number above every item.
    """
    best = frequent_itemsets(people, k=asked.k, sizes=asked.sizes, domain=domain)
    truth = people.restricted(estimate.items, domain=domain).frequencies(len(estimate.items))
    published = np.clip(estimate.frequency, 0.0, 1.0)
    found = itemsets_of(estimate.items)
    ranks = {itemset: len(best) - place for place, (itemset, _) in enumerate(best)}
    return {
        "f1": 2.0 * sum(each in ranks for each in found) / (len(found) + len(best)),
        "ncr": math.fsum(ranks.get(each, 0) for each in found) / math.fsum(ranks.values()) if ranks else 0.0,
        "mae": float(np.mean(np.abs(published - truth))),
        "coverage": float(np.mean(np.abs(estimate.frequency - truth) <= 1.96 * estimate.standard_error)),
    }


EVALUATION = Evaluation(
    measure=_measure,
    complete=_complete,
    item_sets=True,
    taken=ItemSets.take,
    predicts={
        "ndcg": "the quality of the ranking, at most 1",
        "f1": "the share of the most frequent that are found",
        "ncr": "that with more weight to the most frequent",
        "mse": "the mean squared error of the frequency of an item of the ranking",
        "mae": "the absolute error of the frequency of an itemset",
    },
)
