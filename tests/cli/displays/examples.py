"""True numbers to compare the example answers with, and what a terminal would show."""

from io import StringIO

import numpy as np
from rich.console import Console, RenderableType

from stream_ldp.cli.displays.answer_text import AnswerText
from stream_ldp.cli.simulation.truth import TruthTally
from stream_ldp.pipeline.answer import Answer
from stream_ldp.pipeline.cells import CellKey
from stream_ldp.sets.item_sets import ItemSets
from tests.client.examples import collection_of
from tests.client.rankings import films

#: Of `bathing` and `mobility`: 0.1, 0.2, 0.25 of the users do not bathe, and 0.05, 0.15, 0.25 do.
SURVEY_TRUTH = TruthTally(
    collection_of(), np.repeat([(one, other) for one in (0, 1) for other in (0, 1, 2)], [2, 4, 5, 1, 3, 5], axis=0)
).truth()

_SEEN = {"Casablanca": 53, "Brazil": 30, "Alien": 24}
#: Of 100 users, 53 have seen Casablanca, 30 Brazil and 24 Alien.
FILMS_TRUTH = TruthTally(
    films(),
    ItemSets.of([films().items.number(film) for film, users in _SEEN.items() if user < users] for user in range(100)),
).truth()


def shown(what: RenderableType, *, width: int = 110) -> str:
    """Return what a console would show, without colours."""
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(what)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def panel(
    answer: Answer,
    *,
    truth: dict[CellKey, float] | None = None,
    before: Answer | None = None,
    rows: int = 12,
    width: int = 110,
) -> str:
    """Return the panel of an answer as text."""
    return shown(AnswerText.of(answer, truth=truth, before=before).panel(rows=rows), width=width)
