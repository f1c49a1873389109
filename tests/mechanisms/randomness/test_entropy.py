"""A client's noise comes from the operating system, in bulk, unless another source is handed to it."""

import ast
import inspect
import itertools
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_ldp
from stream_ldp.cli.report import report
from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.settings import Settings
from stream_ldp.mechanisms import (
    RESOLUTION,
    RRLDP,
    DirectResponse,
    FrequencyOracle,
    GivenWords,
    HadamardResponse,
    OSEntropy,
    PermanentWords,
    SeededEntropy,
    SetHadamardResponse,
    UnaryResponse,
    new_secret,
    random_words,
)
from stream_ldp.records.collection import JointCollection

PACKAGE = Path(stream_ldp.__file__).parent

#: Names by which a generator with a seed, or one that is not meant for secrets, comes into a module.
PREDICTABLE = {"SeededEntropy", "default_rng", "Generator", "PCG64", "RandomState", "random"}

COLLECTION = """
collection: survey
mechanism: {kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}
attributes: [{name: answer, values: [no, yes]}]
window: {size: 60s}
estimates: [{name: answer, of: [answer]}]
"""


@pytest.fixture
def system_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes asked for in each call of the operating system's generator."""
    calls: list[int] = []
    urandom = os.urandom

    def counting(size: int) -> bytes:
        calls.append(size)
        return urandom(size)

    monkeypatch.setattr(os, "urandom", counting)
    return calls


def test_each_stage_calls_the_systems_generator_once_for_a_few_users(system_calls: list[int]) -> None:
    """One for the permanent responses of all, one for the instantaneous ones, of 4 bytes for each bit."""
    mechanism = RRLDP(sizes=(2, 3), f=0.3, p=0.4, q=0.7)
    mechanism.perturb(np.zeros((100, 2), dtype=np.intp), entropy=OSEntropy())
    assert system_calls == [100 * 5 * 4] * 2


def test_a_stage_of_many_users_takes_a_third_of_the_words_in_a_few_calls(system_calls: list[int]) -> None:
    """A bit of every word is drawn in one call, and then what has not decided yet: at most one call for each bit."""
    mechanism = RRLDP(sizes=(2, 3), f=0.3, p=0.4, q=0.7)
    mechanism.perturb(np.zeros((10_000, 2), dtype=np.intp), entropy=OSEntropy())
    assert len(system_calls) <= 2 * 32
    assert sum(system_calls) < 2 * 10_000 * 5 * 4 / 3


@pytest.mark.parametrize(
    "oracle",
    [
        HadamardResponse(size=1000, epsilon=1.0, hash_bits=3),
        DirectResponse(size=30, dummies=10, epsilon=1.0),
        UnaryResponse(size=30, epsilon=1.0),
        SetHadamardResponse(size=1000, slots=3, epsilon=1.0, hash_bits=4),
    ],
    ids=lambda oracle: type(oracle).__name__,
)
def test_an_oracle_calls_the_systems_generator_a_few_times_for_all_values(
    oracle: FrequencyOracle, system_calls: list[int]
) -> None:
    """At most for rows, dummies, what is kept and what it is changed to, and a few words that are drawn again.

    The many bits of a unary response are compared bit by bit, with at most a call for each bit of a word.
    """
    oracle.perturb(np.arange(10_000) % (oracle.size + 5), entropy=OSEntropy())
    assert 1 <= len(system_calls) <= (32 if isinstance(oracle, UnaryResponse) else 8)
    assert max(system_calls) >= 10_000 * 4


def test_the_system_is_not_asked_for_words_that_a_secret_replaces(system_calls: list[int]) -> None:
    mechanism = RRLDP(sizes=(2,), f=0.5, p=0.5, q=0.75)
    words = PermanentWords(
        collection="survey", attributes=[("answer", ["no", "yes"])], noise=mechanism.noise, counts=mechanism.words
    )
    secrets = [new_secret() for _ in range(100)]
    values = np.zeros((100, 1), dtype=np.intp)
    system_calls.clear()
    mechanism.perturb(values, entropy=OSEntropy(), permanent_words=words.words_of(secrets, values))
    assert system_calls == [100 * 2 * 4]


def test_words_of_the_system_use_their_whole_range() -> None:
    """Every bit of 100,000 words is set in half of them. By chance, 32 deviations of that size come once in 10^10."""
    words = OSEntropy().words(100_000)
    assert words.dtype == np.uint32
    bits = np.unpackbits(words.view(np.uint8).reshape(-1, 4), axis=1).mean(axis=0)
    assert np.all(np.abs(bits - 0.5) < 7.2 * 0.5 / np.sqrt(100_000))


