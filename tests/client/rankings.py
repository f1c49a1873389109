"""A small collection of item sets, and rankings of it, to test with."""

from functools import cache
from pathlib import Path
from typing import Any

from stream_ldp.pipeline.answer import Plausibility, WindowBounds
from stream_ldp.sets.answer import Candidate, EpochPrivacy, HeavyHitter, NextPhase, Ranking
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import epoch_epsilon
from tests.client.examples import MINUTE_MS

FILMS = """
collection: films
mechanism: {kind: ldpminer, epsilon: 2, k: 2, k_max: 4, set_size: 3}
items: {names: [Alien, Brazil, Casablanca, Dogville, Eraserhead, "[red]Fargo"]}
window: {size: 60s, grace: 5s}
"""

_FREQUENCIES = {"Casablanca": 0.5, "Alien": 0.25, "Brazil": 0.125, "Eraserhead": -0.01}


@cache
def films() -> ItemCollection:
    """Load a collection of six items of which the best two are wanted; epochs have two phases, a minute each."""
    return ItemCollection.parse(FILMS)


def write_films(path: Path) -> Path:
    """Write the same collection to a file."""
    path.write_text(FILMS, encoding="utf-8")
    return path


def ranking_of(*, epoch: int, phase: int, items: dict[str, float] | None = None, **changes: Any) -> Ranking:
    """Make a final ranking after a phase of an epoch, with some fields changed.

    items: the best ones and their frequencies.
    """
    collection = films()
    start_ms = collection.schedule.window_of(epoch, phase)
    shown = items or dict(list(_FREQUENCIES.items())[:2])
    numbers = [collection.items.number(name) for name in _FREQUENCIES]
    fields: dict[str, Any] = {
        "collection": "films",
        "fingerprint": collection.fingerprint.hex(),
        "method": "ldpminer",
        "epoch": epoch,
        "phase": phase,
        "phases": 2,
        "window": WindowBounds(start_ms=start_ms, end_ms=start_ms + MINUTE_MS),
        "final": True,
        "reports": 1_000 * phase,
        "reports_per_phase": tuple(1_000 * number for number in range(1, phase + 1)),
        "items": tuple(
            HeavyHitter(rank=rank, item=item, frequency=frequency, standard_error=0.02)
            for rank, (item, frequency) in enumerate(shown.items(), start=1)
        ),
        "candidates": tuple(
            Candidate(number=number, frequency=frequency, standard_error=0.02)
            for number, frequency in zip(numbers, _FREQUENCIES.values(), strict=True)
        ),
        "next_phase": NextPhase(padding=4, correction=1.0, doubt=0.0, share=1.0, candidates=tuple(numbers))
        if phase == 1
        else None,
        "plausibility": Plausibility(statistic=9.5, degrees_of_freedom=7, p_value=0.22, flagged=False),
        "privacy": EpochPrivacy(
            per_epoch=epoch_epsilon(collection.method),
            phases=tuple(each.epsilon for each in collection.method.phases),
            assumption="any two sets of items",
        ),
    }
    fields |= changes
    return Ranking(**({"complete": fields["final"] and fields["phase"] == fields["phases"]} | fields))


def result_of(epoch: int, **changes: Any) -> Ranking:
    """Make the result of an epoch."""
    return ranking_of(epoch=epoch, phase=2, **changes)
