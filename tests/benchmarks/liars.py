"""This benchmark measures what liars move, of every kind: `python -m tests.benchmarks.liars`, for docs/SECURITY.md.

A share of 20,000 users lies. `false value`: they have the target, and report as honest users do, which nobody can
prevent. `crafted`: they let the mechanism run until a report supports the target, or is the largest number there is,
and all claim to be asked about it; so all else in their reports looks honest (Cao, Jia and Gong, 2021). `bound` is
what `plan` and the answers say. A minute on one core;
with a word, such as `pairs`, of the rows that have it alone.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from stream_ldp.kinds import leverages_of, parse_collection, solve
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.plausibility import PlausibilityTest
from stream_ldp.pipeline.leverage import Leverage
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.questions.answers import gathered

USERS, SHARES, REPEATS = 20_000, (0.01, 0.05), 5
#: Reports out of which a liar chooses.
POOL = 60

Rows = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A collection, its honest users, and what is attacked.

    report: makes reports of so many honest users, who do not have the target.
    lie: makes reports of so many users who have it, and say that they are asked about it.
    estimate: the raw number, and the test of the reports.
    added: what each report adds to the sum that the number is the mean of, but for a factor.
    """

    name: str
    collection: Any
    report: Callable[[int, SeededEntropy], Rows]
    lie: Callable[[int, SeededEntropy], Rows]
    estimate: Callable[[Rows], tuple[float, PlausibilityTest | None]]
    added: Callable[[Rows], NDArray[np.float64]]
    about: str = ""
    scale: float = 1.0


def leverage_of(case: Case) -> Leverage:
    """Return what the plan and the answers say of the number that is attacked."""
    return next(each for each in leverages_of(case.collection) if each.about == case.about)


def crafted(case: Case, count: int, entropy: SeededEntropy) -> Rows:
    """Choose, for each liar, the report that adds most out of `POOL` that the mechanism makes."""
    pool = case.lie(POOL * count, entropy)
    added = case.added(pool)
    return pool[np.argsort(-added, kind="stable")[:count]]


def answer_to(collection: Any, rows: Rows) -> Any:
    """Solve the only window of the only series, in which so many users have reported."""
    counts = ReportSums.of(reports=len(rows), values=collection.questions.sums(rows))
    task: WindowTask[Any, Any] = WindowTask(
        series=collection.series[0], window_ms=0, final=True, windows=((1.0, (counts,)),), before=None
    )
    return solve(collection, task)


def records(name: str, mechanism: str) -> Case:
    collection = parse_collection(
        f"collection: x\nmechanism: {mechanism}\nattributes: [{{name: a, values: [n, y]}}, "
        "{name: b, values: [1, 2, 3, 4, 5, 6, 7, 8]}]\nestimates: [{name: joint, of: [a, b]}]\nwindow: {size: 60s}\n"
    )
    used = collection.mechanism  # type: ignore[attr-defined]

    def added(rows: Rows) -> NDArray[np.float64]:
        bits = np.unpackbits(rows, axis=1, count=used.bits, bitorder="little")
        supported = used.supported(bits[:, list(used.columns([0, 1]))], [0, 1])
        found = np.ones(len(rows))
        for column, support in zip((1, 9), used.supports, strict=True):
            found *= (supported[:, column] - support.zero) / (support.one - support.zero)
        return found

    def estimate(rows: Rows) -> tuple[float, PlausibilityTest | None]:
        bits = np.unpackbits(rows, axis=1, count=used.bits, bitorder="little")[:, list(used.columns([0, 1]))]
        test = used.plausibility(bits, np.ones(len(rows), dtype=np.int64), [0, 1], reports_per_user=1.0)
        return float(added(rows).mean()), test

    def report(count: int, entropy: SeededEntropy) -> Rows:
        values = np.column_stack([entropy.integers(np.full(count, 2)), entropy.integers(np.full(count, 7))])
        rows: Rows = used.perturb(values, entropy=entropy)
        return rows

    return Case(
        name=name,
        collection=collection,
        report=report,
        lie=lambda count, entropy: used.perturb(np.tile([1, 7], (count, 1)), entropy=entropy),
        estimate=estimate,
        added=added,
    )