def test_a_reporter_draws_its_noise_from_the_operating_system_by_default() -> None:
    reporter = Reporter(JointCollection.parse(COLLECTION), settings=Settings.load())
    assert isinstance(reporter._entropy, OSEntropy)


@pytest.mark.parametrize("callable_", [Reporter.__init__, report])
def test_no_seed_can_be_given_to_what_runs_in_production(callable_: object) -> None:
    names = inspect.signature(callable_).parameters  # type: ignore[arg-type]
    assert not [name for name in names if "seed" in name]
    assert not [name for name in Settings.model_fields if "seed" in name or "random" in name]


#: A program that lets every kind of client report, and prints the modules whose functions it has entered.
VISITED = """
import asyncio, runpy, sys, threading
import stream_ldp
for name in stream_ldp.__all__:
    getattr(stream_ldp, name)
run, seen = asyncio.run, set()
def note(frame, *_):
    seen.add(str(frame.f_globals.get("__name__")))
def noted(work):
    threading.setprofile(note)
    sys.setprofile(note)
    run(work)
    sys.setprofile(None)
asyncio.run = noted
sys.argv.pop(0)
runpy.run_path(sys.argv[0])
print(*(name for name in seen if name.split(".")[0] == "stream_ldp"))
"""


def test_no_report_visits_a_predictable_generator(tmp_path: Path) -> None:
    """In all the modules that reports visit, and the report command, only the seeded class itself may be."""
    clients = Path(__file__).parents[2] / "client" / "small_machine.py"
    done = subprocess.run(
        [sys.executable, "-c", VISITED, clients, tmp_path], capture_output=True, text=True, check=True
    )
    visited = done.stdout.splitlines()[-1].split()
    assert {"stream_ldp.mechanisms.rr_ldp", "stream_ldp.sets.sampling"} <= {*visited}
    named = {name for name in {*visited, "stream_ldp.cli.report"} if _names(_source(name)) & PREDICTABLE}
    assert named == {"stream_ldp.mechanisms.randomness.entropy"}


def test_a_seed_repeats_a_simulation() -> None:
    assert np.array_equal(SeededEntropy(3).words(1_000), SeededEntropy(3).words(1_000))
    assert not np.array_equal(SeededEntropy(3).words(1_000), SeededEntropy(4).words(1_000))


#: The edges of a word's range, where a comparison that is off by one, or a cast, shows.
EDGES = [0, 1, 2, RESOLUTION - 2, RESOLUTION - 1, RESOLUTION]

words_ = st.one_of(st.sampled_from(EDGES[:-1]), st.integers(0, RESOLUTION - 1))


def given_words(*words: int) -> GivenWords:
    return GivenWords(np.array(words, dtype=np.uint32))


@given(word=words_, threshold=st.one_of(st.sampled_from(EDGES), st.integers(0, RESOLUTION)))
def test_as_many_words_are_below_a_threshold_as_it_says(word: int, threshold: int) -> None:
    for near in {threshold, min(word, RESOLUTION), min(word + 1, RESOLUTION)}:
        assert given_words(word).below(np.array([[near]])).tolist() == [[word < near]]
        assert given_words(word).below(np.array([[near]], dtype=np.uint64)).tolist() == [[word < near]]


@given(word=words_, zero=st.sampled_from(EDGES), one=st.sampled_from(EDGES), state=st.booleans())
def test_a_response_compares_its_word_with_the_threshold_of_its_state(
    word: int, zero: int, one: int, state: bool
) -> None:
    response = given_words(word).responses(np.array([[state]]), zero=zero, one=one)
    assert response.tolist() == [[word < (one if state else zero)]]


