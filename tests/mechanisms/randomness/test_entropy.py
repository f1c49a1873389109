"""Where a client's noise comes from: the operating system, in bulk, unless another source is handed to it."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stream_ldp
from stream_ldp.cli.report import report
from stream_ldp.client import Reporter
from stream_ldp.kafka.settings import Settings
from stream_ldp.mechanisms import (
    RRLDP,
    DirectResponse,
    FrequencyOracle,
    HadamardResponse,
    OSEntropy,
    PermanentWords,
    SeededEntropy,
    SetHadamardResponse,
    UnaryResponse,
    new_secret,
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


def test_each_stage_calls_the_systems_generator_once_for_all_users(system_calls: list[int]) -> None:
    """One for the permanent responses of all, one for the instantaneous ones, of 4 bytes for each bit."""
    mechanism = RRLDP(sizes=(2, 3), f=0.5, p=0.5, q=0.75)
    mechanism.perturb(np.zeros((10_000, 2), dtype=np.intp), entropy=OSEntropy())
    assert system_calls == [10_000 * 5 * 4] * 2


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
    """At most for rows, dummies, what is kept and what it is changed to, and a few words that are drawn again."""
    oracle.perturb(np.arange(10_000) % (oracle.size + 5), entropy=OSEntropy())
    assert 1 <= len(system_calls) <= 8
    assert max(system_calls) >= 10_000 * 4


def test_the_system_is_not_asked_for_words_that_a_secret_replaces(system_calls: list[int]) -> None:
    mechanism = RRLDP(sizes=(2,), f=0.5, p=0.5, q=0.75)
    words = PermanentWords(
        collection="survey", attributes=[("answer", ["no", "yes"])], flip_threshold=mechanism.flip_threshold
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


def test_nothing_that_a_client_imports_uses_a_predictable_generator() -> None:
    """In all the modules that the client loads, and the report command, only the seeded class itself may."""
    listing = "import sys, stream_ldp.client; print(*(n for n in sys.modules if n.split('.')[0] == 'stream_ldp'))"
    loaded = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "stream_ldp.mechanisms.rr_ldp" in loaded
    named = {name for name in {*loaded, "stream_ldp.cli.report"} if _names(_source(name)) & PREDICTABLE}
    assert named == {"stream_ldp.mechanisms", "stream_ldp.mechanisms.randomness.entropy"}


def test_a_seed_repeats_a_simulation() -> None:
    assert np.array_equal(SeededEntropy(3).words(1_000), SeededEntropy(3).words(1_000))
    assert not np.array_equal(SeededEntropy(3).words(1_000), SeededEntropy(4).words(1_000))


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
