"""This module holds what the commands do with each kind of collection, by the names in `stream_ldp.kinds.KINDS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_ldp.cli.deferred import Deferred
from stream_ldp.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream_ldp.cli.views.view import View
    from stream_ldp.client.subscriber import AnswerSubscriber
    from stream_ldp.collection import Collection

__all__ = ["FACES", "Face", "face_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Face:
    """A face holds what the commands do with one kind of collection.

    summary: describes a collection on one line; `lasting` describes its windows.
    for_budget: finds the collection that spends a given budget, see `stream_ldp.records.plan.for_budget`; None where
        the file itself gives epsilon.
    for_finals: finds the collection that is best after some finals, see `stream_ldp.cli.finals`; None where there is
        no design to choose.
    show_plan, plan_document: print a plan, and turn it into plain data for JSON.
    report: publishes the reports of one user or of many, see `stream_ldp.cli.report.ReportOptions`.
    simulate: plays a population, see `stream_ldp.cli.simulation.options.SimulateOptions`.
    view: makes the view that `watch` shows, beside the truth in a file, with at most so many rows.
    subscriber: receives the answers of a collection, given its name.
    audited: makes what `audit` checks, see `stream_ldp.cli.audited.Audited`.
    """

    summary: Callable[..., str]
    for_budget: Callable[..., Collection] | None = None
    for_finals: Callable[..., tuple[Collection, str]] | None = None
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
        plan_document=Deferred("stream_ldp.cli.views.item_plan:plan_document"),
        report=Deferred("stream_ldp.cli.item_reports:report_items"),
        simulate=Deferred("stream_ldp.cli.simulation.item_sets:simulate_items"),
        view=Deferred("stream_ldp.cli.views.rankings:view"),
        subscriber=Deferred("stream_ldp.client:RankingSubscriber"),
        audited=Deferred("stream_ldp.cli.audited:audited_sets"),
    ),
    "sampled": Face(
        summary=Deferred("stream_ldp.cli.views.sampled_plan:summary"),
        show_plan=Deferred("stream_ldp.cli.views.sampled_plan:show_plan"),
        plan_document=Deferred("stream_ldp.cli.views.sampled_plan:plan_document"),
        report=Deferred("stream_ldp.cli.report:report_sampled"),
        simulate=Deferred("stream_ldp.cli.simulate:simulate_sampled"),
        view=Deferred("stream_ldp.cli.views.marginals:view"),
        subscriber=Deferred("stream_ldp.client:MarginalsSubscriber"),
        audited=Deferred("stream_ldp.cli.audited:audited_sampled"),
    ),
    "strings": Face(
        summary=Deferred("stream_ldp.cli.views.string_plan:summary"),
        show_plan=Deferred("stream_ldp.cli.views.string_plan:show_plan"),
        plan_document=Deferred("stream_ldp.cli.views.string_plan:plan_document"),
        report=Deferred("stream_ldp.cli.report:report_strings"),
        simulate=Deferred("stream_ldp.cli.simulate:simulate_strings"),
        view=Deferred("stream_ldp.cli.views.strings:view"),
        subscriber=Deferred("stream_ldp.client:StringSubscriber"),
        audited=Deferred("stream_ldp.cli.audited:audited_strings"),
    ),
    "views": Face(
        summary=Deferred("stream_ldp.cli.views.views_plan:summary"),
        for_finals=Deferred("stream_ldp.cli.finals:for_finals"),
        show_plan=Deferred("stream_ldp.cli.views.views_plan:show_plan"),
        plan_document=Deferred("stream_ldp.cli.views.views_plan:plan_document"),
        report=Deferred("stream_ldp.cli.report:report_sampled"),
        simulate=Deferred("stream_ldp.cli.simulate:simulate_views"),
        view=Deferred("stream_ldp.cli.views.estimates:view"),
        subscriber=Deferred("stream_ldp.client:Subscriber"),
        audited=Deferred("stream_ldp.cli.audited:audited_sampled"),
    ),
    "places": Face(
        summary=Deferred("stream_ldp.cli.views.place_plan:summary"),
        show_plan=Deferred("stream_ldp.cli.views.place_plan:show_plan"),
        plan_document=Deferred("stream_ldp.cli.views.place_plan:plan_document"),
        report=Deferred("stream_ldp.cli.report:report_places"),
        simulate=Deferred("stream_ldp.cli.simulate:simulate_places"),
        view=Deferred("stream_ldp.cli.views.places:view"),
        subscriber=Deferred("stream_ldp.client:PlaceSubscriber"),
        audited=Deferred("stream_ldp.cli.audited:audited_places"),
    ),
}


def face_of(collection: Collection) -> Face:
    """Return what the commands do with a collection.

    Raises:
        KeyError: no command knows its kind.
    """
    return FACES[kind_of(collection).name]
