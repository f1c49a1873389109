"""Laws of the records that are published with a final: a function of the window's reports and a seed, and no more."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from stream_ldp.collection.synthesis import SynthesisSpec
from stream_ldp.kinds import solve
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.statistics import ReportSums, RowCounts, Statistic
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate, Linked
from stream_ldp.records.collection import JointCollection
from stream_ldp.synthesis import publication
from stream_ldp.synthesis.chunk import SyntheticChunk
from stream_ldp.synthesis.publication import are_due, published
from stream_ldp.views.collection import ViewsCollection
from tests.views.examples import TEXT, sums_of, users

CARE = ViewsCollection.parse(
    TEXT.format(mechanism="epsilon: 4, ask: pairs", estimates="[{name: care, of: [walks, bathes]}]", window="")
    + "synthesis: {records: 100, seed: 5}\n"
)
SURVEY = JointCollection.parse(
    """
collection: survey
mechanism: {kind: k-rr, epsilon: 3}
attributes:
  - {name: walks, values: [no, yes]}
  - {name: bathes, values: [no, yes]}
  - {name: diet, values: [meat, fish, plants]}
  - {name: region, values: [north, south]}
estimates: [{name: walks, of: [walks]}]
window: {size: 10s}
synthesis: {records: 100, seed: 5}
"""
)


def parts_of_views(sizes: Sequence[int]) -> list[Statistic]:
    """The sums of as many source partitions, each of so many users."""
    return [
        ReportSums.of(reports=size, values=sums_of(CARE.questions, users(size, seed=size), seed=size))
        for size in sizes
    ]


def parts_of_records(sizes: Sequence[int]) -> list[Statistic]:
    """The counts of whole reports of as many source partitions, each of so many users."""
    mechanism = SURVEY.mechanism
    parts: list[Statistic] = []
    for size in sizes:
        table = np.array([users(size, seed=size)[str(place)] for place in range(4)]).T
        symbols = mechanism.permanent(table, SeededEntropy(size))
        parts.append(RowCounts.of(mechanism.packed(symbols), bits=mechanism.bits))
    return parts


def task_of(collection: Any, parts: Sequence[Statistic], *, window_ms: int = 20_000) -> WindowTask[Any, Any]:
    return WindowTask(
        series=collection.whole, window_ms=window_ms, final=True, windows=((1.0, tuple(parts)),), before=None
    )


def final_of(task: WindowTask[Any, Any]) -> Estimate:
    """A final of the same reports."""
    answer: Any = solve(CARE, task_of(CARE, parts_of_views([300]), window_ms=task.window_ms))
    found: Estimate = answer.model_copy(update={"reports": task.reports})
    return found


def bytes_of(collection: Any, parts: Sequence[Statistic], *, window_ms: int = 20_000) -> list[tuple[bytes, bytes]]:
    task = task_of(collection, parts, window_ms=window_ms)
    return [(each.key, each.to_bytes()) for each in published(collection, task, final_of(task), earlier={})]


PARTS: dict[str, tuple[Any, list[Statistic]]] = {
    "views": (CARE, parts_of_views([300, 500, 40])),
    "records": (SURVEY, parts_of_records([300, 500, 40])),
}


@pytest.mark.parametrize("name", PARTS)
def test_any_order_of_the_partitions_makes_the_same_bytes(name: str) -> None:
    collection, parts = PARTS[name]
    assert len({tuple(bytes_of(collection, order)) for order in permutations(parts)}) == 1


def test_reports_that_have_been_added_up_make_the_same_bytes_as_their_parts() -> None:
    views, records = PARTS["views"][1], PARTS["records"][1]
    sums = ReportSums.sum(views, counters=CARE.questions.counters)  # type: ignore[arg-type]
    assert bytes_of(CARE, [sums]) == bytes_of(CARE, views)
    counts = RowCounts.sum(records, bits=SURVEY.mechanism.bits)  # type: ignore[arg-type]
    assert bytes_of(SURVEY, [counts]) == bytes_of(SURVEY, records)


@pytest.mark.parametrize("name", PARTS)
def test_records_have_the_distributions_of_the_users(name: str) -> None:
    collection, _ = PARTS[name]
    parts = parts_of_views([20_000]) if name == "views" else parts_of_records([20_000])
    task = task_of(collection, parts)
    spec = SynthesisSpec(records=5_000, seed=1)
    (chunk,) = published(collection.model_copy(update={"synthesis": spec}), task, final_of(task), earlier={})
    columns = chunk.columns()
    assert (chunk.total, chunk.reports, len(columns["diet"])) == (5_000, 20_000, 5_000)
    alike = np.mean([walks == bathes for walks, bathes in zip(columns["walks"], columns["bathes"], strict=True)])
    # Four of five are; the noise of 20,000 users at these epsilons is .01, seldom three times as much.
    assert alike == pytest.approx(0.8, abs=0.04)
    assert chunk.structure != "independent"


def test_records_say_what_the_pseudonyms_of_their_reports_tell() -> None:
    collection, parts = PARTS["views"]
    task = task_of(collection, parts)
    final = final_of(task)
    told = Linked(users=840, reports=840, reports_per_user=1.0, returning=None, privacy="the same pseudonym for 7d")
    linked = final.model_copy(update={"linked": told})
    assert {each.linking for each in published(collection, task, linked, earlier={})} == {"the same pseudonym for 7d"}
    assert {each.linking for each in published(collection, task, final, earlier={})} == {None}


def test_records_of_views_are_those_of_the_published_estimates_which_know_the_windows_before() -> None:
    """The distance of 20,000 systematic draws to the estimate is far below the noise of a window of 2,000 users."""
    text = TEXT.format(
        mechanism="epsilon: 1, ask: pairs", estimates="[{name: all, of: [walks, bathes]}]", window=", returning: 0"
    )
    care = ViewsCollection.parse(f"{text}synthesis: {{records: 20000, seed: 5, method: tree}}\n")
    finals: list[Any] = []
    for start in range(6):
        sums = ReportSums.of(reports=2_000, values=sums_of(care.questions, users(2_000, seed=start), seed=start))
        task = replace(task_of(care, [sums], window_ms=10_000 * start), before=finals[-1] if finals else None)
        finals.append(solve(care, task))
    *_, before, final = finals
    made = [each.to_bytes() for each in published(care, task, final, earlier={"all": before})]
    assert [each.to_bytes() for each in published(care, task, final, earlier={"all": before})] == made
    chunks = [SyntheticChunk.from_bytes(each) for each in made]
    walks, bathes = ([value for each in chunks for value in each.columns()[name]] for name in ("walks", "bathes"))
    drawn = np.array(
        [
            [np.mean([(w, b) == (one, two) for w, b in zip(walks, bathes, strict=True)]) for two in ("no", "yes")]
            for one in ("no", "yes")
        ]
    )
    assert final.distance(drawn) < 0.2 * final.distance(np.array(final.temporal.alone).reshape(final.shape))


def test_each_seed_and_each_window_has_draws_of_its_own() -> None:
    collection, parts = PARTS["views"]
    other = collection.model_copy(update={"synthesis": SynthesisSpec(records=100, seed=6)})
    records = [
        tuple(chunk.records for chunk in published(each, task, final_of(task), earlier={}))
        for each, task in (
            (collection, task_of(collection, parts)),
            (other, task_of(collection, parts)),
            (collection, task_of(collection, parts, window_ms=30_000)),
        )
    ]
    assert len(set(records)) == 3


def test_chunks_hold_all_records_in_order_under_keys_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    collection, parts = PARTS["views"]
    task = task_of(collection, parts)
    (together,) = published(collection, task, final_of(task), earlier={})
    monkeypatch.setattr(publication, "CHUNK_BYTES", 40 * 10)
    chunks = list(published(collection, task, final_of(task), earlier={}))
    assert [(each.chunk, each.chunks, len(each.records)) for each in chunks] == [(0, 3, 40), (1, 3, 40), (2, 3, 20)]
    assert sum((each.records for each in chunks), ()) == together.records
    assert [each.key for each in chunks] == [f"auto-100-5-{chunk}|final|20000".encode() for chunk in range(3)]


def test_records_are_made_of_all_reports_of_a_final_or_not_at_all() -> None:
    collection, parts = PARTS["views"]
    task = task_of(collection, parts)
    final = final_of(task)
    assert are_due(task, task, final)
    some = task_of(collection, parts[:1])
    assert not are_due(some, some, final)
    nobody = final.model_copy(update={"reports": 0})
    none = task_of(collection, [])
    assert not are_due(none, none, nobody.without_reports(until_ms=30_000))
    # Of an estimate that remembers the previous window, of which nothing was counted for records.
    remembers = replace(task, windows=(*task.windows, (0.5, task.windows[0][1])))
    forgets = replace(task, windows=(*task.windows, (0.5, ())))
    assert are_due(remembers, remembers, final)
    assert not are_due(forgets, remembers, final)


def test_a_collection_that_asks_for_no_records_gets_none() -> None:
    collection, parts = PARTS["views"]
    task = task_of(collection, parts)
    with pytest.raises(ValueError, match="care asks for no records"):
        list(published(collection.model_copy(update={"synthesis": None}), task, final_of(task), earlier={}))


def test_records_of_linked_reports_are_made_of_what_users_have_reported_in_the_period() -> None:
    linked = JointCollection.model_validate(
        SURVEY.document | {"mechanism": {"kind": "rr-ldp", "f": 0.2, "p": 0.2, "q": 0.8}, "linked": "20s"}
    )
    people = np.array([users(400, seed=1)[str(place)] for place in range(4)]).T
    secrets = [number.to_bytes(32, "little") for number in range(len(people))]
    windows = []
    for start_ms in (30_000, 20_000):
        entropy = SeededEntropy(start_ms)
        names = linked.pseudonyms(len(people), secrets=secrets, time_ms=start_ms, entropy=entropy)
        rows = np.concatenate([names, linked.mechanism.perturb(people, entropy=entropy)], axis=1)
        windows.append((1.0, (RowCounts.of(rows, bits=linked.bits),)))
    task: WindowTask[Any, Any] = WindowTask(
        series=linked.whole, window_ms=30_000, final=True, windows=tuple(windows), before=None
    )
    (chunk,) = published(linked, task, final_of(task), earlier={})
    alone = replace(task, windows=(windows[0], (1.0, ())))
    (other,) = published(linked, alone, final_of(alone), earlier={})
    assert (chunk.reports, len(chunk.records)) == (400, 100)
    assert chunk.records != other.records
