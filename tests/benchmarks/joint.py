"""This benchmark measures joint distributions, and writes docs/accuracy.md's tables and plot.

python -m tests.benchmarks.joint DIRECTORY measures with adult.csv.gz and nltcs.csv.gz of a directory, which takes
some minutes, and then writes; without a directory it only writes what was measured. Parts that are named behind the
directory (windows, windows-drawn, windows-among, single, users, reordered, among, generated, linked) are measured
alone.
"generated" needs no data: any directory will do.
"""

import csv
import gzip
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial, reduce
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.evaluation.distance import average_variation_distance, coverage, joint_of, width
from stream_ldp.evaluation.experiment import Experiment
from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.bit_selection import selected
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.estimators import estimator
from stream_ldp.records.evaluation import measure_windows
from stream_ldp.records.solve import factor_of, supported
from tests.benchmarks.families import FAMILIES, generate
from tests.benchmarks.joint_coverage import LEAST, MOST
from tests.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "accuracy.md"
PLOT = REPOSITORY / "docs" / "images" / "windows.svg"
MEASURED = REPOSITORY / "tests" / "benchmarks" / "joint.json"

USERS, WINDOWS, REPEATS, SEED = 4_315, 30, 5, 0
NOISES: dict[str, dict[str, float]] = {
    "f = 0.1": {"f": 0.1},
    "f = 0.5": {"f": 0.5},
    "f = 0.9": {"f": 0.9},
    "f = 0.1, both stages": {"f": 0.1, "p": 0.5, "q": 0.75},
    "f = 0.5, both stages": {"f": 0.5, "p": 0.5, "q": 0.75},
}
#: Repeats of the streams that follow.
STREAM_REPEATS = 2
#: Table, attributes, and the column by which the population moves; None if it stays.
STREAMS = (
    ("adult", "age,marital-status", "hours-per-week"),
    ("adult", "marital-status,race", "age"),
    ("adult", "marital-status,sex,income", "age"),
    ("adult", "marital-status,sex,income", None),
    ("nltcs", "bathing,traveling,managing_money", "grocery_shopping"),
    ("nltcs", "bathing,traveling,managing_money", None),
)
OF_STREAMS = ("f = 0.5", "f = 0.1, both stages")
#: Numbers of attributes of streams that are drawn at random, each with a further column that drifts, how many of them
#: are drawn from a table, and their noises.
OF_DRAWN, DRAWN, NOISES_OF_DRAWN = (2, 3), 8, ("f = 0.5", "f = 0.1, both stages", "f = 0.5, both stages")
#: Streams of users who report all attributes of a table, which tell of one hidden factor.
AMONG = (
    ("nltcs", "bathing,traveling", "grocery_shopping"),
    ("nltcs", "bathing,traveling", None),
    ("nltcs", "bathing,traveling,managing_money", "grocery_shopping"),
    ("nltcs", "bathing,traveling,managing_money", None),
    ("adult", "marital-status,sex,income", "age"),
)
OF_AMONG = ("f = 0.5", "f = 0.1, both stages", "f = 0.5, both stages")
#: Tables and attributes of which reports are linked, their noises, in how many windows the users report, and repeats.
LINKED = (
    ("nltcs", "bathing,traveling"),
    ("nltcs", "bathing,traveling,managing_money"),
    ("adult", "marital-status,race"),
    ("adult", "marital-status,sex,income"),
)
OF_LINKED, LINKED_WINDOWS, LINKED_REPEATS = ("f = 0.1, both stages", "f = 0.5, both stages"), 16, 3
SHARES = {0.0: "New users", 0.5: "Half of the users return", 1.0: "All users return"}
#: Numbers of attributes of one window, by table, and how many sets of them are drawn for a row.
SIZES, SETS = {"nltcs": (2, 3, 5), "adult": (2, 3)}, 10
#: Other numbers of users, the attributes that they report, and how many sets of a table are drawn for a row of them;
#: of generated tables, there is one of each family and number of attributes.
OF_USERS, OF_USERS_SIZES, OF_USERS_SETS = (1_000, 20_000), (2, 3), 6
#: The table whose attributes all list what goes together first.
REORDERED = "nltcs"
#: Numbers of attributes of generated tables.
OF_GENERATED = (2, 3, 5)
#: Most values of an attribute that is drawn: five of Adult's largest have more cells than anybody asks about.
MAX_VALUES = 16
#: The forms that are compared with ours.
PUBLISHED = ("em", "lasso", "lremh")
#: All that ours is compared with.
OTHERS = (*PUBLISHED, "product")
#: The forms that are compared where independence is not rejected.
GATED = ("ours", "product")


