"""Evaluation of strings: what is counted as found, false and covered."""

from typing import Any

from stream_ldp.strings.evaluation import EVALUATION
from tests.evaluation.runs import evaluated, numbers
from tests.strings.examples import collection_of, users


def run(k: int, *, seed: int = 0, repeats: int = 1) -> dict[str, float]:
    collection = collection_of(f"epsilon: 4, k: {k}")
    (score,) = evaluated(collection, users(collection, 5_000), users=20_000, repeats=repeats, seed=seed).values()
    assert score.seconds == 1
    return numbers(score)


def test_frequent_strings_are_found_and_others_are_false() -> None:
    """Seeded. All five are frequent; a string that nobody has is told in few windows."""
    found = run(5, repeats=2)
    assert [found[name] for name in ("found", "reported", "false", "nobodys")] == [5, 5, 0, 0]
    assert found["covered"] >= 0.6
    assert found["expected"] < 1e-6
    few = run(2)
    assert (few["found"], few["reported"]) == (2, 2)


def test_nothing_is_reported_of_a_few_users() -> None:
    collection = collection_of("epsilon: 0.2, k: 5")
    (score,) = evaluated(collection, users(collection, 50), users=2).values()
    assert [score.metrics[name] for name in ("found", "reported", "covered")] == [0, 0, 1.0]


class Words:
    columns = ("word",)
    item_sets = ()

    def values(self, name: str) -> list[str]:
        return ["a", "äpfel"]


def test_the_longest_string_of_the_table_gives_the_length_in_bytes_or_letters() -> None:
    documents: list[dict[str, Any]] = [{}, {"string": {"name": "word", "alphabet": "aäpfel"}}, {"string": 3}]
    for document in documents:
        EVALUATION.complete(document, Words())
    assert documents[0] == {"string": {"name": "word", "length": 6}}
    assert documents[1]["string"]["length"] == 5
    assert documents[2] == {"string": 3}
