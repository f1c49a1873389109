"""Evaluation of collections of item sets: how good the rankings of whole epochs are."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.evaluation.completion import ordered
from stream_ldp.evaluation.trial import Assumed, Evaluation, KnownTable, Measured, Metric, Trial, quality
from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.sets.answer import itemset_name
from stream_ldp.sets.item_sets import ItemSets, class_names, classes_of
from stream_ldp.sets.methods.oracle_choice import best_padding
from stream_ldp.sets.phases import Method, Phase, RankingEstimate, Target, candidates_of, itemsets_of
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.pipeline.cells import CellKey, Totals
    from stream_ldp.sets.collection import ItemCollection, Itemsets


#: Users whom a plan assumes, the share of them whose sets are larger than the stated size, that size where none is
#: stated, and the power with which the frequencies of items fall.
_ASSUMED, _LARGER, _USUAL_LARGEST, _EXPONENT = 100_000, 0.1, 12, 1.0


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


def popular_sets(sizes: NDArray[np.int64], rng: np.random.Generator, *, domain: int, exponent: float) -> ItemSets:
    """Draw sets of so many items of 0 to domain - 1, item i with a probability in proportion to (i + 1)^-exponent."""
    users = len(sizes)
    popularity = np.cumsum(np.arange(1, domain + 1) ** -exponent)
    # A user and an item as one number. A user who drew an item again draws as many more.
    complete: list[NDArray[np.int64]] = []
    held: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    missing = sizes
    while missing.any():
        drawn = np.searchsorted(popularity, rng.random(missing.sum()) * popularity[-1])
        held = np.sort(np.concatenate((held, np.repeat(np.arange(users), missing) * domain + drawn)))
        # What np.union1d gives; it takes several times as long by hashing.
        held = held[np.diff(held, prepend=-1) > 0]
        owner = held // domain
        missing = np.where(missing > 0, sizes - np.bincount(owner, minlength=users), 0)
        waits = missing[owner] > 0
        complete.append(held[~waits])
        held = held[waits]
    keys = np.sort(np.concatenate([*complete, held]))
    return ItemSets(np.concatenate(([0], np.cumsum(sizes))), keys % domain)


def _assumed(collection: ItemCollection) -> Assumed:
    """Draw users whose sets of popular items are of geometric sizes, one in ten larger than is stated.

    Of a stated size above half of all items, sets hold nearly as many. What they lack is drawn then: the share of
    the users who lack an item is in proportion to its rank.
    """
    domain, stated = collection.items.count, collection.method_spec.known_size
    rng, most, lacked = np.random.default_rng(1), max(domain // 2, 1), domain - (stated or 0)
    if lacked < domain - most:
        sizes, exponent = lacked - 1 + rng.geometric(2.0 / max(lacked, 2), _ASSUMED), -1.0
    else:
        # Of a geometric distribution from 1, the share (1 - p)^n is above n.
        sizes, exponent = rng.geometric(1.0 - _LARGER ** (1.0 / (stated or _USUAL_LARGEST)), _ASSUMED), _EXPONENT
    sets = popular_sets(np.minimum(sizes, most).astype(np.int64), rng, domain=domain, exponent=exponent)
    if lacked < domain - most:
        sets = _complement(sets, domain=domain)
    items = rng.permutation(domain)[sets.items]
    return Assumed(collection=collection, like={}, population=ItemSets(sets.offsets, items))


def _complement(sets: ItemSets, *, domain: int) -> ItemSets:
    """Return the sets of all items that each set lacks."""
    held = np.ones((len(sets), domain), dtype=np.bool_)
    held[np.repeat(np.arange(len(sets)), sets.sizes), sets.items] = False
    return ItemSets(np.arange(len(sets) + 1) * domain - sets.offsets, np.nonzero(held)[1])


EVALUATION = Evaluation(
    measure=_measure,
    complete=_complete,
    item_sets=True,
    taken=ItemSets.take,
    predicts={
        "ndcg": quality("the quality of the ranking, at most 1"),
        "f1": quality("the share of the most frequent that are found"),
        "ncr": quality("that with more weight to the most frequent"),
        "mse": Metric("the mean squared error of the frequency of an item of the ranking", falls=1.0),
        "mae": Metric("the absolute error of the frequency of an itemset"),
    },
    assumed=_assumed,
    assumes="their sets have geometric sizes, one in ten above `set_size`, or above 12 without it, and the "
    "frequencies of items fall as one over their rank, as Zipf's law has it; with a `set_size` above half of all "
    "items, sets hold nearly as many, and the share that lacks an item rises with its rank",
)


#: Items whose itemsets are counted: they make 10,000 pairs and triples.
_POPULAR = 40


def totals(collection: ItemCollection, sets: ItemSets) -> Totals:
    """Count the users who hold each item that anybody holds, and each of the itemsets; see `Kind.totals`.

    Of itemsets, those of the items that most of these users hold are counted.
    """
    counts, item_name = np.bincount(sets.items, minlength=collection.items.count), collection.items.name
    found: dict[tuple[str, CellKey], float] = {
        ("items", ("", (item_name(item),))): float(counts[item]) for item in np.flatnonzero(counts).tolist()
    }
    if collection.method.phases[0].asked is Target.SIZE:
        names = class_names(collection.items.count)
        classes = np.bincount(classes_of(sets.sizes, count=len(names)), minlength=len(names))
        found |= {("sizes", ("", (name,))): float(total) for name, total in zip(names, classes, strict=True)}
    if collection.itemsets is None or not len(sets.items):
        return found
    popular = np.sort(np.argsort(-counts, kind="stable")[: min(_POPULAR, np.count_nonzero(counts))]).tolist()
    itemsets = [each for size in collection.itemsets.sizes for each in itertools.combinations(popular, size)]
    if itemsets:
        held = sets.restricted(candidates_of(itemsets), domain=collection.items.count)
        totals = np.bincount(held.items, minlength=len(itemsets))
        for place in np.flatnonzero(totals).tolist():
            itemset = itemset_name(map(item_name, itemsets[place]))
            found["itemsets", ("", (itemset,))] = float(totals[place])
    return found


def run_epoch(method: Method, sets: ItemSets, *, entropy: Entropy) -> RankingEstimate:
    """Estimate the ranking after all phases; see `run_phases`."""
    *_, (_, last) = run_phases(method, sets, entropy=entropy)
    return last


def run_phases(method: Method, sets: ItemSets, *, entropy: Entropy) -> Iterator[tuple[Phase, RankingEstimate]]:
    """Iterate over the phases and the estimate after each; every user reports to each phase that asks them.

    sets: items below the method's domain.
    """
    words = random_words(len(sets), entropy=entropy)
    estimate: RankingEstimate | None = None
    inquiry = method.first()
    while True:
        phase = method.phases[inquiry.phase - 1]
        users = sets.take(np.flatnonzero(phase.asks(words)))
        rows = respond(method, inquiry, users, entropy=entropy)
        sums = method.oracle(inquiry).sums(rows)
        estimate, following = method.solve(inquiry, sums=sums, reports=len(rows), before=estimate)
        yield phase, estimate
        if following is None:
            return
        inquiry = following


def top(frequency: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Find the k most frequent items, best first, int64, shape (k,); of equal ones the lower item comes first."""
    return np.argsort(-frequency, kind="stable")[:k].astype(np.int64)


