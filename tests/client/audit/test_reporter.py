"""An honest reporter keeps all that the audit looks for, and one that does not is found by what it breaks."""

import dataclasses
import itertools
import logging
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_ldp.cli.audit import audit_clients
from stream_ldp.client import batcher, outbox
from stream_ldp.client.audit.reporter import Auditor
from stream_ldp.client.audit.seen import frame_problems
from stream_ldp.client.audit.sending import SETTINGS
from stream_ldp.client.perturber import Perturber
from stream_ldp.kafka.producer import Record
from stream_ldp.kinds import parse_collection
from stream_ldp.mechanisms import OSEntropy, SeededEntropy
from stream_ldp.mechanisms.randomness.permanent import KeyedWords
from stream_ldp.questions import reports as answers
from tests.client.audit.files import auditor_of, data

SURVEY = """
collection: care-survey
mechanism: {MECHANISM}
attributes: [{name: bathing, values: [no, yes]}, {name: mobility, values: [none, some, full]}]
window: {size: 10s, grace: 2s}
estimates: [{name: mobility, of: [mobility]}]
"""
RAPPOR = "kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75"
HEALTH = """
collection: health
mechanism: {kind: sampled, MECHANISM}
attributes: [{name: diet, values: [fish, meat, none]}, {name: age, range: [0, 120]},
             {name: town, candidates: [york, leeds]}]
window: {size: 10s, grace: 2s}
"""
WORDS = """
collection: words
mechanism: {kind: strings, MECHANISM}
string: {name: word, length: 3, alphabet: abc}
window: {size: 10s}
"""
VISITS = """
collection: visits
mechanism: {kind: places, epsilon: [0.5, 2]}
places: {north: [a, b], south: [c, d, e]}
window: {size: 10s}
"""


def with_mechanism(text: str, mechanism: str) -> str:
    return text.replace("MECHANISM", mechanism)


LINKED = with_mechanism(SURVEY, RAPPOR) + "linked: 1h\nsample: 0.5\n"


EVERY_OPTION = {
    "fresh noise": with_mechanism(SURVEY, "kind: k-rr, epsilon: 3, per_report: 1"),
    "linked": LINKED,
    "Bloom filters": with_mechanism(HEALTH, "epsilon: 4, oracle: rappor, hashes: 2, p: 0.25, q: 0.75"),
    "pairs of letters": with_mechanism(WORDS, "epsilon: 3, method: rappor-unknown"),
}


# Rows of linked reports are looked at by their whole audit, below.
@pytest.mark.parametrize("name", [name for name in EVERY_OPTION if name != "linked"])
async def test_rows_of_an_honest_reporter_with_every_option_are_those_of_the_specification(
    name: str, tmp_path: Path
) -> None:
    auditor = auditor_of(EVERY_OPTION[name], tmp_path)
    assert [*auditor.meaning(), *await auditor.rows(), *await auditor.permanence(), *await auditor.afresh()] == []


@pytest.mark.parametrize(
    "text",
    # What is beside the rows is quickly held to the specification by the files of every kind.
    [
        pytest.param(text, id=name, marks=[] if name == "linked" else pytest.mark.long)
        for name, text in EVERY_OPTION.items()
    ],
)
async def test_an_honest_reporter_with_every_option_breaks_no_promise(text: str, tmp_path: Path) -> None:
    """It fails by chance in 5 of 10^6 runs."""
    found = await audit_clients(parse_collection(text), data(text), tmp_path)
    assert [each for each in found if each.problem is not None] == []


Patch = Callable[[pytest.MonkeyPatch], None]
rows = Perturber.rows


def reporting(change: Callable[..., Any]) -> Patch:
    return lambda patch: patch.setattr(Perturber, "rows", change)


def afresh(self: Any, table: Any, *, memoises: bool, **options: Any) -> Any:
    return rows(self, table, memoises=False, **options)


def memoised(self: Any, table: Any, *, memoises: bool, **options: Any) -> Any:
    return rows(self, table, memoises=True, **options)


def lifetime(self: Any, table: Any, *, time_ms: int, **options: Any) -> Any:
    return rows(self, table, time_ms=0, **options)


def without_what_is_held(patch: pytest.MonkeyPatch) -> None:
    # What is imported when it is first read would keep what is patched.
    import_module("stream_ldp.places.questions")
    import_module("stream_ldp.questions.reports")

    def held_words(collection: Any, number: int, user: Any, *, key: bytes) -> Any:
        return KeyedWords(key, person=b"stream-ldp ans 1", data=collection.fingerprint)

    patch.setattr(answers, "held_words", held_words)


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        (with_mechanism(SURVEY, RAPPOR), reporting(afresh)),
        (with_mechanism(HEALTH, "epsilon: 2"), reporting(afresh)),
        (with_mechanism(HEALTH, "epsilon: 2"), without_what_is_held),
        (VISITS, without_what_is_held),
    ],
    ids=["records afresh", "answers afresh", "answers without what is held", "places without what is held"],
)
async def test_rows_that_the_secret_and_the_record_do_not_make_are_found(
    text: str, broken: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    assert await auditor_of(text, tmp_path).rows() != []


async def test_fresh_noise_that_repeats_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Perturber, "rows", memoised)
    assert await auditor_of(with_mechanism(HEALTH, "epsilon: 2"), tmp_path).afresh() != []