def measure(directory: Path, parts: Sequence[str] = ()) -> dict[str, Any]:
    """Measure some parts, or everything."""
    rows_of_tables = [(name, k, noise) for name, sizes in SIZES.items() for k in sizes for noise in NOISES]
    of: dict[str, tuple[Callable[..., dict[str, Any]], list[tuple[Any, ...]]]] = {
        "windows": (_stream, list(product(STREAMS, OF_STREAMS, SHARES))),
        "windows-drawn": (_stream_drawn, list(product(SIZES, OF_DRAWN, range(DRAWN), NOISES_OF_DRAWN))),
        "windows-among": (_stream_among, list(product(AMONG, OF_AMONG))),
        "single": (_single, rows_of_tables),
        "users": (_of_users, list(product((*SIZES, "generated"), OF_USERS, NOISES))),
        "reordered": (_reordered, [row for row in rows_of_tables if row[0] == REORDERED]),
        "among": (_among, rows_of_tables),
        "generated": (_generated, list(product(FAMILIES, OF_GENERATED, NOISES))),
        "linked": (_linked, list(product(LINKED, OF_LINKED, SHARES))),
    }
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return {
            part: list(pool.map(partial(of[part][0], directory), *zip(*of[part][1], strict=True)))
            for part in parts or of
        }


def _linked(directory: Path, of: tuple[str, str], noise: str, returning: float) -> dict[str, Any]:
    """Estimate the last of some windows from all reports until then."""
    population = _columns(directory, of[0], of[1].split(","))
    size = f"{LINKED_WINDOWS}m"
    forms: dict[str, dict[str, Any]] = {
        "window": {"prior": "window"},
        "pooled": {
            "window": {"size": size, "hop": "1m", "reports_per_user": returning * LINKED_WINDOWS + 1 - returning}
        },
        "linked": {"linked": size},
    }
    found = {
        prior: _of_stream(
            population, noise, windows=LINKED_WINDOWS, returning=returning, repeats=LINKED_REPEATS, **form
        )
        for prior, form in forms.items()
    }
    return {
        "data": of[0],
        "of": of[1],
        "noise": noise,
        "returning": returning,
        **_of_forms(found, metric="last_avd"),
    }


def _of_forms(found: dict[str, list[dict[str, float]]], *, metric: str = "avd") -> dict[str, dict[str, Any]]:
    """Return the mean distance, coverage and width of each form, and the distance in each repeat.

    found: by form, the metrics of each repeat.
    """
    return {
        "avd": {form: round(float(np.mean([one[metric] for one in each])), 5) for form, each in found.items()},
        "coverage": {
            form: round(float(np.mean([one["coverage"] for one in each])), 4) for form, each in found.items()
        },
        "width": {form: round(float(np.mean([one["width"] for one in each])), 3) for form, each in found.items()},
        "repeats": {form: [round(one[metric], 5) for one in each] for form, each in found.items()},
    }


