"""The errors that a plan predicts of what will be published, and what other mechanisms would have in place of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_ldp.evaluation.experiment import DISTANCE
from stream_ldp.evaluation.prediction import Prediction, predictions
from stream_ldp.evaluation.wanted import UsersFor, users_for
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pipeline.plan import Section, errors_in_short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream_ldp.pipeline.kind import Kind

#: Reports in a window for which mechanisms are compared, if the plan has so many.
_COMPARED = 10_000
#: Part of a distance below which another mechanism is better: of a few repeats, distances are known to some percent.
_BETTER = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """What an alternative would have in place of the collection's mechanism.

    kind, parameters, per_report, instead_of: see `stream_ldp.pipeline.kind.Alternative`.
    errors: the distance to expect of each series, as a part of that by the collection's mechanism.
    reports: number of reports in a window for which it is so.
    """

    kind: str
    parameters: Mapping[str, float]
    per_report: float
    instead_of: float
    errors: Mapping[str, float]
    reports: int

    def text(self) -> str:
        """Compare it with the collection's mechanism."""
        better = [name for name, error in self.errors.items() if error < _BETTER]
        costs, now = shown_epsilon(self.per_report), shown_epsilon(self.instead_of)
        verdict = {
            0: "It is better for no estimate: keep the mechanism",
            len(self.errors): f"It is better for all estimates{'' if costs == now else ', if that price is right'}",
        }.get(len(better), f"It is better for {', '.join(better)}")
        # One decimal: of a dozen repeats, a factor is known to some 15 %.
        factor = " to ".join(dict.fromkeys(f"{bound(self.errors.values()):.1f}" for bound in (min, max)))
        parameters = ", ".join(f"{name}: {value:.4g}" for name, value in self.parameters.items())
        return (
            f"Alternative: `kind: {self.kind}, {parameters}` has the same lifetime epsilon between any two records. "
            f"With {self.reports:,} reports, its distances are about {factor} times these, and one report costs "
            f"{f'{costs} nats instead of {now}' if costs != now else f'the same, {now} nats'}. {verdict}."
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """The errors to expect of a collection.

    errors: of each series, for each number of users; none where plans have formulas, and no table is known.
    alternatives: the other mechanisms that can have the same epsilon.
    users_for: of each series, how many users the wanted error takes; none if none is wanted.
    """

    errors: tuple[Prediction, ...]
    alternatives: tuple[Compared, ...]
    users_for: tuple[UsersFor, ...] = ()

    def sections(self, kind: Kind[Any, Any, Any], *, table: str | None = None) -> Iterator[Section]:
        """Iterate over the errors, and the other mechanisms; nothing where none are predicted.

        table: the name of the table of users; None where they are assumed.
        """
        if not self.errors:
            return
        users = list(dict.fromkeys(each.users for each in self.errors))
        rows: dict[tuple[str, str], dict[int, str]] = {}
        for each in self.errors:
            for metric, value in each.metrics.items():
                rows.setdefault((each.series, metric), {})[each.users] = f"{value:.4g}"
        words = kind.evaluation.predicts
        shown = [name for name in words if any(metric == name for _, metric in rows)]
        yield Section(
            title="Errors to expect, by reports in a window",
            columns=("of", "metric", *(f"{number:,}" for number in users)),
            rows=tuple(
                (series, metric, *(found.get(number, "") for number in users))
                for (series, metric), found in rows.items()
            ),
            notes=(
                *self._in_short(),
                *(
                    ["Empty: the quality of rankings is not extrapolated beyond the simulated numbers of users."]
                    if any(len(found) < len(users) for found in rows.values())
                    else []
                ),
                f"As `evaluate` measures them: {'; '.join(f'{name}, {words[name].words}' for name in shown)}.",
                f"The users are drawn from {table}."
                if table is not None
                else f"The users are assumed: {kind.evaluation.assumes}. --data takes a table of yours.",
                *(each.text() for each in self.alternatives),
            ),
        )

        if self.users_for:
            yield Section(
                title="How many users it takes",
                columns=("of", "metric", "wanted", "users"),
                rows=tuple(
                    (
                        each.series,
                        each.metric,
                        f"{each.wanted:g}",
                        "more than can be predicted" if each.users is None else f"{each.users:,}",
                    )
                    for each in self.users_for
                ),
            )

    def _in_short(self) -> Iterator[str]:
        distances: dict[str, list[tuple[int, float]]] = {}
        for each in self.errors:
            if DISTANCE in each.metrics:
                distances.setdefault(each.series, []).append((each.users, each.metrics[DISTANCE]))
        if distances:
            name = max(distances, key=lambda name: max(distance for _, distance in distances[name]))
            which = "" if len(distances) == 1 else f", the largest of {len(distances)},"
            yield errors_in_short(f"The distance of {name}{which} from the truth", distances[name], unit="reports")


def predicted(
    collection: Any,
    kind: Kind[Any, Any, Any],
    *,
    users: Sequence[int],
    population: Any = None,
    wanted: float | None = None,
) -> Predicted:
    """Predict the errors of a collection, and compare it with its alternatives.

    users: numbers of reports in a window, or of users in an epoch.
    population: see `stream_ldp.evaluation.prediction.predictions`.
    wanted: the error for which to find a number of users; None for none.
    """
    found = predictions(collection, kind.evaluation, users=users, population=population)
    reports = min(max(users[0], _COMPARED), users[-1])
    return Predicted(
        errors=tuple(found),
        alternatives=tuple(_compared(collection, kind, found, reports=reports, population=population)),
        users_for=()
        if wanted is None
        else tuple(users_for(collection, kind.evaluation, found, wanted=wanted, population=population)),
    )


def _compared(
    collection: Any, kind: Kind[Any, Any, Any], known: Sequence[Prediction], *, reports: int, population: Any
) -> Iterator[Compared]:
    def distances(of: Any, known: Sequence[Prediction] = ()) -> dict[str, float]:
        at = [each for each in known if each.users == reports]
        found = at or predictions(of, kind.evaluation, users=[reports], population=population)
        return {each.series: each.metrics[DISTANCE] for each in found}

    own: dict[str, float] | None = None
    for each in () if kind.alternatives is None else kind.alternatives(collection):
        own = distances(collection, known) if own is None else own
        # One that sends the same has the same errors, and no draw decides.
        others = own if each.is_alike else distances(each.collection)
        errors = {series: others[series] / mine for series, mine in own.items() if mine}
        if errors:
            yield Compared(
                kind=each.kind,
                parameters=each.parameters,
                per_report=each.per_report,
                instead_of=each.instead_of,
                errors=errors,
                reports=reports,
            )
