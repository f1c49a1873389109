"""What readers of finals learn, of every kind: stated by the plan and by answers, and only where it holds."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kinds import parse_collection
from stream_ldp.pipeline.kind import Kind
from stream_ldp.pipeline.published import WINDOWS
from stream_ldp.testing import kafka_in_memory
from tests.kinds.subjects import WINDOW, Subject
from tests.kinds.test_commands import output
from tests.kinds.users import START_MS, play

ONCE = f"{WINDOW[:-1]}, returning: 0}}"


@pytest.fixture
def once(subject: Subject) -> Any:
    """Return the collection, whose users report in one window of their lives."""
    assert WINDOW in subject.text
    return parse_collection(subject.text.replace(WINDOW, ONCE))


def test_more_reports_hide_a_user_better_and_nothing_exceeds_what_the_service_learns(
    kind: Kind[Any, Any, Any], once: Any, subject: Subject
) -> None:
    found = [each for reports in (1, 20_000, 100_000) if (each := kind.published(once, reports)) is not None]
    epsilons = [each.epsilon for each in found]
    assert len(epsilons) == 3
    phases = 1 if kind.rounds is None else len(once.method.phases)
    assert epsilons[0] >= epsilons[1] > epsilons[2] > 0.0
    assert max(epsilons) <= phases * subject.cost + 1e-9
    for each, reports in zip(found, ("1", "20,000", "100,000"), strict=True):
        among = f"among {reports}" if kind.rounds is None else "among "  # of an epoch, each phase has its share
        for condition in ("readers of final answers", "trust the service", among, "honest reports"):
            assert condition in each.assumption


def test_several_windows_with_noise_drawn_anew_tell_more_than_one_and_less_than_their_sum(
    kind: Kind[Any, Any, Any], once: Any, collection: Any
) -> None:
    one, ten = kind.published(once, 100_000), kind.published(collection, 100_000, windows=10)
    assert one is not None
    assert ten is not None
    assert one.epsilon < ten.epsilon < 10 * one.epsilon
    assert "in each of 10" in ten.assumption
    assert "drawn anew" in ten.assumption


def test_where_users_return_with_the_same_noise_nothing_is_stated_for_one_window(
    kind: Kind[Any, Any, Any], collection: Any, subject: Subject
) -> None:
    found = kind.published(collection, 1_000)
    assert found is None or "costs as much again" in found.assumption
    several = subject.text.replace(WINDOW, f"{ONCE[:-1]}, reports_per_user: 2}}")
    if kind.name != "sets":
        assert kind.published(parse_collection(several), 1_000) is None
        assert kind.published(parse_collection(several), 1_000, windows=10) is None


@pytest.mark.usefixtures("few_draws")
def test_the_plan_prints_what_readers_learn_and_its_json_has_it(
    kind: Kind[Any, Any, Any], once: Any, subject: Subject, tmp_path: Path
) -> None:
    file = tmp_path / "collection.yaml"
    file.write_text(subject.text.replace(WINDOW, ONCE), encoding="utf-8")
    planned = json.loads(output("plan", file, "--reports", 10_000, "--json"))["published"]
    assert [(each["reports"], each["windows"]) for each in planned] == [(10_000, each) for each in (1, *WINDOWS)]
    found = kind.published(once, 10_000)
    assert found is not None
    assert planned[0]["published"] == json.loads(found.model_dump_json())
    text = output("plan", file, "--reports", 10_000)
    assert "Values that a client refuses" in text
    assert all(each in text for each in once.refused)
    assert "Epsilon against readers of final answers" in text
    assert f"{math.ceil(found.epsilon * 1_000) / 1_000:.3f}" in text
    assert " ".join(str(found).split()) in " ".join(text.split())


async def test_a_final_states_what_the_kind_does_of_its_reports(
    kind: Kind[Any, Any, Any], once: Any, subject: Subject
) -> None:
    with kafka_in_memory(once, now_ms=START_MS) as kafka:
        *_, final = await play(kafka, once, subject.users(300))
    stated = [line for line in final.judgement().privacy if line.startswith("(epsilon, delta) = ")]
    assert len(stated) == 1
    if kind.name not in {"sets", "places"}:  # where only those of a phase, or of one region, hide each other
        assert stated == [str(kind.published(once, final.reports))]
