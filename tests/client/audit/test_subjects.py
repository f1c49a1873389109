"""The audit knows what to expect of each kind of records, and finds sampled reporters that do something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from stream_ldp.client.audit.reporter import Auditor, audit_reporter
from stream_ldp.client.audit.subjects import JointSubject, PlaceSubject, SampledSubject, StringSubject, Subject
from stream_ldp.client.reporter import Reporter
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import SECRET_BYTES
from tests.client.examples import collection_of
from tests.places import examples as places
from tests.strings import examples as strings
from tests.views.examples import collection_of as views_collection

TEXT = """
collection: health
mechanism: {kind: sampled, epsilon: 2}
attributes:
  - {name: diet, values: [fish, meat, none]}
  - {name: age, range: [0, 120]}
  - {name: town, candidates: [york, leeds]}
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""
HEALTH = SampledCollection.parse(TEXT)


def auditor(directory: Path) -> Auditor:
    return Auditor(SampledSubject(HEALTH), directory)


@pytest.mark.parametrize(
    "subject",
    [JointSubject(collection_of()), SampledSubject(HEALTH), StringSubject(strings.collection_of())],
    ids=["joint", "sampled", "strings"],
)
def test_the_last_record_differs_from_the_first_in_all(subject: Subject) -> None:
    first, last = subject.records[0], subject.records[-1]
    assert all(one != other for one, other in zip(first, last, strict=True))
    secret = bytes(SECRET_BYTES)
    assert subject.row(first, secret, subject.noises[0]) == subject.row(
        subject.unasked(first, secret), secret, subject.noises[0]
    )


async def test_a_reporter_that_perturbs_its_answer_again_breaks_no_promise(tmp_path: Path) -> None:
    collection = SampledCollection.parse(
        "collection: health\nmechanism: {kind: sampled, epsilon: 4, per_report: 2}\n"
        "attributes: [{name: diet, values: [fish, meat, none]}]\nwindow: {size: 10s}\n"
    )
    assert [each for each in await audit_reporter(SampledSubject(collection), tmp_path) if each.problem] == []


async def test_a_reporter_of_a_bloom_filter_with_a_second_noise_breaks_no_promise(tmp_path: Path) -> None:
    """The ledger charges the first report with all that further ones will show."""
    collection = SampledCollection.parse(
        "collection: sites\nmechanism: {kind: sampled, epsilon: 4, oracle: rappor, hashes: 2, p: 0.25, q: 0.75}\n"
        "attributes: [{name: site, candidates: [a, b, c]}]\nwindow: {size: 10s}\n"
    )
    assert [each for each in await audit_reporter(SampledSubject(collection), tmp_path) if each.problem] == []


async def test_honest_sampled_reporters_break_no_promise(tmp_path: Path) -> None:
    """It fails by chance in 4 of 10^6 runs."""
    found = await audit_reporter(SampledSubject(HEALTH), tmp_path)
    assert [each for each in found if each.problem is not None] == []


async def test_honest_reporters_of_views_break_no_promise(tmp_path: Path) -> None:
    """It fails by chance in 4 of 10^6 runs."""
    found = await audit_reporter(SampledSubject(views_collection()), tmp_path)
    assert [each for each in found if each.problem is not None] == []


rows = Reporter._rows


def patched(monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]) -> None:
    monkeypatch.setattr(Reporter, "_rows", change)


def afresh(self: Reporter, table: Any, *, memoises: bool, **options: Any) -> Any:
    return rows(self, table, memoises=False, **options)


async def test_a_reporter_that_answers_afresh_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    patched(monkeypatch, afresh)
    assert await auditor(tmp_path).permanence() != []


async def test_a_reporter_that_asks_another_question_every_time_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def asks(self: Reporter, table: Any, *, secrets: Any, memoises: bool, **options: Any) -> Any:
        return rows(self, table, secrets=None, memoises=False, **options)

    patched(monkeypatch, asks)
    assert await auditor(tmp_path).permanence() != []


async def test_a_reporter_whose_row_depends_on_what_is_not_asked_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def tells(self: Reporter, table: Any, *, secrets: Any, **options: Any) -> Any:
        made = rows(self, table, secrets=secrets, **options)
        odd = np.array([crc32(repr(record).encode()) & 1 for record in table.tolist()], dtype=np.uint8)
        return np.concatenate([made[:, :-1], made[:, -1:] ^ odd[:, None]], axis=1) if secrets else made

    patched(monkeypatch, tells)
    assert await auditor(tmp_path).silence() != []


async def test_a_ledger_that_charges_too_little_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Reporter, "_charged", lambda *_, **__: ())
    assert await auditor(tmp_path).charges() != []


@pytest.mark.parametrize(
    "subject",
    [
        StringSubject(strings.collection_of()),
        StringSubject(strings.collection_of("epsilon: 0.5", "length: 1")),
        StringSubject(strings.collection_of("epsilon: 3, method: rappor-unknown", "length: 3, alphabet: aé")),
        PlaceSubject(places.collection_of()),
    ],
    ids=["letters", "one byte", "pairs of letters", "places"],
)
async def test_honest_reporters_of_strings_and_places_break_no_promise(subject: Subject, tmp_path: Path) -> None:
    """It fails by chance in 16 of 10^6 runs."""
    assert [each for each in await audit_reporter(subject, tmp_path) if each.problem is not None] == []


def test_a_string_has_another_end_where_its_beginning_is_asked_about() -> None:
    subject = StringSubject(strings.collection_of())
    others = {subject.unasked(subject.records[-1], bytes([user] * SECRET_BYTES)) for user in range(20)}
    assert len(others) > 1
    assert subject.records[-1] in others, "some users are asked about the whole string"


@pytest.mark.parametrize(
    "subject",
    [StringSubject(strings.collection_of()), PlaceSubject(places.collection_of())],
    ids=["strings", "places"],
)
async def test_reporters_of_strings_and_places_that_answer_afresh_or_beside_the_ledger_are_found(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        patched(patch, afresh)
        assert await Auditor(subject, tmp_path).permanence() != []
    monkeypatch.setattr(Reporter, "_charged", lambda *_, **__: ())
    (charged := tmp_path / "charged").mkdir()
    assert await Auditor(subject, charged).charges() != []


async def test_a_reporter_of_strings_whose_row_depends_on_an_end_that_is_not_asked_about_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def tells(self: Reporter, table: Any, **options: Any) -> Any:
        made = rows(self, table, **options)
        made[:, -1] ^= np.array([crc32(bytes(string)) & 1 for string in table.tolist()], dtype=np.uint8)
        return made

    patched(monkeypatch, tells)
    assert await Auditor(StringSubject(strings.collection_of()), tmp_path).silence() != []
