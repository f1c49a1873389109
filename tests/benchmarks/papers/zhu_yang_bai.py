"""Zhu, Yang and Bai (2021): heavy hitters of item sets by GFIM, and by LDPMiner, with which they compare it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stream_ldp.evaluation.trial import Measured, Trial
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.evaluation import metrics, relative_error, run_epoch
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.combination import phase_estimate
from stream_ldp.sets.phases import Inquiry, RankingEstimate
from tests.benchmarks.papers.figure import Drawn, Figure, Line, Panel, Results, line
from tests.benchmarks.papers.study import SEED, Form, Row, Study

_EPSILONS, _KS = (0.5, 1, 2, 3, 4, 6, 8, 10), (5, 10, 20, 30, 40, 50)
#: A million users take minutes for each of these.
_EPSILONS_OF_CENSUS, _KS_OF_CENSUS = (0.5, 1, 2, 4, 10), (5, 10, 30, 50)
#: What figures 1 and 2 hold fixed, and what figures 3 and 4 do for each table.
_K, _OF_MUSHROOM, _OF_OTHERS = 10, 3, 1
#: Sampling SH in all phases, and eq. 2.
_PUBLISHED = {"mechanism.hash_bits": 1, "mechanism.combine": "paper"}
#: USCensus1990 as table 1 describes it: users, items, and items of each user.
CENSUS_USERS, CENSUS_ITEMS, CENSUS_SIZE = 1_000_000, 396, 68


class _EveryPhase:
    """A method that keeps the latest estimate of each item, also of items that later phases leave out."""

    def __init__(self, method: Any) -> None:
        self._method = method
        self.frequency = np.full(method.domain, np.nan)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> Any:
        if before is None:
            self.frequency[:] = phase_estimate(inquiry, self._method.oracle(inquiry), sums, reports=reports).frequency
        estimate, following = self._method.solve(inquiry, sums=sums, reports=reports, before=before)
        self.frequency[estimate.items] = estimate.frequency
        return estimate, following


def measure_as_published(trial: Trial[Any]) -> Iterator[Measured]:
    """Measure a ranking as `stream-ldp evaluate` does, and the relative error of all items, as eq. 2 has them.

    The product publishes finalists alone, and its own relative error takes others for 0.
    """
    method = _EveryPhase(trial.collection.method)
    begun = trial.clock()
    estimate = run_epoch(cast("Any", method), trial.people, entropy=SeededEntropy(trial.noise))
    seconds = trial.clock() - begun
    truth = trial.people.frequencies(method.domain)
    error = relative_error(np.clip(method.frequency, 0.0, 1.0), truth, k=method.k)
    yield Measured("heavy-hitters", metrics(estimate, truth, k=method.k) | {"re_all": error}, seconds)


def _forms() -> dict[str, Form]:
    return {
        "GFIM as published": Form(keys={"mechanism.kind": "gfim", **_PUBLISHED}, measure=measure_as_published),
        "LDPMiner as published": Form(
            keys={"mechanism.kind": "ldpminer", **_PUBLISHED}, measure=measure_as_published
        ),
        "GFIM as shipped": Form(keys={"mechanism.kind": "gfim"}),
        "LDPMiner as shipped": Form(keys={"mechanism.kind": "ldpminer"}),
        "the product's choice": Form(),
    }


def census(users: int = CENSUS_USERS) -> ItemSets:
    """Generate sets of the size and the number of items of USCensus1990.

    A record of the census has a value of each of 68 attributes, and each value is an item. Here the attributes are
    independent, have five or six values each, and a value of rank r has a frequency proportional to r^-s with an s of
    the attribute's own, uniform from 0.5 to 3.
    """
    generator = np.random.default_rng(SEED)
    sizes = np.diff(np.linspace(0, CENSUS_ITEMS, CENSUS_SIZE + 1).round().astype(np.int64))
    items = np.empty((users, CENSUS_SIZE), dtype=np.int64)
    for place, (first, size) in enumerate(zip(np.cumsum(sizes) - sizes, sizes.tolist(), strict=True)):
        shares = np.arange(1.0, size + 1) ** -generator.uniform(0.5, 3.0)
        items[:, place] = first + np.searchsorted(
            np.cumsum(shares[:-1] / shares.sum()), generator.random(users), side="right"
        )
    return ItemSets(CENSUS_SIZE * np.arange(users + 1, dtype=np.int64), items.ravel())


def _study(
    name: str,
    vary: tuple[str, Sequence[float]],
    fixed: dict[str, Any],
    *,
    items: int | None = None,
    size: int | str = "",
    repeats: int = 10,
    data: str | None = None,
    generated: Callable[[], Any] | None = None,
) -> Study:
    return Study(
        name=name,
        data=data,
        document={
            "mechanism": {"set_size": size, **fixed},
            "items": {} if items is None else {"size": items},
        },
        forms=_forms(),
        vary=vary,
        generated=generated,
        repeats=repeats,
        kept=("re", "re_all", "ndcg", "f1", "seconds"),
    )


def _both(
    name: str,
    epsilon: int,
    *,
    epsilons: Sequence[float] = _EPSILONS,
    ks: Sequence[int] = _KS,
    **table: Any,
) -> tuple[Study, Study]:
    return (
        _study(f"{name}-by-epsilon", ("mechanism.epsilon", epsilons), {"k": _K}, **table),
        _study(f"{name}-by-k", ("mechanism.k", ks), {"epsilon": epsilon}, **table),
    )


STUDIES = (
    *_both("mushroom", _OF_MUSHROOM, data="mushroom.txt.gz"),
    *_both("connect", _OF_OTHERS, data="connect.txt.gz", repeats=3),
    *_both(
        "census",
        _OF_OTHERS,
        epsilons=_EPSILONS_OF_CENSUS,
        ks=_KS_OF_CENSUS,
        generated=census,
        items=CENSUS_ITEMS,
        size=CENSUS_SIZE,
        repeats=2,
    ),
)

#: How each form is drawn.
_LINES = {
    "GFIM as published": Drawn("GFIM as published", 0, "published"),
    "LDPMiner as published": Drawn("LDPMiner as published", 1, "published"),
    "GFIM as shipped": Drawn("GFIM as shipped", 0, "shipped"),
    "LDPMiner as shipped": Drawn("LDPMiner as shipped", 1, "shipped"),
    "the product's choice": Drawn("the product's choice", 2, "other"),
}
#: The tables in the order of the paper, as panels call them, with the fixed epsilon of figures 3 and 4.
TABLES = {"census": ("USCensus1990 stand-in", 1), "mushroom": ("Mushroom", 3), "connect": ("Connect", 1)}
_METRICS = {"re": "relative error", "ndcg": "NDCG", "seconds": "CPU seconds of an epoch"}


def _lines(rows: Sequence[Row], metric: str) -> tuple[Line, ...]:
    """Make a line of each form; of relative errors, also those of all items, where they were measured."""
    drawn = [(form, metric, how) for form, how in _LINES.items()]
    if metric == "re":
        drawn += [
            (form, "re_all", Drawn(f"{form}, all items (eq. 2)", colour, "other"))
            for colour, form in ((3, "GFIM as published"), (4, "LDPMiner as published"))
        ]
    found = (line(rows, form=form, metric=it, drawn=how) for form, it, how in drawn)
    return tuple(each for each in found if each.points)


def _panels(axis: str, metric: str) -> Callable[[Results], list[Panel]]:
    def panels(results: Results) -> list[Panel]:
        return [
            Panel(
                title=f"{title}, {f'k = {_K}' if axis == 'epsilon' else f'epsilon {epsilon}'}",
                x=axis,
                y=_METRICS[metric],
                lines=_lines(results[f"{name}-by-{axis}"], metric),
                log_y=metric != "ndcg",
            )
            for name, (title, epsilon) in TABLES.items()
            if f"{name}-by-{axis}" in results
        ]

    return panels


def _figure(name: str, title: str, axis: str, metric: str, about: str, *, command: bool = False) -> Figure:
    mushroom = next(each for each in STUDIES if each.name == f"mushroom-by-{axis}")
    return Figure(
        name=name,
        title=title,
        studies=tuple(f"{each}-by-{axis}" for each in TABLES),
        about=about,
        panels=_panels(axis, metric),
        commands=(mushroom.command("GFIM as published"), mushroom.command("the product's choice")) if command else (),
    )


FIGURES = (
    _figure(
        "items-1",
        "Figure 1: relative error against epsilon",
        "epsilon",
        "re",
        (
            "Sets of 23 (Mushroom, 8,416 users), 43 (Connect, 67,557 users) and 68 items (1,000,000 users). "
            "**USCensus1990 is not available: the stand-in is generated**, with its numbers of users, items and "
            "items in a set, but with independent attributes. It was measured before responses drew their random "
            "words in another order, so another run differs by chance. l is the size of the sets, and k_max is 3 k "
            "(the paper says O(k)). The product publishes finalists alone, so a heavy hitter that is none counts as "
            "0, with a relative error of 1. By eq. 2, it has the estimate of an earlier phase: two more lines show "
            "the relative errors of all items, on Mushroom and Connect. The claims on relative errors are counted by "
            "eq. 2 there; by the product's own metric, GFIM as published would be better at 8 of 21 epsilons and 10 "
            "of 16 k, and not at 13 and 14. As published, both methods begin with one sign by SH, with a variance of "
            "at least l² however large epsilon is. As shipped, both take the minimum-variance response, and weigh "
            "phases by inverse variance. The product's choice is the method of a file that names none: gfim-users up "
            "to epsilon 2, which divides the users instead of epsilon, and svim beyond."
        ),
        command=True,
    ),
    _figure(
        "items-2",
        "Figure 2: NDCG against epsilon",
        "epsilon",
        "ndcg",
        (
            "The runs of figure 1. The ten most frequent items of Connect lie within 1.3 % of each other, so their "
            "order is hard to find at any epsilon. Those of the stand-in lie within 8 %, and there are fifteen "
            "times as many users."
        ),
    ),
    _figure(
        "items-3",
        "Figure 3: relative error against k",
        "k",
        "re",
        ("The tables and forms of figure 1, at the epsilons that the paper gives for each."),
        command=True,
    ),
    _figure("items-4", "Figure 4: NDCG against k", "k", "ndcg", ("The runs of figure 3.")),
    _figure(
        "items-times",
        "The run times that the paper speaks of",
        "epsilon",
        "seconds",
        (
            "The paper has no figure of it, but promises a faster run by fewer passes. These are the seconds of "
            "all users and the server together, in the runs of figure 1. In both methods each user reports twice: "
            "GFIM's second phase has two groups with one report of each user. So there are as many passes, and "
            "one more round of the server."
        ),
    ),
)
