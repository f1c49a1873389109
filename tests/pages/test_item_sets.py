"""The picture of docs/tutorial/item-sets.md is as `watch` draws it."""

import re
from datetime import datetime
from io import StringIO

from rich.console import Console

from stream_ldp.cli.displays.answer_text import AnswerText
from stream_ldp.mechanisms.shuffling import DELTA, shuffled_epsilon
from stream_ldp.pipeline.answer import Moved, Published, WindowBounds
from stream_ldp.pipeline.cells import LEVEL, CellKey, normal_quantile
from stream_ldp.sets.answer import EpochPrivacy, HeavyHitter
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import epoch_epsilon
from tests.client.rankings import ranking_of
from tests.pages.page import blocks, example


def test_the_picture_of_a_ranking_is_as_watch_draws_it() -> None:
    (picture,) = blocks("docs/tutorial/item-sets.md", "text")
    collection = example("films.yaml")
    assert isinstance(collection, ItemCollection)
    rows = re.findall(
        r"^│ +\d+ +(\w+) +[█-▏]+ +([\d.]+) +([\d.]+) to ([\d.]+) +([\d.]+) +│$", picture, flags=re.MULTILINE
    )
    items = [
        HeavyHitter(
            rank=rank,
            item=item,
            frequency=float(frequency),
            standard_error=(float(largest) - float(least)) / (2 * normal_quantile(LEVEL)),
        )
        for rank, (item, frequency, least, largest, _) in enumerate(rows, start=1)
    ]
    (start,) = re.findall(r"─ (\S+)/\S+ ·", picture)
    start_ms = int(datetime.fromisoformat(start).timestamp() * 1000)
    (epoch,) = re.findall(r"epoch (\d+)", picture)
    assert collection.schedule.window_of(int(epoch), 3) == start_ms
    ranking = ranking_of(
        epoch=int(epoch),
        method=collection.method.name,
        phase=3,
        phases=3,
        window=WindowBounds(start_ms=start_ms, end_ms=start_ms + collection.window.size_ms),
        reports_per_phase=(7_983, 1_983, 10_034),
        plausibility=None,
        privacy=EpochPrivacy(
            per_epoch=epoch_epsilon(collection.method),
            phases=tuple(phase.epsilon for phase in collection.method.phases),
            assumption="any two sets of items; another epoch costs as much again",
            published=Published.among(
                "7,983 + 1,983 + 10,034",
                epsilon=max(
                    shuffled_epsilon(3.0, reports=reports, delta=DELTA / 3) for reports in (7_983, 1_983, 10_034)
                ),
                delta=DELTA,
                once="once to each phase",
                hidden="any two sets of items; another epoch costs as much again",
            ),
        ),
    ).model_copy(update={"items": tuple(items), "liars": (Moved(about="", liars=0.01, most=0.13),)})
    truth: dict[CellKey, float] = {("", (item,)): float(true) for item, *_, true in rows}
    console = Console(file=(file := StringIO()), width=110, color_system=None)
    console.print(AnswerText.of(ranking, truth=truth).panel())
    assert file.getvalue() == picture
