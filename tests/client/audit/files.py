"""Collection files as the audit of clients reads them: as data of which every scalar is text."""

import tempfile
from pathlib import Path
from typing import Any

import yaml

from stream_ldp.client.audit.reporter import Auditor
from stream_ldp.kinds import kind_of, parse_collection


def data(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)
    return found


def auditor_of(text: str, directory: Path) -> Auditor:
    """Return an auditor of the reporter of a file, with a new directory within this one."""
    collection = parse_collection(text)
    client: Any = kind_of(collection).specified(data(text), collection.meaning)
    return Auditor(collection, client, Path(tempfile.mkdtemp(dir=directory)))
