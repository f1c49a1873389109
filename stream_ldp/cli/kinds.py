"""What the commands do with each kind of collection: one table, by the names in `stream_ldp.kinds.KINDS`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stream_ldp.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream_ldp.cli.views.view import View
    from stream_ldp.client.subscriber import AnswerSubscriber
    from stream_ldp.collection import Collection

__all__ = ["FACES", "Deferred", "Face", "face_of"]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A function that is imported when it is called, so that a command loads no more than it runs.

    place: where it is, as `module:name`.
    """

    place: str

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        module, name = self.place.split(":")
        return getattr(import_module(module), name)(*arguments, **named)


@dataclass(frozen=True, kw_only=True, slots=True)
class Face:
    """What the commands do with one kind of collection.

    summary: what a collection asks and answers, on one line; its windows are told as `lasting`.
    for_budget: the collection that spends so much, see `stream_ldp.records.plan.for_budget`; None where epsilon
        stands in the file.
    show_plan, plan_document: print a plan, and give it as plain data for JSON.
    report: publishes what one user or many hold, see `stream_ldp.cli.report.ReportOptions`.
    simulate: plays a population, see `stream_ldp.cli.simulation.options.SimulateOptions`.
    view: what `watch` shows, beside the truth in a file, with so many rows at most.
    subscriber: receives the answers of the collection of a name.
    audited: what `audit` is to look at, see `stream_ldp.cli.audited.Audited`.
    """

    summary: Callable[..., str]
    for_budget: Callable[..., Collection] | None = None
    show_plan: Callable[[Any], None]
    plan_document: Callable[[Any], dict[str, Any]]
    report: Callable[..., None]
    simulate: Callable[..., None]
    view: Callable[..., View[Any]]
    subscriber: Callable[..., AnswerSubscriber[Any]]
    audited: Callable[[Any], Any]


FACES: Mapping[str, Face] = {
    "records": Face(
        summary=Deferred("stream_ldp.cli.views.record_plan:summary"),
        for_budget=Deferred("stream_ldp.records.plan:for_budget"),
        show_plan=Deferred("stream_ldp.cli.views.record_plan:show_plan"),
        plan_document=Deferred("stream_ldp.cli.views.record_plan:plan_document"),
        report=Deferred("stream_ldp.cli.report:report_records"),
        simulate=Deferred("stream_ldp.cli.simulate:simulate_records"),
        view=Deferred("stream_ldp.cli.views.estimates:view"),
        subscriber=Deferred("stream_ldp.client:Subscriber"),
        audited=Deferred("stream_ldp.cli.audited:audited_records"),
    ),
    "sets": Face(
        summary=Deferred("stream_ldp.cli.views.item_plan:summary"),
        show_plan=Deferred("stream_ldp.cli.views.item_plan:show_plan"),
        plan_document=asdict,
        report=Deferred("stream_ldp.cli.item_reports:report_items"),
        simulate=Deferred("stream_ldp.cli.simulation.item_sets:simulate_items"),
        view=Deferred("stream_ldp.cli.views.rankings:view"),
        subscriber=Deferred("stream_ldp.client:RankingSubscriber"),
        audited=Deferred("stream_ldp.cli.audited:audited_sets"),
    ),
}


def face_of(collection: Collection) -> Face:
    """What the commands do with a collection.

    Raises:
        KeyError: no command knows its kind.
    """
    return FACES[kind_of(collection).name]
