"""Read the subject of an audit: a collection file, or a mechanism in one word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from stream_ldp.audit.one_report import OneReport
from stream_ldp.audit.record_mechanism import AuditedRecords
from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import load_collections
from stream_ldp.collection.located import suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.kinds import KINDS, kind_of
from stream_ldp.ledger.ledger import charged
from stream_ldp.mechanisms import Mechanism, PermanentWords
from stream_ldp.mechanisms.notation import EXAMPLES, read_mechanism

if TYPE_CHECKING:
    from stream_ldp.audit.audited import AuditSubject


def read_file(path: Path) -> dict[str, Any]:
    """Read a collection file as data in which every scalar is text, without the code that reads collections."""
    document: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506
    return document


def read(subject: str) -> AuditSubject:
    """Read a collection file or a mechanism, or end the command with what is wrong with it."""
    kind, colon, _ = subject.partition(":")
    if Path(subject).exists() or not (colon or kind in EXAMPLES):
        (collection,) = load_collections([Path(subject)]).values()
        audited: AuditSubject = kind_of(collection).claims(collection)
        return audited
    owner = next((known.name for known in KINDS.values() if kind in known.mechanisms), None)
    if kind not in EXAMPLES and owner is not None:
        fail(
            f"{subject}: {kind} is a mechanism of collections of {owner}: write it in a collection file, and audit "
            "that",
            code=2,
        )
    if kind not in EXAMPLES:
        fail(f"{subject}: no such file, and {kind!r} is no mechanism{suggestion(kind, EXAMPLES)}", code=2)
    try:
        mechanism = read_mechanism(subject)
    except ParameterError as error:
        fail(f"{subject}: {error}", code=2)
    if not isinstance(mechanism, Mechanism):
        return OneReport(randomizer=mechanism)
    attributes = [(str(place), [str(value) for value in range(size)]) for place, size in enumerate(mechanism.sizes)]
    words = PermanentWords(
        collection=subject,
        attributes=attributes,
        noise=mechanism.noise,
        counts=mechanism.words,
        by_value=mechanism.keyed_by_value,
    )
    return AuditedRecords(mechanism=mechanism, words=words, charged=charged)
