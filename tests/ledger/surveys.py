"""These collections of records are what the tests of ledgers report to."""

from collections.abc import Iterable, Sequence

from stream_ldp.ledger.ledger import Spending
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import charges

KEY = bytes(range(32))
Noise = dict[str, float]

SURVEY: Noise = {"f": 0.5, "p": 0.5, "q": 0.75}

Record = Sequence[int]


def collection_of(*sizes: int, noise: Noise = SURVEY, name: str = "survey") -> JointCollection:
    return JointCollection.model_validate(
        {
            "collection": name,
            "mechanism": {"kind": "rr-ldp", **noise},
            "attributes": [
                {"name": f"attribute-{place}", "values": [f"value-{value}" for value in range(size)]}
                for place, size in enumerate(sizes)
            ],
            "window": {"size": "60s"},
            "estimates": [{"name": "all", "of": ["attribute-0"]}],
        }
    )


def spent(collection: JointCollection, records: Iterable[Record], *, before: Spending | None = None) -> Spending:
    """Return the spending when these records are reported with memoised permanent responses."""
    return (before or Spending()).after(charges(collection, records, secret=bytes(32), tag_key=KEY))