def sampled(name: str, mechanism: str, *, attributes: int = 1, number: bool = False) -> Case:
    domain = "range: [-1, 1]" if number else f"values: [{', '.join(map(str, range(16)))}]"
    collection = parse_collection(
        f"collection: x\nmechanism: {{kind: sampled, {mechanism}}}\nattributes: ["
        + ", ".join(f"{{name: a{place}, {domain}}}" for place in range(attributes))
        + "]\nwindow: {size: 60s}\n"
    )
    questions = collection.questions  # type: ignore[attr-defined]
    about = [place for place, each in enumerate(questions.questions) if 0 in each.of]

    def table(values: NDArray[Any]) -> Any:
        return collection.table([(value,) * attributes for value in values.tolist()])  # type: ignore[attr-defined]

    def report(count: int, entropy: SeededEntropy) -> Rows:
        held = entropy.integers(np.full(count, 3)) - 1.0 if number else entropy.integers(np.full(count, 15))
        words = np.asarray(entropy.integers(np.full(count, 2**32)), dtype=np.uint32)
        rows: Rows = questions.perturb(questions.numbers(words), table(held), entropy=entropy)
        return rows

    def lie(count: int, entropy: SeededEntropy) -> Rows:
        held = np.full(count, 1.0) if number else np.full(count, 15)
        numbers = np.asarray(about)[np.arange(count) % len(about)]
        rows: Rows = questions.perturb(numbers, table(held), entropy=entropy)
        return rows

    def raw(rows: Rows) -> float:
        answers = gathered(questions, [(1.0, questions.sums(rows))], of=0)
        found = answers[0].question.estimate(answers, of=0)
        return float(found.raw if number else found.raw[15])

    def added(rows: Rows) -> NDArray[np.float64]:
        if not number:
            answers = rows[:, questions.number_bytes :]
            supported = questions.questions[about[0]].randomizer.supported(answers, np.array([15]))
            return np.asarray(supported[:, 0], dtype=np.float64)
        distinct, which = np.unique(rows, axis=0, return_inverse=True)
        return np.array([raw(row[None]) for row in distinct])[which.reshape(-1)]

    return Case(
        name=name,
        collection=collection,
        report=report,
        lie=lie,
        estimate=lambda rows: (raw(rows), questions.plausibility(questions.sums(rows), reports_per_user=1.0)),
        added=added,
        about="a0",
    )


def places(name: str, weights: str) -> Case:
    collection = parse_collection(
        f"collection: x\nmechanism: {{kind: places, epsilon: [0.5, 2], weights: {weights}}}\nlevels: [16]\n"
        "window: {size: 60s}\n"
    )
    questions = collection.questions  # type: ignore[attr-defined]

    def rows_of(count: int, entropy: SeededEntropy, *, held: NDArray[Any], epsilon: int) -> Rows:
        table = collection.table([(int(place), 0, epsilon) for place in held])  # type: ignore[attr-defined]
        rows: Rows = questions.perturb(np.full(count, epsilon), table, entropy=entropy)
        return rows

    def estimate(rows: Rows) -> tuple[float, PlausibilityTest | None]:
        answer = answer_to(collection, rows)
        return answer.raw[15] / len(rows), answer.plausibility

    def added(rows: Rows) -> NDArray[np.float64]:
        supported = questions.questions[0].randomizer.supported(rows[:, questions.number_bytes :], np.array([15]))
        return np.asarray(supported[:, 0], dtype=np.float64)

    return Case(
        name=name,
        collection=collection,
        report=lambda count, entropy: rows_of(count, entropy, held=entropy.integers(np.full(count, 15)), epsilon=1),
        lie=lambda count, entropy: rows_of(count, entropy, held=np.full(count, 15), epsilon=0),
        estimate=estimate,
        added=added,
    )


