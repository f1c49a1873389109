"""The kind of collections of strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.audit.wire.client import SpecifiedClient


def specified(file: Mapping[str, Any], meaning: str) -> SpecifiedClient:
    """Return the client that is written from the specification; only audits import it."""
    from stream_ldp.audit.wire.strings import Strings  # noqa: PLC0415

    return Strings(meaning, file)


STRINGS = Kind(
    name="strings",
    collection=deferred("stream_ldp.strings.collection:StringCollection"),
    mechanisms=("strings",),
    charges=deferred("stream_ldp.strings.charges:charges"),
    claims=deferred("stream_ldp.strings.audited:subject"),
    per_turn=lambda collection: collection.method.questions.epsilon,
    specified=specified,
    layout=deferred("stream_ldp.strings.layout:StringLayout"),
    solve=deferred("stream_ldp.strings.solve:solve"),
    answer=deferred("stream_ldp.strings.answer:StringRanking"),
    vocabulary=deferred("stream_ldp.strings.spec:VOCABULARY"),
    summary=deferred("stream_ldp.strings.plan:summary"),
    plan=deferred("stream_ldp.strings.plan:plan"),
    published=deferred("stream_ldp.strings.published:published"),
    leverages=deferred("stream_ldp.strings.plan:leverages"),
    reports=deferred("stream_ldp.strings.reports:reports"),
    totals=deferred("stream_ldp.strings.truth:totals"),
    evaluation=deferred("stream_ldp.strings.evaluation:EVALUATION"),
)
