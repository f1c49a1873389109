"""Studies: collections that are evaluated again and again, in some forms, along a key that varies.

A study is one or more runs of `stream-ldp evaluate`, by the same code, with two differences: seconds are those of the
processor, which do not depend on what else runs, and users may be generated.
"""

import json
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from stream_ldp.cli.evaluate.cases import Ways, cases, group_of
from stream_ldp.cli.evaluate.known_table import TableFile
from stream_ldp.evaluation.experiment import Experiment, scores
from stream_ldp.evaluation.trial import Measure, Measured, Trial
from stream_ldp.kinds import load_solver

#: The seed of users, noise, sets of attributes and generated populations.
SEED = 0
#: The varied key that stands for the number of users.
USERS = "users"

#: What a study has measured at a point: the form, the varied value (`at`), the series, the number of repeats, and the
#: mean of each metric, with its standard deviation as NAME_sd; seconds are of the processor.
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Form:
    """One of the forms of a collection that are compared.

    keys: what this form sets, as `stream-ldp evaluate --vary` takes it.
    values: the varied values at which it is measured; None for all.
    measure: what measures it in place of the kind's own evaluation.
    """

    keys: Mapping[str, Any] = field(default_factory=dict)
    values: Sequence[float] | None = None
    measure: Measure | None = None


@dataclass(frozen=True, kw_only=True)
class Study:
    """What is measured for one or more figures.

    data: file of the directory; None for generated users.
    document: of a collection, as `stream-ldp evaluate --collection` takes it.
    vary: the varied key, and its values; `USERS` for the number of users.
    users: in each repeat; None for the whole population.
    repeats: as many as the page has.
    ways: random sets of attributes in place of the estimates.
    generated: makes the population.
    measure: wraps what measures a trial, such as to keep more of an answer.
    kept: the metrics that figures and tables are made of.
    """

    name: str
    document: Mapping[str, Any]
    forms: Mapping[str, Form]
    vary: tuple[str, Sequence[float]]
    repeats: int
    kept: Sequence[str]
    data: str | None = None
    users: int | None = None
    ways: Ways | None = None
    generated: Callable[[], Any] | None = None
    measure: Callable[[Trial[Any], Measure], Iterator[Measured]] | None = None

    def missing(self, directory: Path) -> str | None:
        """Say why the study cannot be measured with the data of a directory; None if it can."""
        if self.data is None or (directory / self.data).exists():
            return None
        return f"{self.data} is not in {directory.name or 'the directory'}"

    def rows(self, directory: Path, *, repeats: int | None = None) -> list[Row]:
        """Measure every form at every value."""
        return list(self._rows(directory, repeats=repeats or self.repeats))

    def _rows(self, directory: Path, *, repeats: int) -> Iterator[Row]:
        table = None if self.data is None else TableFile(directory / self.data, missing=None)
        generated: Any = None if self.generated is None else self.generated()
        key, every = self.vary
        for name, form in self.forms.items():
            for value in every if form.values is None else form.values:
                varied = dict(form.keys) if key == USERS else {**form.keys, key: value}
                (case,) = cases(
                    yaml.safe_dump(dict(self.document)),
                    source=self.name,
                    varied={each: [_text(it)] for each, it in varied.items()},
                    table=table or _Nothing(),
                    ways=self.ways,
                )
                evaluation = case.evaluation
                people = (
                    generated if table is None else table.population(case.collection, item_sets=evaluation.item_sets)
                )
                users = int(value) if key == USERS else self.users or len(people)
                experiment = Experiment(
                    collection=case.collection,
                    population=people,
                    users=users,
                    measure=self._measured(form.measure or evaluation.measure),
                    clock=time.process_time,
                    taken=_all_or(evaluation.taken),
                    group=group_of if self.ways else str,
                )
                load_solver(case.collection)
                for series, score in scores(experiment.repeats(repeats, seed=SEED)).items():
                    yield {
                        "form": name,
                        "at": value,
                        "series": series,
                        "repeats": score.repeats,
                        **{
                            it: _short(each)
                            for it, each in score.metrics.items()
                            if it.removesuffix("_sd") in self.kept and not isinstance(each, str)
                        },
                    }

    def _measured(self, usual: Measure) -> Measure:
        def measured(trial: Trial[Any]) -> Iterator[Measured]:
            found = usual(trial) if self.measure is None else self.measure(trial, usual)
            for each in found:
                # As a metric, so that it has a standard deviation.
                metrics = {**each.metrics, "seconds": each.seconds} if each.seconds else each.metrics
                yield each._replace(metrics=metrics)

        return measured

    def command(self, form: str) -> str:
        """Write the command that measures a form, but for the clock; of generated users there is none."""
        key, values = self.vary
        document = json.loads(json.dumps(self.document))
        words = ["stream-ldp", "evaluate", "--data", str(self.data)]
        words += ["--collection", yaml.safe_dump(document, default_flow_style=True, width=10**6).strip()]
        for it, each in self.forms[form].keys.items():
            words += ["--vary", f"{it}={_text(each)}"]
        words += ["--vary", f"{key}={','.join(f'{each:g}' for each in values)}"]
        if self.ways is not None:
            words += ["--ways", ",".join(map(str, self.ways.numbers)), "--sets", str(self.ways.sets)]
            words += ["--most-cells", str(self.ways.most_cells)]
        if self.users is not None:
            words += ["--users", str(self.users)]
        return shlex.join([*words, "--repeats", str(self.repeats)])


class _Nothing:
    """The table of generated users, whose collections leave nothing to it."""

    columns: Sequence[str] = ()
    item_sets: Sequence[Sequence[str]] = ()

    def values(self, name: str) -> list[str]:
        raise KeyError(name)


def _text(value: Any) -> Any:
    """Write a value as a collection file has it, in which all is text."""
    if isinstance(value, list | tuple):
        return [_text(each) for each in value]
    return f"{value:g}" if isinstance(value, float | int) else value


def _short(number: float) -> float:
    """Round to five digits, which is what the page shows and more."""
    return float(f"{number:.5g}")


def _all_or(taken: Callable[[Any, NDArray[np.int64]], Any]) -> Callable[[Any, NDArray[np.int64]], Any]:
    """Select users, but do not copy a population of which all take part: their order does not matter."""

    def selected(population: Any, rows: NDArray[np.int64]) -> Any:
        return population if len(rows) == len(population) else taken(population, rows)

    return selected
