"""Ye, Meng, Zhu and Huo (2018): the survey, which compares frequencies by RAPPOR and means by Harmony."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.papers import each_answer
from tests.benchmarks.papers.costs import METHODS, Costs
from tests.benchmarks.papers.exact import Chances, MeanVariances
from tests.benchmarks.papers.figure import Drawn, Figure, Line, Panel, Point, Results, Table, line, number, shown
from tests.benchmarks.papers.study import SEED, USERS, Form, Row, Study

#: Section 4.4: users, strings, numbers of a user and their range, epsilons, and the other numbers of users.
_USERS, _STRINGS, _NUMBERS, _RANGE = 1_000_000, 50, 80, (1, 400)
_EPSILONS, _FEWER = (0.1, 0.5, 2.0), (10_000, 100_000, 1_000_000)
_NAMES = [f"V{number}" for number in range(1, _STRINGS + 1)]
#: The bell of figure 5 is as wide as six standard deviations fit into; the survey does not say. The frequencies of
#: figure 8 fall to 1/e over this many strings, and the means of figures 6 and 9 rise between these.
_DEVIATION, _DECAY, _MEANS = _STRINGS / 6, 10.0, (100.0, 300.0)


def _strings(users: int, shares: NDArray[np.float64]) -> Any:
    generator = np.random.default_rng(SEED)
    people = np.empty(users, dtype=[("0", "<i8")])
    people["0"] = generator.choice(_STRINGS, users, p=shares / shares.sum())
    return people


def bell(users: int = _USERS) -> Any:
    """Draw strings whose frequencies have the shape of a normal density."""
    return _strings(users, np.exp(-0.5 * ((np.arange(_STRINGS) - (_STRINGS - 1) / 2) / _DEVIATION) ** 2))


def falling(users: int = _USERS) -> Any:
    """Draw strings whose frequencies fall exponentially."""
    return _strings(users, np.exp(-np.arange(_STRINGS) / _DECAY))


def numbers(users: int = _USERS) -> Any:
    """Draw whole numbers around means that rise from one attribute to the next, as far as the range allows."""
    generator = np.random.default_rng(SEED)
    people = np.empty(users, dtype=[(str(place), "<f8") for place in range(_NUMBERS)])
    for place, mean in enumerate(np.linspace(*_MEANS, _NUMBERS)):
        reach = int(min(mean - _RANGE[0], _RANGE[1] - mean))
        people[str(place)] = generator.integers(round(mean) - reach, round(mean) + reach, users, endpoint=True)
    return people


def _of_strings(name: str, vary: tuple[str, Sequence[float]], **more: Any) -> Study:
    mechanism = {"kind": "sampled"} | ({"epsilon": 1} if vary[0] == USERS else {})
    return Study(
        name=name,
        document={"mechanism": mechanism, "attributes": [{"name": "string", "values": _NAMES}]},
        forms={
            "RAPPOR as published": Form(keys={"mechanism.oracle": "rappor", "mechanism.hashes": 2}),
            "RAPPOR, one-hot": Form(keys={"mechanism.oracle": "rappor"}),
            "as shipped": Form(),
        },
        vary=vary,
        measure=each_answer.frequencies,
        repeats=5,
        kept=("truth", "raw", "projected", "raw_avd", "projected_avd", "seconds"),
        **more,
    )


def _of_numbers(name: str, vary: tuple[str, Sequence[float]]) -> Study:
    mechanism = {"kind": "sampled"} | ({"epsilon": 1} if vary[0] == USERS else {})
    attributes = [{"name": f"A{number}", "range": list(_RANGE)} for number in range(1, _NUMBERS + 1)]
    return Study(
        name=name,
        document={"mechanism": mechanism, "attributes": attributes},
        forms={
            "Harmony-Mean as published": Form(keys={"mechanism.mean": "harmony-mean"}),
            "as shipped": Form(),
            "minimax": Form(keys={"mechanism.mean": "minimax"}),
        },
        vary=vary,
        generated=numbers,
        measure=each_answer.means,
        repeats=5,
        kept=("truth", "raw", "times_d", "raw_error", "times_d_error", "seconds"),
    )


CHANCES = Chances(name="chances", sizes=(2, 4, 50), epsilons=tuple(0.25 * step for step in range(25)[1:]))
MEAN_VARIANCES = MeanVariances(name="mean-variances", epsilons=(1, 2, 4), numbers=(1, 2, 3, 4, 8, 16, 32))
COSTS = Costs(name="costs")
STUDIES = (
    _of_strings("strings-by-epsilon", ("mechanism.epsilon", _EPSILONS), generated=bell),
    _of_numbers("means-by-epsilon", ("mechanism.epsilon", _EPSILONS)),
    _of_strings("strings-by-users", (USERS, _FEWER), generated=falling),
    _of_numbers("means-by-users", (USERS, _FEWER)),
    CHANCES,
    MEAN_VARIANCES,
    COSTS,
)


def _answers(
    study: str, what: Callable[[float], str], drawn: Mapping[str, tuple[str, Drawn]], *, x: str, y: str
) -> Callable[[Results], list[Panel]]:
    """Arrange a panel for each value that varies, with the truth and the answers of each form.

    what: the title of a panel.
    drawn: for each form, the metric that it publishes, and how it is drawn.
    """

    def panels(results: Results) -> list[Panel]:
        rows = [row for row in results.get(study, ()) if row["series"] != each_answer.ALL]
        found = []
        for at in dict.fromkeys(row["at"] for row in rows):
            here = [row for row in rows if row["at"] == at]
            first = here[0]["form"]
            truth = Line(
                name="truth",
                points=tuple(Point(_place(row), row["truth"]) for row in here if row["form"] == first),
                colour=0,
                form="truth",
            )
            lines = [
                Line(
                    name=how.name,
                    points=tuple(
                        Point(_place(row), row[metric], row[f"{metric}_sd"]) for row in here if row["form"] == form
                    ),
                    colour=how.colour,
                    form=how.form,
                )
                for form, (metric, how) in drawn.items()
            ]
            found.append(Panel(title=what(at), x=x, y=y, lines=(truth, *lines)))
        return found

    return panels


def _place(row: Row) -> float:
    return float(row["series"][1:])


def _errors(
    study: str, title: str, head: str, metrics: Mapping[str, tuple[str, str]]
) -> Callable[[Results], list[Table]]:
    """Tabulate the errors of all answers together: a row for each name, of a form and a metric."""

    def tables(results: Results) -> list[Table]:
        rows = [row for row in results.get(study, ()) if row["series"] == each_answer.ALL]
        values = list(dict.fromkeys(row["at"] for row in rows))
        body = tuple(
            (
                name,
                *(
                    shown(Point(at, row[metric], row[f"{metric}_sd"]))
                    for at in values
                    for row in rows
                    if row["at"] == at and row["form"] == form
                ),
            )
            for name, (form, metric) in metrics.items()
        )
        return [Table(title=title, heads=(head, *(f"{at:,.10g}" for at in values)), rows=body)]

    return tables


_STRING_LINES = {
    "RAPPOR as published": ("raw", Drawn("RAPPOR as published (Bloom filter of two hashes)", 1, "published")),
    "as shipped": ("projected", Drawn("as shipped", 0, "shipped")),
}
_NUMBER_LINES = {
    "Harmony-Mean as published": ("times_d", Drawn("Harmony-Mean as published", 1, "published")),
    "as shipped": ("raw", Drawn("as shipped", 0, "shipped")),
    "minimax": ("raw", Drawn("best for means (minimax)", 2, "other")),
}
_OF_STRINGS = {
    "RAPPOR as published, Bloom filter of two hashes": ("RAPPOR as published", "raw_avd"),
    "the same, made possible": ("RAPPOR as published", "projected_avd"),
    "RAPPOR of one-hot codes": ("RAPPOR, one-hot", "raw_avd"),
    "as shipped, raw": ("as shipped", "raw_avd"),
    "as shipped": ("as shipped", "projected_avd"),
}
_OF_NUMBERS = {
    "Harmony-Mean as published, times d": ("Harmony-Mean as published", "times_d_error"),
    "Harmony-Mean, divided by the reports of the attribute": ("Harmony-Mean as published", "raw_error"),
    "as shipped, which also says the distribution": ("as shipped", "raw_error"),
    "best for means (minimax)": ("minimax", "raw_error"),
}


def _chances(results: Results) -> list[Panel]:
    rows = results.get(CHANCES.name, ())
    lines = tuple(
        line(
            rows,
            form="k-rr",
            metric="kept",
            series=str(size),
            drawn=Drawn(
                f"k-RR of {size} values" if size > 2 else "W-RR", colour, "published" if size == 2 else "other"
            ),
        )
        for colour, size in enumerate(CHANCES.sizes)
    )
    return [Panel(title="chance of the true answer", x="epsilon", y="p", lines=lines)]


def _mean_variances(results: Results) -> list[Panel]:
    rows = results.get(MEAN_VARIANCES.name, ())
    names = {
        "mean-est": Drawn("MeanEst, mended", 3, "published"),
        "harmony-mean": Drawn("Harmony-Mean", 1, "published"),
        "auto": Drawn("as shipped", 0, "shipped"),
        "minimax": Drawn("best for means (minimax)", 2, "other"),
    }
    return [
        Panel(
            title=f"epsilon {epsilon:g}",
            x="numbers of a user",
            y="users x variance of a mean",
            lines=tuple(
                line(rows, form=form, metric="variance", series=f"{epsilon:g}", drawn=how)
                for form, how in names.items()
            ),
            log_x=True,
            log_y=True,
        )
        for epsilon in MEAN_VARIANCES.epsilons
    ]


def _cost_table(results: Results) -> list[Table]:
    heads = (
        "method",
        "communication, as printed",
        "bytes of a report",
        "bytes of a batch of one",
        "error / (epsilon √n), as printed",
        "n x variance of a frequency",
        "client, us a report",
        "server, us a report",
        "server, ms a window",
        "clients need the list",
    )
    rows = tuple(
        (
            row["form"],
            METHODS[row["form"]].communication,
            str(row["bytes"]),
            str(row["batch_bytes"]),
            METHODS[row["form"]].error,
            number(row["variance"]),
            number(row["client_us"]),
            number(row["server_us"]),
            number(row["solve_ms"]),
            "yes" if METHODS[row["form"]].listed else "no",
        )
        for row in results.get(COSTS.name, ())
    )
    return [Table(title="50 strings, epsilon 1", heads=heads, rows=rows)]


FIGURES = (
    Figure(
        name="survey-5",
        title="Figure 5: frequencies at three epsilons",
        studies=("strings-by-epsilon",),
        about=(
            "A million users, each with one of 50 strings. The bell is six standard deviations wide (the survey "
            "does not say). The line is the truth. RAPPOR as published has Bloom filters of 32 bits and two hashes "
            "in 64 cohorts; its raw estimates may be below 0. As shipped, the response is the best one for 50 "
            "values (k-Subset), and the estimates are shrunk and projected onto the simplex. At epsilon .1, two "
            "hashes have twice the error of one-hot codes, since each has half of epsilon."
        ),
        panels=_answers(
            "strings-by-epsilon", lambda at: f"epsilon {at:g}", _STRING_LINES, x="string", y="share of the users"
        ),
        tables=_errors("strings-by-epsilon", "AVD of all frequencies", "at epsilon", _OF_STRINGS),
    ),
    Figure(
        name="survey-6",
        title="Figure 6: means at three epsilons",
        studies=("means-by-epsilon",),
        about=(
            "A million users with 80 whole numbers in [1, 400]. The means rise from 100 to 300, and numbers are "
            "uniform around them, as far as the range allows. Each user answers about one number. To multiply by d, "
            "as printed, or to divide by the reports of the number makes no difference here, where noise is large "
            "([mechanisms](mechanisms.md) has where it does). As shipped, the answer is a square wave, which also "
            "gives the distribution, its quantiles and ranges; at a small epsilon this costs an eighth more error of "
            "the mean. `mean: minimax` is best where only means matter."
        ),
        panels=_answers("means-by-epsilon", lambda at: f"epsilon {at:g}", _NUMBER_LINES, x="number", y="mean"),
        tables=_errors("means-by-epsilon", "mean error of the means, of 1 to 400", "at epsilon", _OF_NUMBERS),
    ),
    Figure(
        name="survey-7",
        title="Figure 7: epsilon against p",
        studies=("chances",),
        about=(
            "Exact, and needs no users. W-RR is k-RR of two values. [Privacy](privacy.md) states what it means: the "
            "chance with which an attacker's best guess between two values is right."
        ),
        panels=_chances,
    ),
    Figure(
        name="survey-8",
        title="Figure 8: frequencies from three numbers of users",
        studies=("strings-by-users",),
        about=(
            "Strings with frequencies that fall exponentially, to 1 / e over ten strings, epsilon 1; from 10,000 "
            "users on, drawn from the same million. Forms are those of figure 5."
        ),
        panels=_answers(
            "strings-by-users", lambda at: f"{at:,.0f} users", _STRING_LINES, x="string", y="share of the users"
        ),
        tables=_errors("strings-by-users", "AVD of all frequencies", "users", _OF_STRINGS),
    ),
    Figure(
        name="survey-9",
        title="Figure 9: means from three numbers of users",
        studies=("means-by-users",),
        about=(
            "The numbers of figure 6 at epsilon 1. With 10,000 users, 125 answer about each number, at a standard "
            "error of 39, which is the scatter in the plot."
        ),
        panels=_answers("means-by-users", lambda at: f"{at:,.0f} users", _NUMBER_LINES, x="number", y="mean"),
        tables=_errors("means-by-users", "mean error of the means, of 1 to 400", "users", _OF_NUMBERS),
    ),
    Figure(
        name="survey-table-4",
        title="Table 4: what each method costs",
        studies=("costs",),
        about=(
            "50 strings at epsilon 1. Bytes are those of [the wire format](wire.md): a report, with the cohort or "
            "the row that it is about, and the record on Kafka of one report. The variance is exact, a mean over "
            "strings that are all as frequent. Times are those of 50,000 users at once, on one core. PCE is a "
            "collection of places without regions, with one sign a report; k-Subset is as shipped, too. `as shipped, "
            "any text` is for texts that clients need not list."
        ),
        panels=lambda _: [],
        tables=_cost_table,
    ),
    Figure(
        name="survey-table-6",
        title="Table 6: MeanEst and Harmony-Mean",
        studies=("mean-variances",),
        about=(
            "Exact: the number of users times the variance of the mean of one of d numbers in [-1, 1], at its "
            "worst. MeanEst is mended (see the slips below), and takes up to 32 numbers. The others ask each user "
            "about one number. As shipped, the answer is a square wave, which also gives the distribution; `mean: "
            "minimax` is best for means."
        ),
        panels=_mean_variances,
    ),
)
