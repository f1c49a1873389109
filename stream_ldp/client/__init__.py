"""This package is what an application imports: reporters send perturbed values, subscribers receive the answers."""

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
from stream_ldp.privacy.ledger.ledger import AlreadyReported
from stream_ldp.privacy.ledger.ledger_file import LooserTerms, PrivacyLedger, load_or_create_user
from stream_ldp.privacy.ledger.secret import SecretError, ledger_file_of, load_or_create_secret
from stream_ldp.privacy.ledger.store import LedgerError
from stream_ldp.privacy.ledger.terms import (
    DEFAULT_BUDGET,
    Assumption,
    BudgetExceeded,
    DayBudgetExceeded,
    LinkingRefused,
    ReportRefused,
    Terms,
    TooManyValues,
)

__all__ = [
    "DEFAULT_BUDGET",
    "AlreadyReported",
    "Assumption",
    "BudgetExceeded",
    "DayBudgetExceeded",
    "DeliveryError",
    "ForeignAnswers",
    "ItemPopulation",
    "ItemReporter",
    "LedgerError",
    "LinkingRefused",
    "LooserTerms",
    "MissingTopic",
    "PlaceReporter",
    "PrivacyLedger",
    "ReportRefused",
    "Reporter",
    "SampledReporter",
    "SecretError",
    "StringReporter",
    "Subscriber",
    "Terms",
    "TooManyValues",
    "UnreadableAnswer",
    "WrongCollection",
    "ledger_file_of",
    "load_or_create_secret",
    "load_or_create_user",
]