def _of_stream(
    population: NDArray[np.int64],
    noise: str,
    *,
    windows: int,
    returning: float,
    drift: NDArray[np.int64] | None = None,
    among: int = 0,
    repeats: int = REPEATS,
    prior: str | None = None,
    window: dict[str, Any] | None = None,
    linked: str | None = None,
) -> list[dict[str, float]]:
    """Estimate windows of users who are drawn from a table, and return the metrics of each repeat.

    among: number of the last attributes that are reported, and not estimated.
    """
    names = [str(place) for place in range(population.shape[1])]
    collection = JointCollection.model_validate(
        {
            "collection": "windows",
            "mechanism": {"kind": "rr-ldp", **NOISES[noise]},
            "attributes": [
                {"name": name, "values": list(map(str, range(size)))}
                for name, size in zip(names, _sizes(population), strict=True)
            ],
            "estimates": [
                {
                    "name": "joint",
                    "of": names[: len(names) - among],
                    "among": names if among else None,
                    "method": "em",
                    "prior": prior,
                }
            ],
            "window": window or {"size": "1m"} | ({} if linked else {"returning": returning}),
            "linked": linked,
        }
    )
    experiment = Experiment(
        collection=collection,
        population=population,
        users=USERS,
        measure=partial(measure_windows, windows=windows, returning=returning, drift=drift),
        clock=time.perf_counter,
    )
    return [
        {name: float(value) for name, value in one.metrics.items()}
        for (one,) in experiment.repeats(repeats, seed=SEED)
    ]


def _stream(
    directory: Path,
    stream: tuple[str, str, str | None],
    noise: str,
    returning: float,
    *,
    repeats: int = STREAM_REPEATS,
) -> dict[str, Any]:
    found = _of_windows(directory, stream, noise, returning=returning, repeats=repeats)
    return _named_stream(stream, noise) | {
        "returning": returning,
        **_of_forms(found),
    }


def _stream_drawn(directory: Path, name: str, k: int, number: int, noise: str) -> dict[str, Any]:
    """Estimate the windows of new users, of attributes and a drift that nobody has chosen."""
    usable = _usable(directory, name)
    *of, drift_by = np.random.default_rng([SEED, k, number]).choice(usable, k + 1, replace=False).tolist()
    return {"k": k} | _stream(directory, (name, ",".join(of), drift_by), noise, 0.0, repeats=REPEATS)


def _stream_among(directory: Path, stream: tuple[str, str, str | None], noise: str) -> dict[str, Any]:
    """Estimate the windows of new users from their reports of the attributes alone, and from those of all."""
    name, of, _ = stream
    others = [each for each in _usable(directory, name) if each not in of.split(",")]
    found = {
        f"{prior}{form}": score
        for form, more in (("", ()), (" among", others))
        for prior, score in _of_windows(directory, stream, noise, among=more).items()
    }
    return _named_stream(stream, noise) | _of_forms(found)


def _of_windows(
    directory: Path,
    stream: tuple[str, str, str | None],
    noise: str,
    *,
    returning: float = 0.0,
    among: Sequence[str] = (),
    repeats: int = REPEATS,
) -> dict[str, list[dict[str, float]]]:
    name, of, drift_by = stream
    population = _columns(directory, name, [*of.split(","), *among])
    drift = None if drift_by is None else _columns(directory, name, [drift_by])[:, 0]
    return {
        prior: _of_stream(
            population,
            noise,
            windows=WINDOWS,
            returning=returning,
            drift=drift,
            among=len(among),
            repeats=repeats,
            prior=prior,
        )
        for prior in ("window", "temporal")
    }


def _named_stream(stream: tuple[str, str, str | None], noise: str) -> dict[str, Any]:
    return dict(zip(("data", "of", "drift_by"), stream, strict=True)) | {"noise": noise}


def _single(directory: Path, name: str, k: int, noise: str) -> dict[str, Any]:
    """Estimate one window of each of some random sets of attributes by every form."""
    return _every_form(name, k, noise, _sets_of(directory, name, k))


def _of_users(directory: Path, name: str, users: int, noise: str) -> dict[str, Any]:
    """Do the same with another number of users, for two and three attributes of a table, or generated tables."""
    rng = np.random.default_rng([SEED, users])
    if name == "generated":
        tables = iter([generate(family, k, rng) for family, k in product(FAMILIES, OF_USERS_SIZES)])
        sets = len(FAMILIES) * len(OF_USERS_SIZES)

        def people() -> tuple[NDArray[np.int64], tuple[int, ...]]:
            joint = next(tables)
            cells = rng.choice(joint.size, users, p=joint.ravel())
            return np.stack(np.unravel_index(cells, joint.shape), axis=1), joint.shape
    else:
        usable, sizes, sets = _usable(directory, name), cycle(OF_USERS_SIZES), OF_USERS_SETS

        def people() -> tuple[NDArray[np.int64], tuple[int, ...]]:
            of = [usable[place] for place in rng.choice(len(usable), next(sizes), replace=False)]
            population = _columns(directory, name, of)
            return population[rng.choice(len(population), users)], _sizes(population)

    return _every_form(name, max(OF_USERS_SIZES), noise, people, sets=sets) | {"users": users}


