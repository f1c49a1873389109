"""Tests that a seed says all, and that every fault is drawn."""

import pytest

from tests.chaos.kinds import KINDS
from tests.chaos.schedule import CALM_SECONDS, CODECS, SCENES, TRAFFIC_SECONDS, Fault, draw

MANY = [draw(seed) for seed in range(400)] + [draw(seed, scene="silence") for seed in range(20)]


def test_a_seed_gives_the_same_schedule_every_time() -> None:
    assert [draw(seed) for seed in range(400)] == MANY[:400]
    assert len(set(MANY)) == len(MANY)


def test_every_fault_of_every_scene_is_drawn_within_some_hundred_seeds() -> None:
    assert {(each.scene.name, event.fault) for each in MANY for event in each.events} == {
        (scene.name, fault) for scene in SCENES for fault in scene.faults
    }
    assert {event.fault for each in MANY for event in each.events} == set(Fault)


def test_every_run_has_a_fault_of_its_scene_and_calm_after_the_last_begins() -> None:
    for each in MANY:
        assert 1 <= len(each.events) <= each.scene.most
        assert each.scene.name == "workers" or any(
            event.fault not in {Fault.KILL, Fault.TERMINATE} for event in each.events
        )
        assert all(0.5 <= event.at <= TRAFFIC_SECONDS - CALM_SECONDS for event in each.events)


def test_a_scene_can_be_asked_for_and_an_unknown_one_is_reported_the_known_ones() -> None:
    assert draw(1, scene="disk").scene.name == "disk"
    with pytest.raises(ValueError, match=r"no scene 'fire', only workers, .*, cluster, silence"):
        draw(1, scene="fire")


def test_what_goes_wrong_does_not_depend_on_what_is_reported() -> None:
    for each, of_strings in zip(MANY[:100], (draw(seed, kind="strings") for seed in range(100)), strict=True):
        assert of_strings.events == each.events
        assert of_strings.collections[0].kind == "strings"


def test_every_kind_window_and_codec_is_drawn_and_runs_have_several_collections() -> None:
    drawn = {each for schedule in MANY for each in schedule.collections}
    assert {(each.kind, each.window) for each in drawn} == {
        (name, window) for name, kind in KINDS.items() for window in kind.windows
    }
    assert {each.codec for each in drawn} == set(CODECS)
    assert {len(each.collections) for each in MANY} == {2, 3, 4}
    for each in MANY:
        kinds = [of.kind for of in each.collections]
        assert len(set(kinds)) == len(kinds)
        assert any(KINDS[kind].batches for kind in kinds)


def test_clients_report_until_some_time_after_the_last_fault_has_ended() -> None:
    assert all(each.seconds >= event.at + event.seconds + CALM_SECONDS for each in MANY for event in each.events)
    assert max(each.seconds for each in MANY if each.scene.name == "outage") > 50


def test_a_line_says_what_happens_and_when() -> None:
    assert str(draw(11, scene="disk")).startswith("seed 11 disk: ")
    assert "disk-full@" in str(draw(11, scene="disk"))
