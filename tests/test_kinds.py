"""The table of kinds: what tells the kind of a file, and what is said where none does."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, get_args

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.kinds import KINDS, kind_of, parse_collection
from tests.coins import TEXT as COINS
from tests.records.examples import TEXT as RECORDS
from tests.toy import COIN, Coins


def test_a_kind_in_the_table_is_reported_by_its_mechanism(coins: Coins) -> None:
    assert kind_of(coins) is COIN
    with pytest.raises(CollectionError, match=r"mechanism\.truth: .*greater than 0\.5"):
        parse_collection(COINS.replace("0.75", "0.5"))


def test_a_kind_that_is_not_in_the_table_is_refused_with_those_that_are(
    coins: Coins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(KINDS, COIN.name)
    with pytest.raises(CollectionError, match="or 'places', got 'coin'"):
        parse_collection(COINS)
    with pytest.raises(TypeError, match="a Coins is of no kind in the table"):
        kind_of(coins)


#: A process that loads what a worker loads. For each kind, it has another let users report, which prints what their
#: answers import.
FIRST_SOLVE = """\
import asyncio, os, sys
import stream_ldp.service.worker
from stream_ldp.kinds import load_solver, parse_collection
from tests.schemas import recorded

def look(kind):
    collection = parse_collection(recorded.COLLECTIONS[kind])
    before = set(sys.modules)
    load_solver(collection)
    assert set(sys.modules) - before, "nothing more is loaded"
    before = set(sys.modules)
    asyncio.run(recorded.record(kind))
    libraries = ("scipy", "sklearn", "pandas")
    print(kind, [name for name in set(sys.modules) - before if name.partition(".")[0] in libraries], flush=True)

for kind in sys.argv[1:]:
    if not os.fork():
        look(kind)
        break
    os.wait()
"""


# Of the quick suite, one kind whose solver is a library's.
@pytest.mark.parametrize("kinds", [["records"], pytest.param([*KINDS], marks=pytest.mark.long)], ids=["one", "all"])
def test_no_first_answer_waits_for_a_library_once_its_solver_is_loaded(kinds: list[str]) -> None:
    program = [sys.executable, "-c", FIRST_SOLVE, *kinds]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{kind} []" for kind in kinds], done.stderr


#: Prints which of those libraries a solve by a method that begins with no LASSO loads, or has loaded.
WITHOUT_LASSO = """
import sys
from stream_ldp.kinds import load_solver, solve
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.solve_time import sample
from tests.records.test_solve_time import collection_of
collection = collection_of(sizes=(2, 2))
load_solver(collection)
before = set(sys.modules)
(counts,) = sample(collection, collection.series[0], 1_000, seed=1)
windows = ((1.0, (counts,)),)
solve(collection, WindowTask(series=collection.series[0], window_ms=0, final=True, windows=windows, before=None))
later = set(sys.modules) - before
print([name for name in sys.modules if name.startswith("sklearn") or (name in later and name.startswith("scipy"))])
"""


def test_a_collection_that_is_estimated_without_a_lasso_does_not_wait_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_LASSO], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_kind_lists_the_mechanisms_of_its_collections() -> None:
    for kind in KINDS.values():
        (field,) = (each for each in kind.collection.model_fields.values() if each.alias == "mechanism")
        specs = get_args(field.annotation) or (field.annotation,)
        words = dict.fromkeys(word for spec in specs for word in get_args(spec.model_fields["kind"].annotation))
        assert list(kind.mechanisms) == list(words), kind.name


SETS = """\
collection: films
mechanism: {kind: svim, epsilon: 2, k: 2}
items: {size: 16}
window: {size: 60s}
"""


@pytest.mark.usefixtures("coins")
@pytest.mark.parametrize(
    ("text", "wrong", "problem"),
    [
        (
            RECORDS,
            "{kind: svim, epsilon: 2, k: 2}",
            "'svim' is for collections of sets, and estimates for those of records: expected 'rr-ldp', "
            "'k-rr', 'k-subset' or 'hashed-k-rr'",
        ),
        (
            SETS,
            "{kind: k-rr, epsilon: 2}",
            "'k-rr' is for collections of records, and items for those of sets: "
            "expected 'gfim', 'gfim-users', 'ldpminer', 'svim' or 'loloha'",
        ),
        (SETS, "{kind: coin, truth: 0.75}", "'coin' is for collections of coin, and items for those of sets: "),
    ],
)
def test_a_mechanism_of_another_kind_is_refused_in_one_line(text: str, wrong: str, problem: str) -> None:
    (right,) = (line for line in text.splitlines() if line.startswith("mechanism: "))
    with pytest.raises(CollectionError) as caught:
        parse_collection(text.replace(right, f"mechanism: {wrong}"), source="file.yaml")
    (found,) = caught.value.problems
    assert found.startswith(f"file.yaml:2:19: mechanism.kind: {problem}")


def test_a_mapping_in_place_of_text_is_refused() -> None:
    text: Any = {"collection": "care-survey"}
    with pytest.raises(TypeError, match="parse_collection: give the text of a collection file, not a dict"):
        parse_collection(text)


@pytest.mark.parametrize("text", [RECORDS, SETS])
def test_without_a_mechanism_the_other_keys_tell_the_kind(text: str) -> None:
    lines = [line for line in text.splitlines() if not line.startswith("mechanism: ")]
    with pytest.raises(CollectionError) as caught:
        parse_collection("\n".join(lines))
    assert caught.value.problems == ("<collection>:1:1: mechanism: this key is required",)


def test_a_key_of_a_part_that_other_kinds_have_is_reported_which() -> None:
    with pytest.raises(CollectionError) as caught:
        parse_collection(RECORDS.replace("{name: bathing,", "{name: bathing, step: 1,"))
    (found,) = caught.value.problems
    assert found.endswith(".step: this key needs `mechanism: {kind: sampled}`")


def test_a_key_that_the_mechanism_has_in_other_files_is_reported_without_which_keys() -> None:
    with pytest.raises(CollectionError, match=r"mean: this key needs .*kind: sampled}` without mechanism\.ask\n"):
        parse_collection(
            "collection: ages\nmechanism: {kind: sampled, epsilon: 2, ask: pairs, mean: minimax}\n"
            "attributes: [{name: a, values: [no, yes]}, {name: b, values: [no, yes]}]\nwindow: {size: 60s}\n"
        )


def test_a_key_of_another_kind_beside_the_own_ones_is_unknown() -> None:
    with pytest.raises(CollectionError, match="items: unknown key"):
        parse_collection(RECORDS + "items: {size: 16}\n")
