"""Designs: which views users are asked about, and how many users each.

A design is chosen before anything is collected, by the error to expect of the joint distributions of two attributes,
whether they depend on each other less than is expected or more.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from stream_ldp.mechanisms import FrequencyOracle, RepeatedResponse
from stream_ldp.questions.oracles import value_oracle
from stream_ldp.views.covers import affine_plane, greedy_cover
from stream_ldp.views.expected import DEPENDENCE, expected_avd, of_unlike_values
from stream_ldp.views.variance import marginal_variance

#: Most cells of a view: a report of a subset has a bit for each, here 512 bytes.
MAX_VIEW_CELLS = 2**12

#: Users of a window for whom a design is chosen, where the file gives no number.
USERS = 20_000

#: Views of at most so many cells are tried for covers.
_COVER_CELLS = (16, 32, 64, 128, 256, 512, 1024, 2048)
#: Shares of the users that are asked about single attributes where the others are asked about pairs.
_MIXED = (0.1, 0.25, 0.5, 0.75, 0.9)
#: Least share of the users who report single attributes where these are numbers: ranges of two need each of them more
#: finely than cells. Of 10^5 users with bimodal numbers at epsilon 0.5, a quarter leave 1.6 times the error.
_FINE = 0.5
#: The dependences that designs are chosen for, in parts of the one that is expected: of each design, the largest
#: ratio counts of its error to that of the best one. Pairs of NLTCS are 1.6 times as far from independent as is
#: expected.
_DEPENDENCES = (0.0, 0.25, 1.0, 1.75)
#: Those where it is stated, as finals have shown it: shrunk, and of the pairs that they have.
_STATED = (0.5, 1.0, 1.5)
#: Part by which larger views have to be better than others: they lose more with less dependence than is expected.
_HANDICAP = 0.08
#: Least number of a view's users for which a design is chosen: with fewer, it may stay below the 20 that are needed.
_FEWEST = 24
#: Digits of the weight of a view, which has to come out the same on every machine.
_DIGITS = 3


@dataclass(frozen=True, kw_only=True)
class Design:
    """Views, each the ascending positions of its attributes, and the weights of their shares of the users.

    name: says which design it is.
    sizes: number of values of each attribute of the collection.
    epsilon: in nats, of all answers of a user's lifetime.
    oracle: name of the oracle of all views, see `stream_ldp.questions.oracles.VALUE_ORACLES`.
    per_report: in nats, of one answer, where answers by k-RR are perturbed again for each report; None where every
        report repeats the answer.
    """

    name: str
    sizes: tuple[int, ...]
    views: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]
    epsilon: float
    oracle: str = "auto"
    per_report: float | None = None

    def oracle_of(self, view: Sequence[int]) -> FrequencyOracle:
        """Return what perturbs the cells of a view.

        Raises:
            ParameterError: the oracle is not for so many cells, or the epsilon is beyond the resolution.
        """
        if self.per_report is not None:
            return RepeatedResponse(size=self.cells(view), epsilon=self.per_report, lifetime=self.epsilon)
        return value_oracle(self.oracle, self.cells(view), epsilon=self.epsilon)

    def cells(self, of: Sequence[int]) -> int:
        """Return the number of cells of the joint distribution of some attributes."""
        return math.prod(self.sizes[place] for place in of)

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The share of the users of each view."""
        total = sum(self.weights)
        return tuple(weight / total for weight in self.weights)

    @cached_property
    def information(self) -> dict[tuple[int, ...], float]:
        """Inverse variance, for each user of the collection, of a cell of each attribute and pair in a view."""
        found: dict[tuple[int, ...], float] = {}
        for view, share in zip(self.views, self.shares, strict=True):
            oracle = self.oracle_of(view)
            for of in (*((place,) for place in view), *combinations(view, 2)):
                found[of] = found.get(of, 0.0) + share / marginal_variance(oracle, self.cells(of))
        return found

    def expected_avd(
        self, users: float, *, dependence: float = DEPENDENCE, sets: Sequence[Sequence[int]] | None = None
    ) -> float:
        """Return the mean AVD to expect, see `stream_ldp.views.expected.expected_avd`."""
        found = dict(self.information)
        for of, more in of_unlike_values(self.sizes, found, users=users, dependence=dependence).items():
            found[of] += more
        return expected_avd(self.sizes, found, users=users, dependence=dependence, sets=sets)


