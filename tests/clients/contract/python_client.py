"""The client of this package behind the protocol of docs/clients/contract.md, as a module that is run."""

import asyncio
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.client.audit.sending import SETTINGS, broker_of
from stream_ldp.client.process import PROTOCOL
from stream_ldp.client.reporter import Reporter
from stream_ldp.collection import Collection, CollectionError
from stream_ldp.errors import DataError, ParameterError, StreamLDPError
from stream_ldp.kafka.memory import MemoryBroker, Sent, connected
from stream_ldp.kinds import KINDS, kind_of, parse_collection
from stream_ldp.ledger import private_file, store
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.receipt import Receipt
from stream_ldp.ledger.store import LedgerError
from stream_ldp.ledger.terms import (
    Assumption,
    BudgetExceeded,
    DayBudgetExceeded,
    LinkingRefused,
    SpanBudgetExceeded,
    Terms,
    TooManyValues,
)
from stream_ldp.mechanisms import Entropy
from stream_ldp.mechanisms.randomness.entropy import WordEntropy

#: The reason of each refusal; a subclass stands before its base.
REASONS: Mapping[type[Exception], str] = {
    CollectionError: "bad_collection",
    DataError: "bad_record",
    DayBudgetExceeded: "day_budget_exceeded",
    SpanBudgetExceeded: "span_budget_exceeded",
    BudgetExceeded: "budget_exceeded",
    TooManyValues: "too_many_values",
    LinkingRefused: "linking_refused",
    LedgerError: "bad_ledger",
    ParameterError: "bad_ledger",
}

STEPS = ("unwritten", "written", "charged", "sent")

#: Status with which the process ends at a step, as EX_SOFTWARE of sysexits.h.
CRASHED = 70

#: The most reports of one batch: those of a request leave together.
MOST_REPORTS = 1_000_000

#: Milliseconds that pass while a reporter of sets looks for rounds.
LOOKING_MS = 1