def _reordered(directory: Path, name: str, k: int, noise: str) -> dict[str, Any]:
    """Do the same with the same users, but the values of each attribute are listed in an order that is drawn."""
    as_listed, rng = _sets_of(directory, name, k), np.random.default_rng([SEED, k, 1])

    def people() -> tuple[NDArray[np.int64], tuple[int, ...]]:
        listed, sizes = as_listed()
        columns = [rng.permutation(size)[column] for size, column in zip(sizes, listed.T, strict=True)]
        return np.stack(columns, axis=1), sizes

    return _every_form(name, k, noise, people)


def _sets_of(directory: Path, name: str, k: int) -> Callable[[], tuple[NDArray[np.int64], tuple[int, ...]]]:
    """Return a function that draws the next set of attributes of a table, and users: see `_every_form`."""
    rng = np.random.default_rng([SEED, k])
    usable = _usable(directory, name)

    def people() -> tuple[NDArray[np.int64], tuple[int, ...]]:
        population = _columns(directory, name, [usable[place] for place in rng.choice(len(usable), k, replace=False)])
        return population[rng.choice(len(population), USERS)], _sizes(population)

    return people


def _among(directory: Path, name: str, k: int, noise: str) -> dict[str, Any]:
    """Estimate sets of attributes whose users report all of them, with and without the factor of all."""
    rng = np.random.default_rng([SEED, k])
    records = _columns(directory, name, _usable(directory, name))
    mechanism = RRLDP(sizes=_sizes(records), **NOISES[noise])
    distances: dict[str, list[float]] = {}
    covered: dict[str, list[float]] = {}
    widths: dict[str, list[float]] = {}
    seen = 0
    for repeat in range(SETS):
        of = rng.choice(records.shape[1], k, replace=False).tolist()
        people = records[rng.choice(len(records), USERS)]
        rows = RowCounts.of(mechanism.perturb(people, entropy=SeededEntropy(repeat)), bits=mechanism.bits)
        factor = factor_of(rows, mechanism, range(len(mechanism.sizes)))
        seen += factor is not None
        counts = supported(selected(rows, mechanism.columns(of)), mechanism, of)
        sizes, supports = tuple(mechanism.sizes[j] for j in of), [mechanism.supports[j] for j in of]
        truth = joint_of(people[:, of], sizes)
        em = partial(
            estimator("em", stop="certificate", delta=0.001).estimate, counts, sizes=sizes, supports=supports
        )
        for form, solution in (
            ("alone", em()),
            ("among", em(factor=factor and [factor[j] for j in of])),
            *(
                (each, estimator(each, stop="paper", delta=0.001).estimate(counts, sizes=sizes, supports=supports))
                for each in PUBLISHED
            ),
        ):
            distances.setdefault(form, []).append(average_variation_distance(solution.joint, truth))
            covered.setdefault(form, []).append(coverage(solution.joint, solution.standard_error, truth))
            widths.setdefault(form, []).append(width(solution.standard_error, distance=distances[form][-1]))
    return {
        "data": name,
        "k": k,
        "noise": noise,
        "seen": seen,
        "avd": {form: round(float(np.mean(each)), 5) for form, each in distances.items()},
        "coverage": {form: round(float(np.mean(covered[form])), 4) for form in ("alone", "among")},
        "width": {form: round(float(np.mean(widths[form])), 3) for form in ("alone", "among")},
        "worst": round(_worst(distances, "among", "alone"), 3),
    }


