"""A ranking says what is asked next, with the fingerprint that reports to it carry."""

from stream_ldp.sets.answer import FilteredCandidates, NextPhase, Ranking
from stream_ldp.sets.rounds import Round
from tests.client.rankings import ranking_of, result_of
from tests.sets.examples import SIZE_MS, collection_of, inquiry_of, round_of

GFIM = collection_of()

ASKED = round_of(GFIM, epoch=5, candidates=[1, 3, 7], padding=2)


def test_what_is_asked_next_is_published_in_ascending_order_however_good_the_candidates_are() -> None:
    assert NextPhase.of(inquiry_of(2, [7, 1, 3])).candidates == (1, 3, 7)


def test_a_ranking_expects_reports_with_the_fingerprint_of_the_next_round() -> None:
    """The one is computed where answers are merged, the other where they are sent."""
    final = Ranking.model_validate(
        {
            "collection": GFIM.name,
            "fingerprint": GFIM.fingerprint.hex(),
            "method": "gfim",
            "epoch": 5,
            "phase": 1,
            "phases": 3,
            "window": {"start_ms": 15 * SIZE_MS, "end_ms": 16 * SIZE_MS},
            "final": True,
            "complete": False,
            "reports": 0,
            "reports_per_phase": [0],
            "items": [],
            "candidates": [],
            "next_phase": {"padding": 2, "correction": 1.0, "doubt": 0.0, "share": 1.0, "candidates": [1, 3, 7]},
            "plausibility": None,
            "privacy": {"per_epoch": 4, "phases": [2.4, 1.6, 1.6], "assumption": ""},
        }
    )
    assert final.next_fingerprint == ASKED.fingerprint
    inquiry = final.next_inquiry
    assert inquiry is not None
    assert Round.of(GFIM, inquiry, epoch=5) == ASKED
    assert final.model_copy(update={"next_phase": None}).next_fingerprint is None


def test_a_judgement_has_the_reports_of_every_phase_and_what_an_epoch_costs() -> None:
    judged = result_of(7).judgement()
    assert judged.evidence == ("1,000 + 2,000 reports, phase by phase",)
    assert judged.facts == {"epoch": "7", "phase": "2/2"}
    assert judged.privacy == ("ldpminer at epsilon 2.000 an epoch: any two sets of items",)
    assert result_of(7).look.title == "epoch 7 · result"


def test_a_judgement_of_a_running_epoch_says_that_it_is_no_result() -> None:
    running = ranking_of(epoch=7, phase=1, final=False)
    assert running.judgement().evidence == (
        "the epoch goes on: candidates and their order may change",
        "1,000 reports",
    )
    assert running.look.title == "epoch 7 · phase 1 of 2"


def test_a_judgement_says_why_intervals_are_wide() -> None:
    wide, narrow = (result_of(7).model_copy(update={"unseen": part}).judgement().evidence for part in (0.9, 0.1))
    assert [each for each in wide if each.startswith("intervals are wide since sets may exceed the slots")]
    assert len(wide) == len(narrow) + 1


def test_a_judgement_says_how_much_previous_epochs_weigh() -> None:
    learnt = FilteredCandidates(alone=(0.5,), weight=12_345.6, drift=1e-5, jumped=False)
    weighty = result_of(7).model_copy(update={"learnt": learnt}).judgement()
    assert weighty.previous == ("previous epochs weigh as much as 12,346 reports of the last phase",)
    assert result_of(7).judgement().previous == ()