def ndcg(published: NDArray[np.int64], truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the normalised discounted cumulative gain, in [0, 1] (Zhu, Yang and Bai, 2021, eqs. 10 to 12).

    The gain of a true heavy hitter is log2(d - |true rank - published rank|), 0 if it is not published; gains are
    discounted by log2 of the true rank (from rank 2) and divided by what the perfect order gains.

    published: items, best first, shape (k,).
    truth: frequency of each of the d >= 2 items, shape (d,).
    """
    domain = len(truth)
    published_rank = np.full(domain, -1)
    published_rank[published] = np.arange(len(published))
    estimated = published_rank[top(truth, k)]
    actual = np.arange(k)
    found = estimated >= 0
    gain = np.where(found, np.log2(domain - np.abs(actual - estimated), where=found, out=np.zeros(k)), 0.0)
    discount = np.log2(np.maximum(actual + 1, 2))
    return float(np.sum(gain / discount) / np.sum(np.log2(domain) / discount))


def relative_error(estimate: NDArray[np.float64], truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the median over the true top k of |estimate - truth| / truth (Zhu, Yang and Bai, 2021, eq. 9).

    estimate, truth: frequency of each item, shape (d,). Items that nobody holds are left out; 0 if nobody holds any.
    """
    items = top(truth, k)
    items = items[truth[items] > 0.0]
    return float(np.median(np.abs(estimate[items] / truth[items] - 1.0))) if len(items) else 0.0


def f1_score(published: NDArray[np.int64], truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the harmonic mean of precision and recall of the published items as the true top k, in [0, 1]."""
    return 2.0 * len(np.intersect1d(published, top(truth, k))) / (len(published) + k)


def coverage(estimate: RankingEstimate, truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the part of the k best items whose estimate is within 1.96 standard errors of the truth, in [0, 1].

    truth: frequency of each item, shape (d,).
    """
    off = np.abs(estimate.frequency[:k] - truth[estimate.items[:k]])
    return float(np.mean(off <= 1.96 * estimate.standard_error[:k]))


def mean_squared_error(estimate: NDArray[np.float64], truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the mean over the true top k of (estimate - truth)^2; both have shape (d,)."""
    items = top(truth, k)
    return float(np.mean((estimate[items] - truth[items]) ** 2))


#: Items that are tried first: a table of them and the users is small.
_FIRST_ITEMS = 64


def frequent_itemsets(
    sets: ItemSets, *, k: int, sizes: Sequence[int], domain: int
) -> list[tuple[tuple[int, ...], float]]:
    """Find the k itemsets that most users hold, most frequent first, with the share of the users who hold each.

    No itemset is more frequent than one with an item less, so that only those above the k-th best so far go on
    (Agrawal and Srikant, 1994). Those that nobody holds are left out; of equal ones, the first comes first.

    sizes: numbers of items of an itemset.
    domain: a number above every item.
    """
    frequency = sets.frequencies(domain)
    order = np.argsort(-frequency, kind="stable")
    order = order[frequency[order] > 0.0]
    items = min(_FIRST_ITEMS, len(order))
    while True:
        best = _best(sets, np.sort(order[:items]), k=k, sizes=sizes, domain=domain)
        least = best[-1][1] if len(best) == k else 0.0
        # Of the others, each is in no itemset that is as frequent.
        needed = int(np.count_nonzero(frequency[order] >= least))
        if needed <= items:
            return best
        items = min(max(2 * items, 1), len(order))


def _best(
    sets: ItemSets, items: NDArray[np.int64], *, k: int, sizes: Sequence[int], domain: int
) -> list[tuple[tuple[int, ...], float]]:
    """Find the k most frequent itemsets of these items, given in ascending order."""
    among = sets.restricted(items, domain=domain)
    holds = np.zeros((len(sets), len(items)), dtype=np.bool_)
    holds[np.repeat(np.arange(len(sets)), among.sizes), among.items] = True
    found: list[tuple[int, tuple[int, ...]]] = []

    def extend(prefix: tuple[int, ...], users: NDArray[np.bool_]) -> None:
        following = prefix[-1] + 1 if prefix else 0
        counts = users[:, following:].sum(axis=0)
        for place in (following + np.argsort(-counts, kind="stable")).tolist():
            held, longer = int(counts[place - following]), (*prefix, place)
            # Equal counts are ordered by the items, first ones first.
            if not held or (len(found) == k and held < found[0][0]):
                return
            if len(longer) in sizes:
                # Above every place, so that of two that begin alike the shorter comes first.
                entry = (held, (*(-each for each in longer), len(items)))
                (heapq.heappush if len(found) < k else heapq.heappushpop)(found, entry)
            if len(longer) < max(sizes):
                extend(longer, users[users[:, place]])

    extend((), holds)
    return [
        (tuple(int(items[-place]) for place in places[:-1]), held / len(sets))
        for held, places in sorted(found, reverse=True)
    ]