def _worst(distances: dict[str, list[float]], form: str, other: str) -> float:
    """Return the largest ratio of the distance by one form to that by another, of the same users."""
    return float((np.array(distances[form]) / distances[other]).max())


def _generated(directory: Path, family: str, k: int, noise: str) -> dict[str, Any]:
    """Do the same with generated tables, the same ones for every noise."""
    rng = np.random.default_rng([SEED, k, list(FAMILIES).index(family)])

    def people() -> tuple[NDArray[np.int64], tuple[int, ...]]:
        joint = generate(family, k, rng)
        cells = rng.choice(joint.size, USERS, p=joint.ravel())
        return np.stack(np.unravel_index(cells, joint.shape), axis=1), joint.shape

    return _every_form(family, k, noise, people)


def _every_form(
    name: str,
    k: int,
    noise: str,
    people_of_set: Callable[[], tuple[NDArray[np.int64], tuple[int, ...]]],
    *,
    sets: int = SETS,
) -> dict[str, Any]:
    """Estimate the joint of people who report once by every form, for some sets of people.

    people_of_set: makes the next set: value indices, shape (people, attributes), and the attributes' sizes.
    """
    distances: dict[str, list[float]] = {}
    covered, widths, dependent = [], [], []
    for repeat in range(sets):
        people, sizes = people_of_set()
        mechanism = RRLDP(sizes=sizes, **NOISES[noise])
        rows = RowCounts.of(mechanism.perturb(people, entropy=SeededEntropy(repeat)), bits=mechanism.bits)
        counts, truth = supported(rows, mechanism, range(len(sizes))), joint_of(people, mechanism.sizes)
        for method, stop in (("em", "certificate"), *((each, "paper") for each in PUBLISHED)):
            solution = estimator(method, stop=stop, delta=0.001).estimate(
                counts, sizes=mechanism.sizes, supports=mechanism.supports
            )
            form = "ours" if stop == "certificate" else method
            distances.setdefault(form, []).append(average_variation_distance(solution.joint, truth))
            if form == "ours":
                independent = reduce(np.multiply.outer, solution.independence.marginals)
                distances.setdefault("product", []).append(average_variation_distance(independent, truth))
                dependent.append(solution.independence.dependent)
                covered.append(coverage(solution.joint, solution.standard_error, truth))
                widths.append(width(solution.standard_error, distance=distances["ours"][-1]))
    nearest = np.min([distances[form] for form in OTHERS], axis=0)
    return {
        "data": name,
        "k": k,
        "noise": noise,
        "avd": {form: round(float(np.mean(each)), 5) for form, each in distances.items()},
        "coverage": round(float(np.mean(covered)), 4),
        "width": round(float(np.mean(widths)), 3),
        "worst": round(float((np.array(distances["ours"]) / nearest).max()), 3),
        "not_rejected": {
            form: round(float(np.sum(np.array(distances[form])[~np.array(dependent)])), 5) for form in GATED
        },
        "sets_not_rejected": sets - sum(dependent),
    }


def _usable(directory: Path, name: str) -> list[str]:
    header, records = _table(directory, name)
    return [each for each in header if 2 <= len(set(records[:, header.index(each)].tolist())) <= MAX_VALUES]


@cache
def _table(directory: Path, name: str) -> tuple[list[str], NDArray[np.int64]]:
    with gzip.open(directory / f"{name}.csv.gz", "rt") as lines:
        rows = csv.reader(lines)
        return next(rows), np.array([[int(value) for value in row] for row in rows])


def _columns(directory: Path, name: str, of: list[str]) -> NDArray[np.int64]:
    """Return columns as value indices, the values in the order of their numbers."""
    header, records = _table(directory, name)
    return np.stack([np.unique(records[:, header.index(each)], return_inverse=True)[1] for each in of], axis=1)


