"""Where tests find the files beside them."""

import json
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]

#: Golden vectors: what no release may change.
GOLDEN = REPOSITORY / "tests" / "golden"

#: Real data to measure accuracy on, which is not part of the repository; tests skip where it is absent.
DATA = REPOSITORY.parent / "shared" / "data"


def vectors(name: str) -> Any:
    """Read golden vectors; most are a list of JSON objects."""
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
