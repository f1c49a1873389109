"""Tests of what counting takes of a worker, before a collection runs."""

import numpy as np
import pytest

from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.counting_load import CountingLoad, counting_loads, counting_section, too_much
from stream_ldp.pipeline.partials import Partial, encode, together
from stream_ldp.pipeline.statistics import take_changed
from stream_ldp.records.collection import JointCollection
from tests.client.examples import collection_of

SURVEY = collection_of()


def load(*, reports: int = 1_000, memory: int = 2**20, ids: int = 0, sent: float = 1e5) -> CountingLoad:
    return CountingLoad(reports=reports, statistics=28, memory=memory, ids=ids, sent_per_second=sent)


def test_a_collection_has_a_table_for_each_set_of_attributes() -> None:
    layout = kind_of(SURVEY).layout(SURVEY)
    few, many, most = counting_loads(SURVEY, layout, populations=[10, 10_000, 10_000_000])
    assert few.statistics == many.statistics == len(layout.tallies())
    tables = sum(8 * 2**bits for bits in (5, 3))
    gathered = [load.memory - tables for load in (few, many, most)]
    assert gathered == [10, 10_000, 2**20], "reports of a byte gather to a megabyte"
    assert 13 * 10_000 < many.ids < 27 * 10_000, "as many bytes as a table of their hashes has"
    assert few.sent_per_second < many.sent_per_second


@pytest.mark.parametrize("reports", [20, 3_000])
def test_tables_that_are_sent_together_are_one_record(reports: int) -> None:
    pairs = [("q1", "q2"), ("q1", "q3"), ("q2", "q3"), ("q1",), ("q2",), ("q3",)]
    document = {
        "collection": "pairs",
        "mechanism": {"kind": "rr-ldp", "f": 0.25, "p": 0.25, "q": 0.75},
        "attributes": [{"name": name, "values": ["a", "b", "c"]} for name in ("q1", "q2", "q3")],
        "estimates": [{"name": "-".join(of), "of": of, "every": "2s"} for of in pairs],
        "window": {"size": "2s"},
    }
    collection = JointCollection.model_validate(document)
    layout = kind_of(collection).layout(collection)
    tallies = layout.tallies()
    rows = np.random.default_rng(1).integers(256, size=(reports, 2), dtype=np.uint8) & [255, 1]
    layout.count(tallies, rows.astype(np.uint8))
    nbytes = 0
    for changed in take_changed(tallies, closing=True):
        record = together(
            Partial(
                collection=collection.name,
                fingerprint=collection.fingerprint.hex(),
                partition=0,
                generation=1_700_000_000_000,
                pane_ms=1_700_000_000_000,
                pane_length_ms=2_000,
                of=of,
                segment=0,
                end=reports,
                counts=counts[0],
            )
            for of, counts in changed.items()
        )
        key, value = encode(record, writer="0123abcd")
        nbytes += len(key) + len(value)
    (load,) = counting_loads(collection, layout, populations=[reports])
    assert 0.7 * nbytes < 2 * load.sent_per_second < 1.4 * nbytes


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