def _sizes(population: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple((population.max(axis=0) + 1).tolist())


def tables(measured: dict[str, Any]) -> dict[str, str]:
    """Make the tables of the page, by the name of their place in it."""
    made = {
        "single": _single_table(measured["single"]),
        "users": _users_table(measured["users"]),
        "reordered": _reordered_table(measured["single"], measured["reordered"]),
        "among": _among_table(measured["among"]),
        "overall": _overall_table([*measured["single"], *measured["generated"]]),
    }
    for share in SHARES:
        made[f"windows {share:g}"] = _windows_table(measured["windows"], share)
    made["windows drawn"] = _windows_drawn_table(measured["windows-drawn"])
    made["windows among"] = _windows_among_table(measured["windows-among"])
    made["linked"] = _linked_table(measured["linked"])
    return made


def _linked_table(linked: list[dict[str, Any]]) -> str:
    lines = [
        "| Table, attributes, noise, users who return | alone | pooled | linked | linked / pooled | worst "
        "| covered: pooled | linked | width: pooled | linked |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for each in linked:
        of = each["of"].replace(",", ", ").replace("marital-status", "marital").replace("_", " ")
        table = _title(each["data"])
        avd, covered = each["avd"], each["coverage"]
        distances = " | ".join(f"{avd[form]:.4f}" for form in ("window", "pooled", "linked"))
        lines.append(
            f"| {table} {of}; {each['noise']}; {each['returning']:.0%} | {distances} | "
            f"{avd['linked'] / avd['pooled']:.2f} | {_worst(each['repeats'], 'linked', 'pooled'):.2f} | "
            f"{covered['pooled']:.2f} | {covered['linked']:.2f} | "
            f"{each['width']['pooled']:.1f} | {each['width']['linked']:.1f} |"
        )
    for share in SHARES:
        ratios = [each["avd"]["linked"] / each["avd"]["pooled"] for each in linked if each["returning"] == share]
        lines.append(f"| mean; {share:.0%} | | | | {np.mean(ratios):.2f} | | | | | |")
    return "\n".join(lines)


def _windows_table(windows: list[dict[str, Any]], share: float) -> str:
    lines = [
        f"| {SHARES[share]} | alone | temporal | ratio | worst | covered: alone | temporal "
        "| width: alone | temporal |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    of_share = [each for each in windows if each["returning"] == share]
    ratios = []
    for each in of_share:
        alone, temporal = each["avd"]["window"], each["avd"]["temporal"]
        ratios.append(temporal / alone)
        covered = " | ".join(f"{each['coverage'][prior]:.2f}" for prior in ("window", "temporal"))
        wide = " | ".join(f"{each['width'][prior]:.1f}" for prior in ("window", "temporal"))
        worst = _worst(each["repeats"], "temporal", "window")
        lines.append(
            f"| {_named(each)} | {alone:.4f} | {temporal:.4f} | {ratios[-1]:.2f} | {worst:.2f} | {covered} | {wide} |"
        )
    lines.append(f"| mean | | | {np.mean(ratios):.2f} | | | | | |")
    return "\n".join(lines)


def _windows_drawn_table(windows: list[dict[str, Any]]) -> str:
    lines = [
        "| table, attributes | rows | ratio | worst | alone covered below 0.92 | to 0.98 | above | lowest "
        "| temporal covered below 0.92 | to 0.98 | above | lowest |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, k in dict.fromkeys((each["data"], each["k"]) for each in windows):
        of = [each for each in windows if (each["data"], each["k"]) == (name, k)]
        ratios = [each["avd"]["temporal"] / each["avd"]["window"] for each in of]
        covered = " | ".join(_spread([each["coverage"][prior] for each in of]) for prior in ("window", "temporal"))
        lines.append(f"| {_title(name)}, {k} | {len(of)} | {np.mean(ratios):.2f} | {max(ratios):.2f} | {covered} |")
    return "\n".join(lines)


def _spread(coverage: list[float]) -> str:
    """Write how many of some shares are below 0.92, up to 0.98 and above, and the lowest."""
    below, above = sum(each < LEAST for each in coverage), sum(each > MOST for each in coverage)
    return f"{below} | {len(coverage) - below - above} | {above} | {min(coverage):.2f}"


def _windows_among_table(windows: list[dict[str, Any]]) -> str:
    forms = ("window", "window among", "temporal", "temporal among")
    lines = [
        "| New users | alone | among | temporal | both | both / temporal | covered: temporal | both |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for each in windows:
        avd, covered = each["avd"], each["coverage"]
        distances = " | ".join(f"{avd[form]:.4f}" for form in forms)
        ratio = avd["temporal among"] / avd["temporal"]
        lines.append(
            f"| {_named(each)} | {distances} | {ratio:.2f} | {covered['temporal']:.2f} | "
            f"{covered['temporal among']:.2f} |"
        )
    for name in dict.fromkeys(each["data"] for each in windows):
        ratios = [each["avd"]["temporal among"] / each["avd"]["temporal"] for each in windows if each["data"] == name]
        lines.append(f"| {_title(name)}, mean | | | | | {np.mean(ratios):.2f} | | |")
    return "\n".join(lines)


def _named(row: dict[str, Any]) -> str:
    of = row["of"].replace(",", ", ").replace("marital-status", "marital").replace("_", " ")
    drift = "drift" if row["drift_by"] else "none"
    return f"{_title(row['data'])} {of}; {row['noise']}; {drift}"


def _title(name: str) -> str:
    """Return the name of a table as the page writes it."""
    return name.replace("nltcs", "NLTCS").replace("adult", "Adult")


def _single_table(single: list[dict[str, Any]]) -> str:
    lines = [
        "| table, attributes, noise | ours | EM | LASSO | LREMH | product | ratio to the best of these | worst set "
        "| covered | width |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*lines, *(_measured_row(_row(each), each) for each in single)])


def _users_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| table, users, noise | ours | EM | LASSO | LREMH | product | ratio to the best of these | worst set "
        "| covered | width |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    named = [(f"{_title(each['data'])}, {each['users']:,}, {each['noise']}", each) for each in rows]
    return "\n".join([*lines, *(_measured_row(name, each) for name, each in named)])


def _measured_row(name: str, each: dict[str, Any]) -> str:
    avd = each["avd"]
    best = [avd[form] for form in OTHERS]
    numbers = " | ".join(f"{number:.3f}" for number in (avd["ours"], *best))
    return (
        f"| {name} | {numbers} | {avd['ours'] / min(best):.2f} | {each['worst']:.2f} | {each['coverage']:.2f} "
        f"| {each['width']:.1f} |"
    )


def _row(each: dict[str, Any]) -> str:
    return f"{_title(each['data'])}, {each['k']}, {each['noise']}"


def _reordered_table(single: list[dict[str, Any]], reordered: list[dict[str, Any]]) -> str:
    lines = [
        "| table, attributes, noise | ours | LASSO | LREMH | ratio to the best "
        "| drawn order: ours | LASSO | LREMH | ratio to the best |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    ratios: list[list[float]] = []
    for pair in zip([each for each in single if each["data"] == REORDERED], reordered, strict=True):
        ratios.append([each["avd"]["ours"] / min(each["avd"][form] for form in OTHERS) for each in pair])
        numbers = [
            " | ".join(f"{each['avd'][form]:.3f}" for form in ("ours", "lasso", "lremh")) + f" | {ratio:.2f}"
            for each, ratio in zip(pair, ratios[-1], strict=True)
        ]
        lines.append(f"| {_row(pair[0])} | {' | '.join(numbers)} |")
    of_listed, of_drawn = np.mean(ratios, axis=0)
    lines.append(f"| mean | | | | {of_listed:.2f} | | | | {of_drawn:.2f} |")
    return "\n".join(lines)


def _among_table(among: list[dict[str, Any]]) -> str:
    lines = [
        "| table, attributes, noise | alone | among | ratio | worst set | best published | ratio to it: alone "
        "| among | factor seen | covered: alone | among | width: alone | among |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    names = dict.fromkeys(each["data"] for each in among)
    rows = [(f"{each['data']}, {each['k']}, {each['noise']}", [each]) for each in among]
    rows += [(f"{name}, all rows", [each for each in among if each["data"] == name]) for name in names]
    for name, of in rows:
        alone, drawn = _mean(of, "alone"), _mean(of, "among")
        best = min(_mean(of, form) for form in PUBLISHED)
        seen = np.mean([each["seen"] for each in of]) / SETS
        covered = " | ".join(f"{np.mean([each['coverage'][form] for each in of]):.2f}" for form in ("alone", "among"))
        wide = " | ".join(f"{np.mean([each['width'][form] for each in of]):.1f}" for form in ("alone", "among"))
        lines.append(
            f"| {_title(name)} | {alone:.3f} | {drawn:.3f} | "
            f"{drawn / alone:.2f} | {max(each['worst'] for each in of):.2f} | {best:.3f} | {alone / best:.2f} | "
            f"{drawn / best:.2f} | {seen:.1f} | {covered} | {wide} |"
        )
    return "\n".join(lines)


def overall(rows: list[dict[str, Any]]) -> float:
    """Compute the ratio of our mean distance over all rows to that of the best single published form."""
    return _mean(rows, "ours") / min(_mean(rows, form) for form in PUBLISHED)


def _mean(rows: list[dict[str, Any]], form: str) -> float:
    return float(np.mean([each["avd"][form] for each in rows]))


def _overall_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| tables | ours | EM | LASSO | LREMH | product | ratio to the best published form "
        "| independence not rejected: ours | product |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    names = list(dict.fromkeys(each["data"] for each in rows))
    for name in [*names, None]:
        of = [each for each in rows if name in (each["data"], None)]
        called = _title(name or "all")
        numbers = " | ".join(f"{_mean(of, form):.3f}" for form in ("ours", *PUBLISHED, "product"))
        sets = sum(each["sets_not_rejected"] for each in of)
        gated = " | ".join(
            f"{sum(each['not_rejected'][form] for each in of) / sets:.3f}" if sets else "" for form in GATED
        )
        lines.append(f"| {called} | {numbers} | {overall(of):.3f} | {gated} |")
    return "\n".join(lines)


def plot(measured: dict[str, Any]) -> str:
    """Draw the ratio of the temporal distance to that of the window alone, a point for each row, as SVG."""
    left, width, step, top = 380, 420, 20, 50
    rows = [each for each in measured["windows"] if each["returning"] == 0.0]
    height = top + step * len(rows) + 40
    colours = {0.0: "#0b6e99", 0.5: "#c77700", 1.0: "#8a8a8a"}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{left + width + 30}" height="{height}" fill="white"/>',
    ]
    for number, (share, colour) in enumerate(colours.items()):
        x = left + 150 * number
        parts.append(f'<circle cx="{x}" cy="16" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{x + 10}" y="20">{SHARES[share]}</text>')
    bottom = top + step * len(rows)
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + round(tick * width)
        parts.append(f'<line x1="{x}" y1="{top - 10}" x2="{x}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    parts.append(
        f'<text x="{left + width // 2}" y="{bottom + 34}" text-anchor="middle">'
        "distance with previous windows, over that of the window alone</text>"
    )
    for number, row in enumerate(rows):
        y = top + step * number + 4
        parts.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{_named(row)}</text>')
        for each in measured["windows"]:
            if _named(each) == _named(row):
                x = left + width * each["avd"]["temporal"] / each["avd"]["window"]
                parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{colours[each["returning"]]}"/>')
    return "\n".join([*parts, "</svg>", ""])


def write(measured: dict[str, Any]) -> None:
    """Write the page's tables and its plot."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables(measured).items():
        before, rest = text.split(f"<!-- {name} -->\n")
        _, after = rest.split(f"<!-- /{name} -->")
        text = f"{before}<!-- {name} -->\n\n{table}\n\n<!-- /{name} -->{after}"
    PAGE.write_text(text, encoding="utf-8")
    PLOT.write_text(plot(measured), encoding="utf-8")


def main() -> None:
    """Measure if a directory is given, and write."""
    if len(sys.argv) > 1:
        known = json.loads(MEASURED.read_text(encoding="utf-8")) if len(sys.argv) > 2 else {}
        known |= measure(Path(sys.argv[1]), sys.argv[2:])
        MEASURED.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    write(json.loads(MEASURED.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
