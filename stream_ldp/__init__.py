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

from typing import Any

from stream_ldp.deferred import names_of_stub

_named, _names = names_of_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Import a public name at its first use (PEP 562)."""
    if name == "__version__":
        from importlib import metadata  # noqa: PLC0415  for this one name

        return metadata.version("stream-ldp")
    if name == "__all__":
        return sorted(["__version__", *_names()])
    return _named(name)


def __dir__() -> list[str]:
    """List the names of the package, imported or not."""
    return __getattr__("__all__")