async def test_a_pseudonym_for_ever_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Perturber, "rows", lifetime)
    assert await auditor_of(LINKED, tmp_path).rows() != []


def charging(change: Callable[..., Any]) -> Patch:
    return lambda patch: patch.setattr(Perturber, "charges", change)


charged = Perturber.charges


def half_of_several(self: Any, table: Any, **options: Any) -> Any:
    return charged(self, table[:1], **options)


async def charges(auditor: Auditor) -> list[str]:
    return [*await auditor.charges(), *await auditor.charges_of_many(), *await auditor.charges_after_a_change()]


@pytest.mark.parametrize(
    "text",
    [
        with_mechanism(SURVEY, RAPPOR),
        VISITS,
        pytest.param(with_mechanism(WORDS, "epsilon: 2"), marks=pytest.mark.long),
    ],
)
async def test_a_ledger_that_charges_too_little_is_found(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await charges(auditor_of(text, tmp_path)) == []
    monkeypatch.setattr(Perturber, "charges", lambda *_, **__: ())
    assert await charges(auditor_of(text, tmp_path)) != []


async def test_several_reports_that_are_charged_as_one_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Perturber, "charges", half_of_several)
    assert await auditor_of(with_mechanism(SURVEY, RAPPOR), tmp_path).charges() != []


async def test_a_changed_value_that_is_sent_unasked_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = with_mechanism(SURVEY, RAPPOR)
    assert await auditor_of(text, tmp_path).refusals() == []
    monkeypatch.setattr("stream_ldp.ledger.ledger_file.check_terms", lambda *_, **__: None)
    assert await auditor_of(text, tmp_path).refusals() != []


def framed(**changes: Any) -> Patch:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        def record(**given: Any) -> Record:
            return Record(**{**given, **{name: make(given[name]) for name, make in changes.items()}})

        monkeypatch.setattr(outbox, "Record", record)

    return patch


def to_the_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_ldp.collection.collection.Window.rounded", lambda self, time_ms: time_ms)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (framed(time_ms=lambda time_ms: time_ms + 1), "time of a record"),
        (framed(headers=lambda headers: (*headers, ("pid", b"%d" % os.getpid()))), "headers"),
        (framed(key=lambda key: key[::-1]), "key"),
        (to_the_millisecond, "event time"),
    ],
)
async def test_a_record_that_says_more_than_the_specification_is_found(
    broken: Patch, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    text = with_mechanism(SURVEY, RAPPOR)
    auditor = auditor_of(text, tmp_path)
    await auditor.rows()
    found = frame_problems(
        auditor.seen.sent,
        topic=SETTINGS.topic_names.reports("care-survey"),
        window=data(text)["window"],
        fingerprints={parse_collection(text).fingerprint},
    )
    assert any(problem in each for each in found)


def seeded_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OSEntropy, "words", lambda self, n: SeededEntropy(n).words(n))


def counted_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count(2**127)
    original = batcher.batch_of

    def batch_of(*arguments: Any, **options: Any) -> Any:
        batch = original(*arguments, **options)
        return dataclasses.replace(batch, batch_id=next(numbers).to_bytes(16, "big"))

    monkeypatch.setattr(batcher, "batch_of", batch_of)


@pytest.mark.parametrize("broken", [seeded_noise, counted_ids])
async def test_randomness_of_another_source_than_the_system_is_found(
    broken: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = with_mechanism(SURVEY, RAPPOR)
    assert await auditor_of(text, tmp_path).source() == []
    broken(monkeypatch)
    assert await auditor_of(text, tmp_path).source() != []


@pytest.mark.parametrize("shown", [bytes.hex, repr, list], ids=["hexadecimal", "bytes", "numbers"])
async def test_a_log_that_has_a_secret_is_found(
    shown: Callable[[bytes], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def charged_aloud(self: Any, table: Any, *, secret: bytes, **options: Any) -> Any:
        logging.getLogger("stream_ldp.client.reporter").debug("charging %s", shown(secret))
        return charged(self, table, secret=secret, **options)

    monkeypatch.setattr(Perturber, "charges", charged_aloud)
    auditor = auditor_of(with_mechanism(SURVEY, RAPPOR), tmp_path)
    with auditor.log.kept():
        await auditor.permanence()
    assert list(auditor.texts()) != []


async def test_a_log_that_differs_with_the_record_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows_logged(self: Any, table: Any, **options: Any) -> Any:
        logging.getLogger("stream_ldp.client.reporter").debug("perturbing %s", np.asarray(table).tolist())
        return rows(self, table, **options)

    monkeypatch.setattr(Perturber, "rows", rows_logged)
    auditor = auditor_of(with_mechanism(SURVEY, RAPPOR), tmp_path)
    with auditor.log.kept():
        await auditor.surroundings()
    assert list(auditor.texts()) != []


async def test_the_files_of_an_audit_are_all_in_its_directory(tmp_path: Path) -> None:
    auditor = auditor_of(with_mechanism(SURVEY, RAPPOR), tmp_path)
    await auditor.permanence()
    assert list(auditor.files()) == []
    (directory,) = tmp_path.iterdir()
    assert {path.name.split("-")[0] for path in directory.iterdir()} == {"ledger", ".ledger", "user", ".user"}
