"""Where tests find the files beside them."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

#: Golden vectors: what no release may change.
GOLDEN = REPOSITORY / "tests" / "golden"

#: Real data to measure accuracy on, which is not part of the repository; tests skip where it is absent.
DATA = REPOSITORY.parent / "shared" / "data"
