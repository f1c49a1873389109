"""A reporter of one user's item sets that talks to a broker in memory, and the user's secret and terms."""

import math
from typing import Any

from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.settings import Settings
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from tests.client.items import Timeline, films, secret_asked_in

SETTINGS = Settings.load(brokers="nowhere:1")
#: The secret of a user whom the second phase asks.
SECRET = secret_asked_in(2)
UNLIMITED = Terms(budget=math.inf)


def reporter(timeline: Timeline, *, ledger: PrivacyLedger | None = None, **options: Any) -> Reporter:
    """Make a reporter in a timeline's time, of a user without a budget unless the test gives a ledger or terms."""
    secret = options.pop("secret", SECRET)
    ledger = ledger or PrivacyLedger.in_memory(secret=secret, terms=options.pop("terms", UNLIMITED))
    collection = options.pop("collection", films())
    return Reporter(collection, settings=SETTINGS, secret=secret, ledger=ledger, clock=timeline, **options)
