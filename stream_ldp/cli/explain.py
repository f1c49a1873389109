"""This command explains an answer in a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.arguments import CollectionOrName, EstimateNames, Since
from stream_ldp.cli.echo import echo, echo_problem
from stream_ldp.cli.failure import fail
from stream_ldp.cli.named import collection_or_name, read_as, require_series
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.client.answers import fetch_answers
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.explanation import sentences

if TYPE_CHECKING:
    from stream_ldp.client.answers import Answers


@with_settings(CLIENT)
async def explain(
    collection: CollectionOrName, *, estimate: EstimateNames = None, since: Since = None, settings: Settings
) -> None:
    """Explain the last final answer of each estimate, or all since a time.

    The first sentence says what is known, with its interval; the second, how sure that is; the third, what a report
    costs its user.
    """
    known = collection_or_name(collection)
    require_series(known, estimate)
    answers: Answers = await fetch_answers(
        known,
        settings=settings,
        series=estimate,
        last=None if since is not None else 1,
        since=since,
        on_unreadable=echo_problem,
    )
    title, labels = await read_as(known, settings=settings, series=estimate)
    if not answers:
        fail(
            f"{collection}: its topic has no final answer{' of that time' if since else ''} yet\n"
            f"  -> the answers of open windows: stream-ldp query {collection} --provisional"
        )
    asked = [] if isinstance(known, str) or known.wording is None else [f"Asked: {known.wording}"]
    for answer in answers:
        head = f"{title or answer.collection}, {answer.series}, {answer.window}"
        echo(head, *asked, *sentences(answer.labelled(labels)), "")
