"""Live joint distributions and heavy hitters from locally private reports on Kafka.

An application does five things:

* `load_collection` reads a collection file, which says what is reported and how it is perturbed; `parse_collection`
  takes its text.
* `load_or_create_user` loads a user's secret, and the ledger of what the user's reports have cost; a `UserDatabase`
  has those of many users. `Terms` are what the user agrees to.
* A `Reporter` perturbs what is true of the user, and sends it.
* A `Subscriber` receives answers as they come.
* `query` fetches the answers that there are; asynchronous programs call `fetch_answers`.

`Settings` say where the brokers are. `Reporter` and `Subscriber` serve collections of every kind:

    collection           answer
    `JointCollection`    `Estimate`
    `ViewsCollection`    `Estimate`
    `SampledCollection`  `Marginals`
    `StringCollection`   `StringRanking`
    `PairsCollection`    `PairEstimates`
    `PlaceCollection`    `PlaceCounts`
    `ItemCollection`     `Ranking`

Programs that are not asynchronous wrap these clients, in `SyncReporter` or `SyncSubscriber`.

Each name is imported when it is first used, so that `import stream_ldp` alone costs nothing, and a name only the
imports that it needs.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

#: The public names of each module. Beside them are the collection and the answer of each kind, in
#: `stream_ldp.kinds`. Type checkers read all of them in `__init__.pyi`, which `python -m tests.test_public` writes.
_PUBLIC = {
    "client.answers": "Answers fetch_answers query",
    "client.errors": "DeliveryError ForeignAnswers MissingTopic UnreadableAnswer WrongCollection",
    "client.reporter": "Reporter",
    "client.subscriber": "Subscriber",
    "client.synchronous": "SyncReporter SyncSubscriber",
    "collection": "CollectionError",
    "errors": "DataError ParameterError StreamLDPError",
    "extras": "MissingExtra",
    "kafka.connection": "BrokerUnreachable",
    "kafka.settings": "Settings",
    "kafka.settings_sources": "SettingsError",
    "kinds": "load_collection parse_collection",
    "audit.enumeration": "Enumeration",
    "ledger.ledger": "AlreadyReported",
    "ledger.ledger_file": "LooserTerms PrivacyLedger load_or_create_user",
    "ledger.secret": "SecretError load_or_create_secret",
    "ledger.store": "LedgerError",
    "ledger.user_database": "UserDatabase",
    "ledger.terms": "Assumption BudgetExceeded DayBudgetExceeded LinkingRefused ReportRefused SpanBudgetExceeded "
    "Terms TooManyValues",
    "synthesis.chunk": "SyntheticChunk",
}


_PLACES = {name: f"{__name__}.{module}" for module, names in _PUBLIC.items() for name in names.split()}


@cache
def _places() -> dict[str, str]:
    """Return the module of each public name."""
    from stream_ldp.kinds import KINDS  # noqa: PLC0415  which loads every kind

    of_kinds = {each for kind in KINDS.values() for each in (kind.collection, kind.answer)}
    return _PLACES | {of_kind.__name__: of_kind.__module__ for of_kind in of_kinds}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use (PEP 562)."""
    if name == "__version__":
        from importlib import metadata  # noqa: PLC0415  for this one name

        return metadata.version("stream-ldp")
    if name == "__all__":
        return sorted(["__version__", *_places()])
    # Other names are asked for as well, such as those of modules.
    module = _PLACES.get(name) or (_places().get(name) if name[:1].isupper() else None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(module), name)
    return found


def __dir__() -> list[str]:
    """List the names of the package, imported or not."""
    return __getattr__("__all__")