def views() -> Case:
    """Make three views of two attributes each; the estimate of two of them is what is fitted to all three."""
    collection = parse_collection(
        "collection: x\nmechanism: {kind: sampled, epsilon: 1, ask: pairs, oracle: k-subset}\n"
        "attributes: [{name: a, values: [n, y]}, {name: b, values: [1, 2, 3, 4, 5, 6, 7, 8]}, "
        "{name: c, values: [n, y]}]\nestimates: [{name: joint, of: [a, b]}]\nwindow: {size: 60s}\n"
    )
    questions = collection.questions  # type: ignore[attr-defined]
    about = next(number for number, view in enumerate(questions.questions) if view.of == (0, 1))

    def table(*columns: NDArray[Any]) -> Any:
        return collection.table(list(zip(*(each.tolist() for each in columns), strict=True)))  # type: ignore[attr-defined]

    def report(count: int, entropy: SeededEntropy) -> Rows:
        words = np.asarray(entropy.integers(np.full(count, 2**32)), dtype=np.uint32)
        held = table(*(entropy.integers(np.full(count, size)) for size in (2, 7, 2)))
        rows: Rows = questions.perturb(questions.numbers(words), held, entropy=entropy)
        return rows

    def lie(count: int, entropy: SeededEntropy) -> Rows:
        held = table(*(np.full(count, value) for value in (1, 7, 1)))
        rows: Rows = questions.perturb(np.full(count, about), held, entropy=entropy)
        return rows

    def estimate(rows: Rows) -> tuple[float, PlausibilityTest | None]:
        answer = answer_to(collection, rows)
        return float(answer.joint()[1, 7]), answer.plausibility

    def added(rows: Rows) -> NDArray[np.float64]:
        supported = questions.questions[about].randomizer.supported(rows[:, questions.number_bytes :], np.array([15]))
        return np.asarray(supported[:, 0], dtype=np.float64)

    return Case(
        name="views, k-subset, epsilon 1, a joint cell, fitted",
        collection=collection,
        report=report,
        lie=lie,
        estimate=estimate,
        added=added,
    )


def pairs(oracle: str) -> Case:
    """Make eight keys, of which honest users hold two of the first seven, and liars the last."""
    collection = parse_collection(
        f"collection: x\nmechanism: {{kind: pairs, epsilon: 1, padding: 2, oracle: {oracle}}}\n"
        "keys: {names: [a, b, c, d, e, f, g, h], range: [0, 1]}\nwindow: {size: 60s}\n"
    )
    questions = collection.questions  # type: ignore[attr-defined]

    def rows_of(held: NDArray[np.float64], entropy: SeededEntropy) -> Rows:
        table = collection.table(list(map(tuple, held.tolist())))  # type: ignore[attr-defined]
        rows: Rows = questions.perturb(np.zeros(len(held), dtype=np.int64), table, entropy=entropy)
        return rows

    def report(count: int, entropy: SeededEntropy) -> Rows:
        held = np.full((count, 8), np.nan)
        first = entropy.integers(np.full(count, 7))
        second = (first + 1 + entropy.integers(np.full(count, 6))) % 7
        for key in (first, second):
            held[np.arange(count), key] = entropy.integers(np.full(count, 2))
        return rows_of(held, entropy)

    def lie(count: int, entropy: SeededEntropy) -> Rows:
        held = np.full((count, 8), np.nan)
        held[:, 7] = 1.0
        return rows_of(held, entropy)

    def estimate(rows: Rows) -> tuple[float, PlausibilityTest | None]:
        answer = answer_to(collection, rows)
        return answer.keys[7].raw, answer.plausibility

    return Case(
        name=f"pairs, {oracle}, epsilon 1, 8 keys, 2 slots",
        collection=collection,
        report=report,
        lie=lie,
        estimate=estimate,
        # Both ends of the key count for it.
        added=lambda rows: questions.questions[0].randomizer.supported(rows, np.array([14, 15])).sum(axis=1),
        about="shares",
    )


def strings() -> Case:
    collection = parse_collection(
        "collection: x\nmechanism: {kind: strings, epsilon: 2}\nstring: {name: w, length: 4, alphabet: abcd}\n"
        "window: {size: 60s}\n"
    )
    method = collection.method  # type: ignore[attr-defined]
    questions = method.questions
    target = np.array([[4, 4, 4, 4]])

    def perturbed(numbers: NDArray[Any], symbols: NDArray[Any], entropy: SeededEntropy) -> Rows:
        seeds = np.asarray(entropy.integers(np.full(len(numbers), 2**32)), dtype=np.uint32)
        rows: Rows = questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, symbols), entropy=entropy)
        return rows

    def report(count: int, entropy: SeededEntropy) -> Rows:
        words = np.asarray(entropy.integers(np.full(count, 2**32)), dtype=np.uint32)
        symbols = 1 + entropy.integers(np.full(4 * count, 3)).reshape(count, 4)
        return perturbed(questions.numbers(words), symbols, entropy)

    def lie(count: int, entropy: SeededEntropy) -> Rows:
        return perturbed(np.full(count, len(questions.questions) - 1), np.tile(target, (count, 1)), entropy)

    def raw(rows: Rows) -> float:
        return float(method.supports([(1.0, questions.answers(rows))], target).frequency[0])

    def added(rows: Rows) -> NDArray[np.float64]:
        answers = questions.answers(rows)
        (oracle,) = questions.randomizers
        inputs = questions.inputs(answers.numbers, answers.seeds, np.tile(target, (len(rows), 1)))[:, 0]
        supported = oracle.supported(answers.rows[0], np.arange(oracle.size))
        return np.asarray(supported[np.arange(len(rows)), inputs], dtype=np.float64)

    return Case(
        name="strings by PEM, epsilon 2",
        collection=collection,
        report=report,
        lie=lie,
        estimate=lambda rows: (
            raw(rows),
            questions.plausibility(rows, np.ones(len(rows), dtype=np.int64), reports_per_user=1.0),
        ),
        added=added,
    )


