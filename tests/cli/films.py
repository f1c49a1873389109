"""A collection of item sets whose phases take less than a second, for the commands that answer it."""

from pathlib import Path

from stream_ldp.client.reporter import now_ms
from stream_ldp.sets.collection import ItemCollection
from tests.client.fakes import FakeBroker
from tests.client.items import film_round, films, films_text, reports_sent

#: Two phases of less than a second, which ask everybody; little noise.
QUICK = {"mechanism": "{kind: ldpminer, epsilon: 30, k: 2, k_max: 4, set_size: 2}", "size": "800ms"}


def epochs_to_come(collection: ItemCollection) -> range:
    size = collection.schedule.size_ms
    first = now_ms() // size // collection.schedule.stride
    return range(first, first + 20)


def written(tmp_path: Path) -> Path:
    path = tmp_path / "films.yaml"
    path.write_text(films_text(**QUICK), encoding="utf-8")
    return path


def data_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "films.txt"
    path.write_text(text, encoding="utf-8")
    return path


def report_counts(broker: FakeBroker) -> tuple[int, int]:
    """Count the reports to the first phase and to the second, of all epochs."""
    collection = films(**QUICK)
    rounds = [
        film_round(2, epoch=epoch, collection=collection, candidates=range(4))
        for epoch in range(epochs_to_come(collection)[0] - 20, epochs_to_come(collection)[0] + 2)
    ]
    first = film_round(1, epoch=rounds[0].epoch, collection=collection)
    totals = [each.total for each in reports_sent(broker, first, *rounds, collection=collection)]
    return totals[0], sum(totals[1:])