class Cycled(WordEntropy):
    """A source that gives words in order, and again from the first."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = np.array(words, dtype=np.uint32)
        self._used = 0

    def words(self, n: int) -> NDArray[np.uint32]:
        """Take the next n words."""
        places = np.arange(self._used, self._used + n) % len(self._words)
        self._used += n
        return self._words[places]


def tell(**message: Any) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Program:
    """The state between requests."""

    def __init__(self) -> None:
        self._collections: dict[str, Collection] = {}
        self._users: dict[str, tuple[bytes, PrivacyLedger]] = {}
        self._crash: str | None = None
        store.replace_private = self._replace_private  # type: ignore[attr-defined]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what a request asks for."""
        asked = request.pop("do")
        does: Mapping[str, Callable[..., dict[str, Any]]] = {
            "hello": self._hello,
            "collection": self._collection,
            "user": self._user,
            "report": self._report,
            "spent": self._spent,
        }
        return does[asked](**request)

    def _hello(self) -> dict[str, Any]:
        spoken = sorted({name for kind in KINDS.values() for name in kind.mechanisms} | {"views"})
        return {
            "protocol": PROTOCOL,
            "language": "python",
            "client": version("stream-ldp"),
            "mechanisms": spoken,
            "steps": STEPS,
        }

    def _collection(self, *, file: str, document: Any, meaning: str) -> dict[str, Any]:
        found = parse_collection(file)
        if found.meaning != meaning:
            raise CollectionError(["the meaning is not that of the file"])
        self._collections[found.name] = found
        return {"name": found.name, "fingerprint": found.fingerprint.hex()}

    def _user(
        self, *, user: str, secret: str, path: str | None = None, terms: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        key = bytes.fromhex(secret)
        if terms is None:
            ledger = PrivacyLedger.open(Path(str(path)), secret=key)
        elif path is None:
            ledger = PrivacyLedger.in_memory(secret=key, terms=_terms(**terms))
        else:
            ledger = PrivacyLedger.create(Path(path), secret=key, terms=_terms(**terms))
        self._users[user] = key, ledger
        return {"spent": ledger.spending.epsilon}

    def _spent(self, *, user: str) -> dict[str, Any]:
        _, ledger = self._users[user]
        return {"spent": ledger.spending.epsilon}

    def _report(
        self,
        *,
        collection: str,
        user: str,
        record: Mapping[str, Any],
        time_ms: int,
        words: Sequence[int] | None = None,
        times: int = 1,
        rounds: Sequence[Any] = (),
        crash: str | None = None,
    ) -> dict[str, Any]:
        asked = self._collections[collection]
        entropy = None if words is None else Cycled(words)
        broker = broker_of(asked)
        broker.now_ms, broker.on_send = time_ms, self._leave
        self._crash = crash
        try:
            with connected(broker):
                report = self._records if kind_of(asked).rounds is None else self._sets
                receipt = asyncio.run(report(asked, user, record, broker, entropy, times=times, rounds=rounds))
        finally:
            self._crash = None
        reports = sum(int.from_bytes(each.value[12:16], "little") for each in broker.sent)
        return {"reports": reports, **self._spent(user=user), "receipt": None if receipt is None else str(receipt)}

    async def _records(
        self,
        collection: Any,
        user: str,
        record: Mapping[str, Any],
        broker: MemoryBroker,
        entropy: Entropy | None,
        *,
        times: int,
        rounds: Sequence[Any],
    ) -> Receipt | None:
        secret, ledger = self._users[user]
        encoded = collection.encode(record)
        async with Reporter(
            collection,
            settings=SETTINGS,
            secret=secret,
            ledger=ledger,
            entropy=entropy,
            clock=broker.clock,
            max_reports=MOST_REPORTS,
        ) as reporter:
            receipt: Receipt | None = await reporter.report_series([encoded] * times)
        return receipt

    async def _sets(
        self,
        collection: Any,
        user: str,
        record: Mapping[str, Any],
        broker: MemoryBroker,
        entropy: Entropy | None,
        *,
        times: int,
        rounds: Sequence[Any],
    ) -> Receipt | None:
        if times != 1:
            raise ValueError("a user reports to each phase of an epoch once")
        secret, ledger = self._users[user]
        refused: Exception | None = None
        broker.end_ms = broker.now_ms + LOOKING_MS
        topic = SETTINGS.topic_names.rounds(collection.name)
        for each in rounds:
            broker.put(topic, json.dumps(each).encode(), at_ms=broker.now_ms)
        async with Reporter(
            collection,
            settings=SETTINGS,
            secret=secret,
            ledger=ledger,
            entropy=entropy,
            clock=broker.clock,
            spread=False,
        ) as reporter:
            await reporter.report(record["items"])
            waits = [asyncio.create_task(broker.ended.wait()), asyncio.create_task(reporter.stopped())]
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in waits:
                each.cancel()
            for each in done:
                with suppress(asyncio.CancelledError):
                    refused = refused or each.exception()  # type: ignore[assignment]
        if refused is not None:
            raise refused
        return reporter.receipt

    def _leave(self, sent: Sent) -> None:
        self._crash_at("charged")
        others = dict(sent.others)
        tell(
            left={
                "topic": sent.topic,
                "key": (sent.key or b"").hex(),
                "value": sent.value.hex(),
                "headers": [[name, value.decode()] for name, value in others["headers"]],
                "timestamp_ms": others["timestamp_ms"],
            }
        )
        self._crash_at("sent")

    def _replace_private(self, path: Path, content: bytes) -> None:
        """Do what `private_file.replace_private` does, and crash at its steps."""
        self._crash_at("unwritten")
        private_file.write_draft(path, content)
        self._crash_at("written")
        private_file.keep_draft(path)

    def _crash_at(self, step: str) -> None:
        if self._crash == step:
            os._exit(CRASHED)


def _terms(
    *,
    budget: float | None,
    per_day: float | None = None,
    per_span: float | None = None,
    span_days: int | None = None,
    values: int = 1,
    fresh: bool = False,
    linked: bool = False,
) -> Terms:
    assumption = Assumption.FRESH if fresh else Assumption.VALUES if values != 1 else Assumption.CONSTANT
    return Terms(
        budget=math.inf if budget is None else budget,
        per_day=math.inf if per_day is None else per_day,
        per_span=math.inf if per_span is None else per_span,
        span_days=span_days,
        assumption=assumption,
        max_values=values if assumption is Assumption.VALUES else None,
        linked=linked,
    )


def refusal(error: Exception) -> dict[str, Any]:
    """Say why something is not done."""
    reason = next((reason for kind, reason in REASONS.items() if isinstance(error, kind)), None)
    if reason is None:
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"refused": reason, "detail": str(error)}


def main() -> None:
    """Answer each line of the standard input."""
    logging.getLogger("stream_ldp").setLevel(logging.ERROR)  # of a collection that nobody has registered
    program = Program()
    for line in sys.stdin:
        try:
            answer = program.answer(json.loads(line))
        except StreamLDPError as error:
            answer = refusal(error)
        except Exception as error:  # noqa: BLE001  whatever it is, the other end is to hear of it
            answer = {"failed": f"{type(error).__name__}: {error}"}
        tell(**answer)


if __name__ == "__main__":
    main()