def sets() -> Case:
    collection = parse_collection(
        "collection: x\nmechanism: {kind: gfim, epsilon: 3, k: 3, set_size: 2}\nitems: {size: 16}\n"
        "window: {size: 60s}\n"
    )
    method = collection.method  # type: ignore[attr-defined]
    first = method.first()
    oracle, padding = method.oracle(first), first.padding

    def report(count: int, entropy: SeededEntropy, *, item: int | None = None) -> Rows:
        held = entropy.integers(np.full(count, 15)) if item is None else np.full(count, item)
        offsets = np.arange(count + 1, dtype=np.int64)
        rows: Rows = oracle.perturb_sets(offsets, held.astype(np.int64), padding=padding, entropy=entropy)
        return rows

    def estimate(rows: Rows) -> tuple[float, PlausibilityTest | None]:
        sums = oracle.sums(rows)
        found = oracle.scale(padding=padding) * oracle.estimate(sums, reports=len(rows))[15]
        return float(found), oracle.plausibility(sums)

    return Case(
        name="sets by GFIM, epsilon 3, phase 1",
        collection=collection,
        report=report,
        lie=partial(report, item=15),
        estimate=estimate,
        added=lambda rows: oracle.supported(rows, np.array([15]))[:, 0].astype(np.float64),
    )


def cases() -> Iterator[Case]:
    yield records("records, rr-ldp .5, .25, .75, a joint cell", "{kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}")
    yield records("records, k-rr 1.1 an attribute, a joint cell", "{kind: k-rr, epsilon: 1.1}")
    for oracle in ("k-rr", "k-subset", "rappor", "oue", "hadamard"):
        yield sampled(f"sampled, {oracle}, epsilon 1", f"epsilon: 1, oracle: {oracle}")
    yield sampled("sampled, k-rr, epsilon 3", "epsilon: 3, oracle: k-rr")
    yield sampled("sampled, k-subset, epsilon 1, one of 10", "epsilon: 1, oracle: k-subset", attributes=10)
    yield sampled("sampled, a mean from -1 to 1, epsilon 1", "epsilon: 1", number=True)
    yield views()
    for oracle in ("k-rr", "k-subset", "oue", "hadamard"):
        yield pairs(oracle)
    yield strings()
    yield places("places, variance, liars at .5 of 2", "variance")
    yield places("places, users, liars at .5 of 2", "users")
    yield sets()


def main() -> None:
    """Print the table, or the rows whose names have the word that is given."""
    word = " ".join(sys.argv[1:])
    console = Console(width=200, highlight=False)
    console.print("| kind | liars | false value | crafted | bound | crafted ones flagged |")
    console.print("|---|---:|---:|---:|---:|---:|")
    for case in (each for each in cases() if word in each.name):
        leverage = leverage_of(case)
        for share in SHARES:
            gains: dict[str, list[float]] = {"false": [], "crafted": []}
            flags = 0
            for seed in range(REPEATS):
                liars = round(share * USERS)
                honest = case.report(USERS, SeededEntropy(seed))
                before, _ = case.estimate(honest)
                for name, lies in (
                    ("false", case.lie(liars, SeededEntropy(100 + seed))),
                    ("crafted", crafted(case, liars, SeededEntropy(200 + seed))),
                ):
                    after, test = case.estimate(np.concatenate([honest[liars:], lies]))
                    gains[name].append(after - before)
                    flags += name == "crafted" and test is not None and test.flagged
            bound = leverage.moved(liars=share)
            console.print(
                f"| {case.name} | {share:.0%} | {np.mean(gains['false']):+.3f} | {np.mean(gains['crafted']):+.3f} | "
                f"{bound:.3f} | {flags} of {REPEATS} |"
            )


if __name__ == "__main__":
    main()
