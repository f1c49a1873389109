"""The files of every kind: the keys that all have in common, what changes the meaning of reports, and the schema."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from stream_ldp.collection import CollectionError
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.pipeline.kind import Kind
from stream_ldp.schemas.collection_file import collection_file_schema
from tests.kinds.subjects import WINDOW, Subject
from tests.schemas.test_collection_file import seen_by_an_editor

NOT_A_DURATION = "is not a duration; write a whole number and a unit, such as 500ms, 60s, 5m, 2h or 1d"

#: A text of every file, a wrong one, the column of the fault from the text's, and what is said of it.
FAULTS = [
    ("collection: ", "collection: Care Survey # ", 12, "collection: use at most 63 lower-case letters, digits"),
    ("collection: ", "collection: survey\x07", 18, "not YAML: character U+0007 is not allowed"),
    ("collection: ", "window: {size: 5s}\ncollection: ", None, "key 'window' is given twice"),
    ("collection: ", "sample: 0\ncollection: ", None, "sample: "),
    (WINDOW, "", None, "window: this key is required, such as `window: {size: 60s}`"),
    (WINDOW, "window: soon", 8, "window: expected keys such as `size:`"),
    ("size: 10s", "size: 10", 6, f"window.size: '10' {NOT_A_DURATION}"),
    ("size: 10s", "size: -5s", 6, f"window.size: '-5s' {NOT_A_DURATION}"),
    ("size: 10s", "size: 0s", 6, "window.size: it should be greater than 0"),
    ("size: 10s", "size: 99999999d", 6, "window.size: '99999999d' is too long; at most 36600d"),
    ("size: 10s", "size: 10s, size: 9s", 11, "key 'size' is given twice"),
    ("grace: 1s", "grace: never", 7, f"window.grace: 'never' {NOT_A_DURATION}"),
    ("idle_timeout: 5s", "idle_timeout: 0s", 14, "window.idle_timeout: it should be greater than 0"),
    ("idle_timeout: 5s", "idletimeout: 5s", 0, "window.idletimeout: unknown key; did you mean 'idle_timeout'?"),
    ("idle_timeout: 5s", "hop: 7s", None, "window.hop: "),
    ("idle_timeout: 5s", "memory: 1", 8, "window.memory: it should be less than or equal to 0.99"),
]


def test_every_fault_in_a_common_key_is_found_and_located(subject: Subject) -> None:
    for right, wrong, place, problem in FAULTS:
        before = subject.text[: subject.text.index(right)]
        with pytest.raises(CollectionError) as caught:
            parse_collection(subject.text.replace(right, wrong, 1), source="file.yaml")
        found = [each for each in caught.value.problems if problem in each]
        assert found, (wrong, caught.value.problems)
        if place is not None:
            line = before.count("\n") + 1
            column = len(before.rpartition("\n")[2]) + place + 1
            assert found[0].startswith(f"file.yaml:{line}:{column}: ")


def test_a_collection_is_rebuilt_unchanged_from_its_document(collection: Any) -> None:
    again = type(collection).model_validate(collection.document)
    assert again == collection
    assert again.fingerprint == collection.fingerprint


def test_what_changes_the_meaning_of_reports_changes_the_fingerprint(subject: Subject, collection: Any) -> None:
    renamed = subject.text.replace(f"collection: {collection.name}", "collection: another")
    meant = {parse_collection(text).fingerprint for text in (renamed, subject.text.replace(*subject.another))}
    assert len(meant | {collection.fingerprint}) == 3


def test_when_windows_close_does_not_change_the_fingerprint(subject: Subject, collection: Any) -> None:
    later = subject.text.replace(WINDOW, "window: {size: 10s, grace: 2s, idle_timeout: 6s, ahead: 1s, max_age: 2d}")
    assert later != subject.text
    assert parse_collection(later).fingerprint == collection.fingerprint


def test_the_schema_for_editors_takes_what_the_parser_takes(
    subject: Subject, collection: Any, kind: Kind[Any, Any, Any]
) -> None:
    """The schema is that of the kinds in the table, which has the toy's during this test."""
    validator = Draft202012Validator(collection_file_schema())
    assert kind_of(collection) is kind
    assert validator.is_valid(seen_by_an_editor(subject.text))
    assert not validator.is_valid(seen_by_an_editor(subject.text.replace(*subject.misspelt, 1)))
    assert not validator.is_valid(seen_by_an_editor(subject.text.replace(WINDOW, "")))
