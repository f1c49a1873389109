"""A reporter that talks to a broker in memory, and what it is given to report."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.settings import Settings
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from tests.client.examples import collection_of

SECRET = bytes(range(32))
RECORD = {"bathing": "no", "mobility": "some"}
SETTINGS = Settings.load(brokers="nowhere:1")


def reporter(collection: Any = None, **options: Any) -> Reporter:
    """Make a reporter of a user without a budget, if the test gives no ledger."""
    secret = options.setdefault("secret", SECRET)
    defaults: dict[str, Any] = {"ledger": secret and unlimited(secret), "linger": 3600.0, "clock": lambda: 0}
    return Reporter(collection or collection_of(), settings=SETTINGS, **(defaults | options))


def unlimited(secret: bytes) -> PrivacyLedger:
    """Make a ledger that only counts."""
    return PrivacyLedger.in_memory(secret=secret, terms=Terms(budget=math.inf, linked=True))


def users(n: int) -> NDArray[np.int64]:
    return np.zeros((n, 2), dtype=np.int64)