@pytest.mark.parametrize("entropy", [SeededEntropy(1), OSEntropy()], ids=lambda entropy: type(entropy).__name__)
@pytest.mark.parametrize("size", [1_000, 500_000])
def test_responses_of_a_stream_have_their_probabilities_whether_they_are_few_or_many(
    entropy: SeededEntropy | OSEntropy, size: int
) -> None:
    """Six standard deviations, which chance exceeds once in 10^8 runs."""
    states = np.arange(size) % 3 == 0
    drawn = entropy.responses(states, zero=RESOLUTION // 5, one=RESOLUTION)
    assert drawn.shape == states.shape
    assert drawn[states].all()
    share, others = drawn[~states].mean(), np.count_nonzero(~states)
    assert abs(share - 0.2) < 6 * math.sqrt(0.2 * 0.8 / others)


@given(word=words_, size=st.one_of(st.sampled_from([1, 2, 3, 2**31, 2**32]), st.integers(1, RESOLUTION)))
def test_an_integer_is_the_remainder_of_a_word_below_the_last_whole_multiple(word: int, size: int) -> None:
    """So each of the size integers has the same number of words, and all other words are drawn again."""
    multiples = RESOLUTION // size * size
    expected = word % size if word < multiples else 5 % size
    assert given_words(word, 5).integers(np.array([size])).tolist() == [expected]


@pytest.mark.parametrize("size", [3, 7, 10, 1000])
def test_the_last_word_that_counts_and_the_first_that_is_drawn_again(size: int) -> None:
    multiples = RESOLUTION // size * size
    assert given_words(multiples - 1).integers(np.array([size])).tolist() == [size - 1]
    assert given_words(multiples, 1).integers(np.array([size])).tolist() == [1]


def test_a_word_drawn_again_goes_to_the_user_it_was_drawn_for() -> None:
    """2^32 is 1 more than a multiple of 3 and 4 more than one of 6: of the sizes, the last word does for 2 alone."""
    sizes = np.array([2, 3, 6, 3])
    last = RESOLUTION - 1
    assert given_words(last, last, last, 4, last, 8, 5).integers(sizes).tolist() == [1, 2, 2, 1]


@given(st.lists(st.one_of(st.integers(1, 40), st.just(RESOLUTION)), max_size=50), st.integers(0, 2**32))
def test_every_integer_is_within_its_range(sizes: list[int], seed: int) -> None:
    drawn = SeededEntropy(seed).integers(np.array(sizes, dtype=np.int64))
    assert drawn.dtype == np.int64
    assert len(drawn) == len(sizes)
    assert all(0 <= value < size for value, size in zip(drawn.tolist(), sizes, strict=True))


@pytest.mark.parametrize("size", [0, -1, RESOLUTION + 1])
def test_an_empty_or_too_large_range_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 2\\^32 integers, got sizes from {min(size, 5)} to {max(size, 5)}"):
        SeededEntropy(0).integers(np.array([5, size]))


@given(word=words_, others=st.integers(1, 1000), run=st.integers(0, 2**20))
def test_a_shift_has_as_many_words_as_any_other(word: int, others: int, run: int) -> None:
    kept = RESOLUTION - others * run
    expected = 0 if word < kept else 1 + (word - kept) // run
    assert given_words(word).shifts(np.array([kept]), np.array([others])).tolist() == [expected]
    assert 0 <= expected <= others


def test_shifts_that_cannot_be_shared_out_evenly_are_refused() -> None:
    with pytest.raises(ValueError, match="must be a multiple of the others"):
        given_words(0).shifts(np.array([RESOLUTION - 4]), np.array([3]))


@given(word=words_, cuts=st.lists(st.integers(0, RESOLUTION), max_size=4))
def test_a_choice_is_the_first_outcome_that_ends_beyond_the_word(word: int, cuts: list[int]) -> None:
    ends = [*sorted(cuts), RESOLUTION]
    expected = next(outcome for outcome, end in enumerate(ends) if word < end)
    assert given_words(word).outcomes(np.array([ends])).tolist() == [expected]


def test_outcomes_that_leave_words_over_are_refused() -> None:
    with pytest.raises(ValueError, match=r"ends at 2\^32"):
        given_words(0).outcomes(np.array([[5, RESOLUTION - 1]]))


@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_order_of_a_groups_words_leaves_another_subset_equally_often(most: int) -> None:
    sizes = np.array([1, 4])
    found = Counter(
        tuple(given_words(*(() if most >= 4 else order)).subsets(sizes, most).tolist())
        for order in itertools.permutations((3, 5, 8, 9))
    )
    assert len(found) == math.comb(4, most)
    assert len(set(found.values())) == 1
    assert all(sum(subset[1:]) == most and subset[0] for subset in found)


def test_equal_words_of_a_group_are_drawn_again_and_those_of_others_are_kept() -> None:
    """In the order of equal words, the first member would always be the first."""
    chosen = given_words(7, 7, 1, 2, 9, 4).subsets(np.array([2, 2]), 1)
    assert chosen.tolist() == [False, True, True, False]


def test_no_more_words_are_taken_than_were_given() -> None:
    with pytest.raises(ValueError, match="3 words are needed, 2 of the given 2 are left"):
        given_words(1, 2).below(np.array([1, 2, 3]))


def _source(module: str) -> str:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def _names(source: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update(part for alias in aliases for part in alias.name.split("."))
    return names


def test_random_words_are_the_words_of_the_source() -> None:
    given_words = np.array([0, 2**32 - 1, 5], dtype=np.uint32)
    assert random_words(3, entropy=GivenWords(given_words)).tolist() == given_words.tolist()
    assert random_words(3, entropy=SeededEntropy(1)).tolist() == SeededEntropy(1).words(3).tolist()