def designed(
    name: str,
    views: Sequence[tuple[int, ...]],
    *,
    sizes: tuple[int, ...],
    epsilon: float,
    oracle: str = "auto",
    per_report: float | None = None,
    parts: Sequence[tuple[int, float]] = (),
) -> Design:
    """Share the users out among views so that the sum of the errors in their pairs is least.

    A view whose reports cost c sqrt(1 / n) of error for n users gets users in proportion to c^(2/3).

    parts: numbers of consecutive views, with the share of the users that they get together; none for all alike.
    """
    design = Design(
        name=name,
        sizes=sizes,
        views=tuple(views),
        weights=(),
        epsilon=epsilon,
        oracle=oracle,
        per_report=per_report,
    )
    weights = [_cost(design, view) ** (2 / 3) for view in views]
    shared: list[float] = []
    for count, share in parts or ((len(views), 1.0),):
        part = weights[len(shared) : len(shared) + count]
        shared += [share * weight / sum(part) for weight in part]
    mean = sum(shared) / len(shared)
    rounded = tuple(float(f"{weight / mean:.{_DIGITS}g}") for weight in shared)
    return replace(design, weights=rounded)


def _cost(design: Design, view: tuple[int, ...]) -> float:
    """Return the sum of absolute errors, for one report, in the joint distributions that a view is asked for."""
    oracle = design.oracle_of(view)
    wanted: list[tuple[int, ...]] = [*combinations(view, 2)] or [view]
    return sum(design.cells(of) * math.sqrt(marginal_variance(oracle, design.cells(of))) for of in wanted)


def candidates(
    sizes: tuple[int, ...],
    *,
    epsilon: float,
    oracle: str = "auto",
    per_report: float | None = None,
    names: Sequence[str] = (),
    alone: Sequence[int] = (),
) -> list[Design]:
    """Return the designs to choose from, whose views have at most `MAX_VIEW_CELLS` cells.

    names: of the designs that are wanted; none for all.
    alone: positions of attributes that are asked more finely alone: half of the users or more report single
        attributes.
    """
    places = range(len(sizes))
    singles: list[tuple[int, ...]] = [(place,) for place in places]
    pairs: list[tuple[int, ...]] = list(combinations(places, 2))
    found: list[Design] = []

    def add(name: str, views: Sequence[tuple[int, ...]], parts: Sequence[tuple[int, float]] = ()) -> None:
        large = any(math.prod(sizes[place] for place in view) > MAX_VIEW_CELLS for view in views)
        known = any(set(views) == set(each.views) and not parts for each in found)
        wanted = (not names or name in names) and (not alone or _asked_alone(views, parts) >= _FINE)
        if views and not large and not known and wanted:
            found.append(
                designed(name, views, sizes=sizes, epsilon=epsilon, oracle=oracle, per_report=per_report, parts=parts)
            )

    add("attributes", singles)
    add("pairs", pairs)
    if pairs:
        for share in _MIXED:
            add(f"attributes {share:g} + pairs", [*singles, *pairs], [(len(singles), share), (len(pairs), 1 - share)])
        add("plane", affine_plane(len(sizes)))
        for limit in _COVER_CELLS:
            add(f"cover {limit}", greedy_cover(sizes, limit))
    return found


def _asked_alone(views: Sequence[tuple[int, ...]], parts: Sequence[tuple[int, float]]) -> float:
    """Return the share of the users who report single attributes, in a design whose first part they are."""
    if not views or len(views[0]) > 1:
        return 0.0
    return parts[0][1] if parts else 1.0


def ranked(
    sizes: tuple[int, ...],
    *,
    epsilon: float,
    users: int,
    dependence: float | None = None,
    oracle: str = "auto",
    per_report: float | None = None,
    alone: Sequence[int] = (),
) -> list[Design]:
    """Return all designs, that with the least regret first.

    It is the ratio of its expected AVD to the least one, the largest over the dependences that there may be. Designs
    that leave views with too few users come last.

    dependence: the one that is stated; None where nothing is known of it.
    alone: see `candidates`.
    """
    found = candidates(sizes, epsilon=epsilon, oracle=oracle, per_report=per_report, alone=alone)
    parts, expects = (_DEPENDENCES, DEPENDENCE) if dependence is None else (_STATED, dependence)
    supposed = [min(part * expects, 1.0) for part in parts]
    expected = {each.name: [each.expected_avd(users, dependence=part) for part in supposed] for each in found}
    least = [min(errors) for errors in zip(*expected.values(), strict=True)]

    def regret(design: Design) -> tuple[float, float]:
        withheld = sum(share for share in design.shares if share * users < _FEWEST)
        worst = max(error / best for error, best in zip(expected[design.name], least, strict=True))
        return round(withheld, 9), round(worst * (1 + _HANDICAP * _is_large(design)), 9)

    return sorted(found, key=regret)


def _is_large(design: Design) -> bool:
    """Say whether a design has other views than single attributes and pairs."""
    return design.name != "attributes" and not design.name.endswith("pairs")
