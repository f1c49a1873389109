"""The Python client behind the protocol with one break, named by the only argument: what an audit has to find."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from stream_ldp.client import batcher
from stream_ldp.kafka import producer  # noqa: F401  the client imports it late
from stream_ldp.ledger import ledger, store
from stream_ldp.ledger.terms import Terms
from stream_ldp.mechanisms.randomness.permanent import PermanentWords
from stream_ldp.records.collection import JointCollection
from tests.clients.contract import python_client
from tests.clients.contract.python_client import Program


def charges_half() -> None:
    epsilon = ledger.Spending.epsilon.func  # type: ignore[attr-defined]
    ledger.Spending.epsilon = property(lambda self: epsilon(self) / 2)  # type: ignore[assignment, method-assign]


def takes_the_words_of_the_first_value() -> None:
    words = PermanentWords.words
    PermanentWords.words = lambda self, secret, values: words(self, secret, [0] * len(values))  # type: ignore[method-assign]


def keeps_its_pseudonym_for_ever() -> None:
    made = JointCollection.pseudonyms

    def same(self: JointCollection, users: int, *, secrets: Any, time_ms: int, entropy: Any) -> Any:
        return made(self, users, secrets=secrets, time_ms=0, entropy=entropy)

    JointCollection.pseudonyms = same  # type: ignore[method-assign]


def says_when_to_the_millisecond() -> None:
    made = batcher.batch_of

    def exact(*arguments: Any, time_ms: int, window: Any, **others: Any) -> Any:
        return made(*arguments, time_ms=time_ms, window=window.model_copy(update={"time_precision_ms": 1}), **others)

    _everywhere("batch_of", exact)


def says_who_it_is_in_a_header() -> None:
    tell = python_client.tell

    def with_header(**message: Any) -> None:
        if "left" in message:
            message["left"]["headers"].append(["client", "python"])
        tell(**message)

    python_client.tell = with_header


def sends_before_it_counts() -> None:
    update = store.FileStore.update
    tell = python_client.tell

    def first(self: store.FileStore, change: Any) -> None:
        tell(left={"topic": "early", "key": "", "value": "00", "headers": [], "timestamp_ms": 0})
        update(self, change)

    store.FileStore.update = first  # type: ignore[method-assign]


def takes_any_value() -> None:
    Terms.most_values = property(lambda self: 99 if self.memoises else 0)  # type: ignore[assignment, method-assign]


def draws_the_same_noise_again() -> None:
    answer = Program.answer

    def seeded(self: Program, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "report" and "words" not in request:
            rng = np.random.default_rng(1)
            request["words"] = rng.integers(2**32, size=4_096, dtype=np.uint64).tolist()
        return answer(self, request)

    Program.answer = seeded  # type: ignore[method-assign]


BREAKS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        charges_half,
        takes_the_words_of_the_first_value,
        keeps_its_pseudonym_for_ever,
        says_when_to_the_millisecond,
        says_who_it_is_in_a_header,
        sends_before_it_counts,
        takes_any_value,
        draws_the_same_noise_again,
    )
}


def _everywhere(name: str, other: Any) -> None:
    """Replace a function in every module that has imported it."""
    for module in (batcher, *(each for key, each in sys.modules.items() if key.startswith("stream_ldp."))):
        if hasattr(module, name):
            setattr(module, name, other)


if __name__ == "__main__":
    if sys.argv[1:]:
        BREAKS[sys.argv[1]]()
    python_client.main()
