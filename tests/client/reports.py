"""A reporter that talks to a broker in memory, and what it is given to report."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.client import Reporter
from stream_ldp.kafka.settings import Settings
from stream_ldp.records.collection import JointCollection
from tests.client.examples import collection_of

__all__ = ["RECORD", "SECRET", "SETTINGS", "reporter", "users"]

SECRET = bytes(range(32))
RECORD = {"bathing": "no", "mobility": "some"}
SETTINGS = Settings.load(brokers="nowhere:1")


def reporter(collection: JointCollection | None = None, **options: Any) -> Reporter:
    defaults: dict[str, Any] = {"secret": SECRET, "linger": 3600.0, "clock": lambda: 0}
    return Reporter(collection or collection_of(), settings=SETTINGS, **(defaults | options))


def users(n: int) -> NDArray[np.int64]:
    return np.zeros((n, 2), dtype=np.int64)
