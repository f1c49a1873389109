"""Every test of ledgers may have one in a file."""

from pathlib import Path

import pytest

from stream_ldp.ledger.ledger_file import PrivacyLedger
from tests.ledger.ledgers import SECRET, UNLIMITED


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Create a ledger and return its file."""
    path = tmp_path / "user" / "secret.ledger"
    path.parent.mkdir()
    PrivacyLedger.create(path, secret=SECRET, terms=UNLIMITED)
    return path
