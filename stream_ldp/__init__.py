"""Live joint distributions and heavy hitters from locally private reports on Kafka.

An application does five things:

* `load_collection` reads a collection file, which says what is reported and how it is perturbed.
* `load_or_create_user` loads a user's secret, and the ledger of what the user's reports have cost. `Terms` are what
  the user agrees to.
* A reporter perturbs what is true of the user, and sends it.
* A subscriber receives answers as they come.
* `query` fetches the answers that there are; asynchronous programs call `fetch_answers`.

`Settings` say where the brokers are. Each kind of collection has its own reporter and answer:

    collection           reporter          answer
    `JointCollection`    `Reporter`        `Estimate`
    `ViewsCollection`    `SampledReporter` `Estimate`
    `ItemCollection`     `ItemReporter`    `Ranking`
    `SampledCollection`  `SampledReporter` `Marginals`
    `StringCollection`   `StringReporter`  `StringRanking`
    `PlaceCollection`    `PlaceReporter`   `PlaceCounts`

`Subscriber` receives the answers of every kind. Programs that are not asynchronous wrap these clients, in
`SyncReporter`, `SyncItemReporter` or `SyncSubscriber`.

Each name is imported when it is first used, so that `import stream_ldp` alone costs nothing, and a name only the
imports that it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

#: The public names, and the module of each.
_PLACES = {
    "AlreadyReported": "stream_ldp.privacy.ledger.ledger",
    "Answers": "stream_ldp.client.answers",
    "Assumption": "stream_ldp.privacy.ledger.terms",
    "BrokerUnreachable": "stream_ldp.kafka.connection",
    "BudgetExceeded": "stream_ldp.privacy.ledger.terms",
    "CollectionError": "stream_ldp.collection",
    "DataError": "stream_ldp.errors",
    "DayBudgetExceeded": "stream_ldp.privacy.ledger.terms",
    "DeliveryError": "stream_ldp.client.errors",
    "Enumeration": "stream_ldp.privacy.audit.enumeration",
    "Estimate": "stream_ldp.records.answer",
    "ItemCollection": "stream_ldp.sets.collection",
    "ItemPopulation": "stream_ldp.client.item_population",
    "ItemReporter": "stream_ldp.client.item_reporter",
    "JointCollection": "stream_ldp.records.collection",
    "LedgerError": "stream_ldp.privacy.ledger.store",
    "LinkingRefused": "stream_ldp.privacy.ledger.terms",
    "LooserTerms": "stream_ldp.privacy.ledger.ledger_file",
    "Marginals": "stream_ldp.sampled.answer",
    "MissingExtra": "stream_ldp.extras",
    "MissingTopic": "stream_ldp.client.errors",
    "ForeignAnswers": "stream_ldp.client.errors",
    "ParameterError": "stream_ldp.errors",
    "PlaceCollection": "stream_ldp.places.collection",
    "PlaceCounts": "stream_ldp.places.answer",
    "PlaceReporter": "stream_ldp.client.place_reporter",
    "PrivacyLedger": "stream_ldp.privacy.ledger.ledger_file",
    "Ranking": "stream_ldp.sets.answer",
    "ReportRefused": "stream_ldp.privacy.ledger.terms",
    "Reporter": "stream_ldp.client.reporter",
    "SampledCollection": "stream_ldp.sampled.collection",
    "SampledReporter": "stream_ldp.client.sampled_reporter",
    "SecretError": "stream_ldp.privacy.ledger.secret",
    "Settings": "stream_ldp.kafka.settings",
    "SettingsError": "stream_ldp.kafka.settings",
    "StreamLDPError": "stream_ldp.errors",
    "StringCollection": "stream_ldp.strings.collection",
    "StringRanking": "stream_ldp.strings.answer",
    "StringReporter": "stream_ldp.client.string_reporter",
    "Subscriber": "stream_ldp.client.subscriber",
    "SyncItemReporter": "stream_ldp.client.synchronous",
    "SyncReporter": "stream_ldp.client.synchronous",
    "SyncSubscriber": "stream_ldp.client.synchronous",
    "SyntheticChunk": "stream_ldp.synthesis.chunk",
    "Terms": "stream_ldp.privacy.ledger.terms",
    "TooManyValues": "stream_ldp.privacy.ledger.terms",
    "UnreadableAnswer": "stream_ldp.client.errors",
    "ViewsCollection": "stream_ldp.views.collection",
    "WrongCollection": "stream_ldp.client.errors",
    "fetch_answers": "stream_ldp.client.answers",
    "load_collection": "stream_ldp.kinds",
    "load_or_create_secret": "stream_ldp.privacy.ledger.secret",
    "load_or_create_user": "stream_ldp.privacy.ledger.ledger_file",
    "query": "stream_ldp.client.answers",
}

__all__ = [
    "AlreadyReported",
    "Answers",
    "Assumption",
    "BrokerUnreachable",
    "BudgetExceeded",
    "CollectionError",
    "DataError",
    "DayBudgetExceeded",
    "DeliveryError",
    "Enumeration",
    "Estimate",
    "ForeignAnswers",
    "ItemCollection",
    "ItemPopulation",
    "ItemReporter",
    "JointCollection",
    "LedgerError",
    "LinkingRefused",
    "LooserTerms",
    "Marginals",
    "MissingExtra",
    "MissingTopic",
    "ParameterError",
    "PlaceCollection",
    "PlaceCounts",
    "PlaceReporter",
    "PrivacyLedger",
    "Ranking",
    "ReportRefused",
    "Reporter",
    "SampledCollection",
    "SampledReporter",
    "SecretError",
    "Settings",
    "SettingsError",
    "StreamLDPError",
    "StringCollection",
    "StringRanking",
    "StringReporter",
    "Subscriber",
    "SyncItemReporter",
    "SyncReporter",
    "SyncSubscriber",
    "SyntheticChunk",
    "Terms",
    "TooManyValues",
    "UnreadableAnswer",
    "ViewsCollection",
    "WrongCollection",
    "__version__",
    "fetch_answers",
    "load_collection",
    "load_or_create_secret",
    "load_or_create_user",
    "query",
]

if TYPE_CHECKING:
    from stream_ldp.client.answers import Answers, fetch_answers, query
    from stream_ldp.client.errors import (
        DeliveryError,
        ForeignAnswers,
        MissingTopic,
        UnreadableAnswer,
        WrongCollection,
    )
    from stream_ldp.client.item_population import ItemPopulation
    from stream_ldp.client.item_reporter import ItemReporter
    from stream_ldp.client.place_reporter import PlaceReporter
    from stream_ldp.client.reporter import Reporter
    from stream_ldp.client.sampled_reporter import SampledReporter
    from stream_ldp.client.string_reporter import StringReporter
    from stream_ldp.client.subscriber import (
        Subscriber,
    )
    from stream_ldp.client.synchronous import SyncItemReporter, SyncReporter, SyncSubscriber
    from stream_ldp.collection import CollectionError
    from stream_ldp.errors import DataError, ParameterError, StreamLDPError
    from stream_ldp.extras import MissingExtra
    from stream_ldp.kafka.connection import BrokerUnreachable
    from stream_ldp.kafka.settings import Settings, SettingsError
    from stream_ldp.kinds import load_collection
    from stream_ldp.places.answer import PlaceCounts
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.privacy.audit.enumeration import Enumeration
    from stream_ldp.privacy.ledger.ledger import AlreadyReported
    from stream_ldp.privacy.ledger.ledger_file import LooserTerms, PrivacyLedger, load_or_create_user
    from stream_ldp.privacy.ledger.secret import SecretError, load_or_create_secret
    from stream_ldp.privacy.ledger.store import LedgerError
    from stream_ldp.privacy.ledger.terms import (
        Assumption,
        BudgetExceeded,
        DayBudgetExceeded,
        LinkingRefused,
        ReportRefused,
        Terms,
        TooManyValues,
    )
    from stream_ldp.records.answer import Estimate
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.sampled.answer import Marginals
    from stream_ldp.sampled.collection import SampledCollection
    from stream_ldp.sets.answer import Ranking
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.strings.answer import StringRanking
    from stream_ldp.strings.collection import StringCollection
    from stream_ldp.synthesis.chunk import SyntheticChunk
    from stream_ldp.views.collection import ViewsCollection

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        """Import a public name at its first use (PEP 562)."""
        if name == "__version__":
            from importlib import metadata  # noqa: PLC0415  for this one name

            return metadata.version("stream-ldp")
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_PLACES[name]), name)
        return found


def __dir__() -> list[str]:
    """List the names of the package, imported or not."""
    return sorted(__all__)
