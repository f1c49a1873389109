"""The Faust app of a worker: with whom it shares the merging."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from stream_ldp.kafka.settings import Settings
from stream_ldp.service.faust_app import faust_app
from tests.client.examples import collection_of

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.service.merger import Merger


def test_workers_of_the_same_collections_share_the_merging_and_others_do_not(tmp_path: Path) -> None:
    """Workers of one name read the partials between them; one that has other collections would miss its own."""
    settings = Settings.load(brokers="nowhere:1", group="workers")
    one, other = collection_of(), collection_of(name="other")

    def name(*collections: Any) -> str:
        app = faust_app(settings, collections, cast("Merger", None), datadir=str(tmp_path))
        return str(app.conf.id)

    assert name(one).startswith("workers.merge.")
    assert name(one, other) == name(other, one)
    assert len({name(one), name(other), name(one, other)}) == 3


def test_consumers_take_a_connection_for_dead_after_the_longest_time_that_a_broker_holds_an_answer_back(
    tmp_path: Path,
) -> None:
    settings = Settings.load(brokers="nowhere:1", rebalance_timeout_ms=20_000)
    app = faust_app(settings, [collection_of()], cast("Merger", None), datadir=str(tmp_path))
    assert app.conf.broker_request_timeout == settings.request_timeout_ms / 1_000 == 25.0
