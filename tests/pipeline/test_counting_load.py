"""Tests of what counting takes of a worker, before a collection runs."""

from __future__ import annotations

from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.counting_load import CountingLoad, counting_loads, counting_section, too_much
from tests.client.examples import collection_of

SURVEY = collection_of()


def load(*, reports: int = 1_000, memory: int = 2**20, ids: int = 0, sent: float = 1e5) -> CountingLoad:
    return CountingLoad(reports=reports, statistics=28, memory=memory, ids=ids, sent_per_second=sent)


def test_a_collection_has_a_table_for_each_set_of_attributes() -> None:
    layout = kind_of(SURVEY).layout(SURVEY)
    few, many = counting_loads(SURVEY, layout, populations=[10, 10_000])
    assert few.statistics == many.statistics == len(layout.tallies())
    assert few.memory == many.memory == sum(8 * 2**bits for bits in (5, 3))
    assert 13 * 10_000 < many.ids < 27 * 10_000, "as many bytes as a table of their hashes has"
    assert few.sent_per_second < many.sent_per_second


def test_a_load_that_fits_is_not_remarked_upon() -> None:
    assert list(too_much([load(), load(reports=10_000)])) == []
    assert counting_section([load()]).notes == ()


def test_the_ids_of_single_reports_may_be_too_much() -> None:
    (found,) = too_much([load(ids=2**28)])
    assert found.startswith("with 1,000 reports, the ids of their batches take 268.4 MB of memory for each pane")


def test_a_load_is_too_much_for_the_fewest_reports_that_show_it() -> None:
    found = [load(), load(reports=10_000, memory=2**28, sent=3e6), load(reports=20_000, memory=2**29, sent=6e6)]
    in_memory, sent = too_much(found)
    assert in_memory.startswith("with 10,000 reports, a pane takes 268.4 MB of memory for each partition: ")
    assert sent.startswith("with 10,000 reports in a pane, each partition sends 3.0 MB of partials a second")
    section = counting_section(found)
    assert section.notes == (f"Too much: {in_memory}.", f"Too much: {sent}.")
    assert section.rows[0] == ("tables", "28", "28", "28")
