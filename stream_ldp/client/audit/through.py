"""The audit of a client in any language, which runs as a process: all that leaves it, and what it charges.

The process speaks the protocol of docs/clients/contract.md. What leaves it is compared with what a client that is
written from the specification makes of the same user, record, time and words.
"""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.audit.specified_rows import WORDS, secrets_of, times_of
from stream_ldp.audit.wire.batch import read, rounded_time
from stream_ldp.audit.wire.notation import Unspecified
from stream_ldp.client.audit.finding import CHANCE, Finding, differing_bit, finding, id_problems
from stream_ldp.client.audit.sending import SENT, mischarged
from stream_ldp.client.process import ClientEnded, ClientFailed, ClientProcess, ClientRefused, Left, Reported
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of
from stream_ldp.steps import done

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from stream_ldp.audit.wire.client import Held, SpecifiedClient

#: Users whose rows are compared, and those whose ledgers are.
_USERS = 24
_CHARGED = 3

#: Batches whose ids are looked at, and reports whose randomness is.
_IDS = 1_024
_RANDOM = 2_048

#: Terms under which charges are compared, and the number of different records that a user reports under them.
_TERMS: tuple[tuple[Mapping[str, Any], int], ...] = (
    ({}, 1),
    ({"values": 2}, 2),
    ({"values": 3}, 3),
    ({"fresh": True}, 3),
)

_HEADERS = (("content-type", "application/vnd.sldp.batch;v=1"),)


def audit_through(
    command: Sequence[str], collection: Any, text: str, file: Mapping[str, Any], directory: Path
) -> list[Finding]:
    """Run a client, and return what is found of each promise.

    command: of its program.
    collection: one whose users report records.
    text, file: the collection's file, as text and as data.
    directory: an empty directory, for the ledgers of the audit's users.

    Raises:
        ClientFailed: the program does not speak the protocol, or not of such collections.
    """
    client: Any = kind_of(collection).specified(file, collection.meaning)
    with ClientProcess(command) as process:
        audited = _Through(process, collection, client, text=text, window=file["window"], directory=directory)
        return [
            finding("the file asks for what the client asks about, at what it costs", audited.meaning()),
            finding("every row follows the specification, given user, record, time and words", audited.rows()),
            finding("fresh noise leaves nothing permanent in a row", audited.afresh()),
            finding("the permanent response and the ledger are the user's own, over restarts", audited.restarts()),
            finding("nothing but the rows depends on the record", audited.surroundings()),
            finding("a sent record has what the specification says, and nothing else", audited.frames()),
            finding("the ledger charges each report in full", audited.charges()),
            finding("each report is charged before it leaves, whatever happens to the client", audited.crashes()),
            finding("nothing beyond the user's terms is sent", audited.refusals()),
            finding("fresh noise is not the same twice", audited.noise(), chance=CHANCE),
            finding("batch ids are random", audited.ids(), chance=CHANCE),
        ]


class _Through:
    """A client's process, and the users of a collection who report through it."""

    def __init__(
        self,
        process: ClientProcess,
        collection: Any,
        client: SpecifiedClient,
        *,
        text: str,
        window: Mapping[str, Any],
        directory: Path,
    ) -> None:
        self._process, self._collection, self._client = process, collection, client
        self._text, self._window, self._directory = text, window, directory
        self._held = client.held()
        self._secrets, self._times = secrets_of(client), times_of(client)
        self._users = itertools.count()
        self._frames: list[tuple[int, Left]] = []
        self._fingerprint = self._given()

    def _given(self) -> bytes:
        try:
            return self._process.collection(
                self._text, document=self._collection.document, meaning=self._collection.meaning
            )
        except ClientRefused as refusal:
            raise ClientFailed(f"the client does not speak collection {self._collection.name!r}: {refusal}") from None

    def _user(self, secret: bytes, *, path: Path | None = None, **terms: Any) -> str:
        name = f"user-{next(self._users)}"
        self._process.user(name, secret=secret, path=path, terms={"budget": None, "linked": True} | terms)
        return name

    def _report(self, user: str, held: Held, time_ms: int, word: int | None = None, **options: Any) -> Reported:
        words = None if word is None else [word]
        found = self._process.report(self._collection.name, user, held, time_ms=time_ms, words=words, **options)
        self._frames += [(time_ms, left) for left in found.left]
        done(len(found.left), SENT)
        return found

    def _asked(self, number: int) -> tuple[bytes, int]:
        """Return a user's secret, and a time at which the collection asks the user."""
        for place in itertools.count(number):
            secret, time_ms = self._secrets[place % len(self._secrets)], self._times[place % len(self._times)]
            if self._client.asks(secret, time_ms) or place > number + 10_000:
                return secret, time_ms
        raise AssertionError

    def meaning(self) -> Iterator[str]:
        if self._fingerprint != self._client.fingerprint:
            yield "the collection's fingerprint is not the one that the specification makes of its file"
        yield from self._client.excesses()

    def rows(self) -> Iterator[str]:
        for number in range(_USERS):
            secret, time_ms = self._secrets[number % len(self._secrets)], self._times[number % len(self._times)]
            word, user = WORDS[number % len(WORDS)], ""
            for held in (self._held * 2)[number % len(self._held) :][:2]:
                user = self._user(secret)
                reported = self._report(user, held, time_ms, word, times=2)
                asked = self._client.asks(secret, time_ms)
                expected = [self._row(secret, held, time_ms, word)] * 2 if asked else []
                if _rows(reported.left) != expected:
                    yield f"rows at {time_ms} ms, of words {word}, are not the specified ones"

    def _row(self, secret: bytes, held: Held, time_ms: int, word: int, *, memoises: bool = True) -> bytes:
        words = itertools.repeat(word)
        return self._client.whole_row(secret, held, time_ms=time_ms, words=words, memoises=memoises)

    def afresh(self) -> Iterator[str]:
        for number in range(_USERS):
            (secret, time_ms), word = self._asked(number), WORDS[number % len(WORDS)]
            held = self._held[-1 - number % len(self._held)]
            reported = self._report(self._user(secret, fresh=True), held, time_ms, word, times=2)
            if set(_rows(reported.left)) != {self._row(secret, held, time_ms, word, memoises=False)}:
                yield "a report with fresh noise is not the one that the specification makes of fresh words"

    def restarts(self) -> Iterator[str]:
        secret, time_ms = self._asked(1)
        path = self._directory / "restarted"
        user, spent = self._user(secret, path=path), 0.0
        for number in range(3):
            reported = self._report(user, self._held[0], time_ms, WORDS[1])
            if _rows(reported.left) != [self._row(secret, self._held[0], time_ms, WORDS[1])]:
                yield f"after {number} restarts, the report of the same record is not the one that the secret makes"
            spent = reported.spent
            self._process.restart()
            self._given()
            if self._process.user(user, secret=secret, path=path) != spent:
                yield f"after {number + 1} restarts, the ledger does not say what was spent"

    def surroundings(self) -> Iterator[str]:
        secret, time_ms = self._asked(2)
        seen = []
        for held in self._held[: _CHARGED + 1]:
            user = self._user(secret)
            left = [each for times in (1, 3) for each in self._report(user, held, time_ms, times=times).left]
            seen.append(
                [
                    (each.topic, each.path, each.headers, each.timestamp_ms, len(each.key or b""), len(each.value))
                    for each in left
                ]
            )
        if any(each != seen[0] for each in seen):
            yield "topics, headers, times or lengths of what leaves are others for another record"

    def frames(self) -> Iterator[str]:
        topic = Settings().topic_names.reports(self._collection.name)
        for time_ms, left in self._frames:
            try:
                batch = read(left.value)
            except Unspecified as problem:
                yield str(problem)
                continue
            expected = rounded_time(self._window, time_ms)
            if batch.fingerprint != self._client.fingerprint:
                yield "a batch carries a fingerprint that the file does not have"
            if batch.time_ms != expected:
                yield f"the event time of a batch is {batch.time_ms} at {time_ms}: its step begins at {expected}"
            if left.headers != _HEADERS:
                yield f"it leaves with the headers {left.headers}, and not {_HEADERS}"
            if left.path is None:
                if left.topic != topic:
                    yield f"a record is sent to {left.topic}"
                if (left.key, left.timestamp_ms) != (batch.batch_id, batch.time_ms):
                    yield "the key and the time of a record are not those of its batch"
            elif left.path != f"/v1/collections/{self._collection.name}/batches":
                yield f"a request is sent to {left.path}"

    def charges(self) -> Iterator[str]:
        for terms, values in _TERMS:
            memoises = "fresh" not in terms
            for number in range(_CHARGED):
                secret, time_ms = self._asked(number)
                user = self._user(secret, **terms)
                shown: list[Held] = []
                for times in (1, 2, 1, 3):
                    held = (self._held * 4)[number + len(shown) % values]
                    shown += [held] * times
                    spent = self._report(user, held, time_ms, times=times).spent
                    owed = self._client.cost(secret, shown, memoises=memoises)
                    yield from mischarged(spent, owed, reports=len(shown))
                    yield from mischarged(self._process.spent(user), owed, reports=len(shown))

    def crashes(self) -> Iterator[str]:
        """Let the client end at each step, and compare what has left it with what its ledger says afterwards."""
        for number, step in enumerate(self._process.hello.steps):
            secret, time_ms = self._asked(number)
            path = self._directory / f"crashed-{step}"
            user = self._user(secret, path=path)
            left: tuple[Left, ...] = ()
            try:
                self._report(user, self._held[0], time_ms, crash=step)
            except ClientEnded as ended:
                left = ended.left
            self._process.restart()
            self._given()
            spent, owed = (
                self._process.user(user, secret=secret, path=path),
                self._client.cost(secret, self._held[:1]),
            )
            if left and spent < owed * (1 - 1e-12):
                yield f"a report has left, and the ledger says {spent!r} nats after a crash at {step!r}, not {owed!r}"
            if step in ("unwritten", "written") and left:
                yield f"a report has left before the ledger was kept: at {step!r}"

    def refusals(self) -> Iterator[str]:
        for number in range(_CHARGED):
            secret, time_ms = self._asked(number)
            held, *others = self._held
            user = self._user(secret)
            once = self._report(user, held, time_ms).spent
            other = next((each for each in others if self._client.changes(secret, held, each)), None)
            if other is not None:
                yield from self._refused("too_many_values", user, other, time_ms)
            if once > 0:
                yield from self._refused(
                    "budget_exceeded", self._user(secret, budget=once * (1 - 1e-3)), held, time_ms
                )
                yield from self._refused(
                    "day_budget_exceeded", self._user(secret, per_day=once * (1 - 1e-3)), held, time_ms
                )
        if self._client.links:
            yield from self._refused("linking_refused", self._user(secret, linked=False), held, time_ms)

    def _refused(self, reason: str, user: str, held: Held, time_ms: int) -> Iterator[str]:
        before = self._process.spent(user)
        try:
            reported = self._report(user, held, time_ms)
        except ClientRefused as refusal:
            if refusal.reason != reason:
                yield f"a report is refused as {refusal.reason}, and not as {reason}"
        else:
            if reported.left:
                yield f"a report is sent that has to be refused as {reason}"
        if self._process.spent(user) != before:
            yield f"a report that is refused as {reason} is charged"

    def noise(self) -> Iterator[str]:
        """Compare fresh reports of one record with each other: all words are the client's own."""
        secret, time_ms = self._asked(0)
        made = [
            _rows(self._report(self._user(secret, fresh=True), self._held[0], time_ms, times=_RANDOM).left)
            for _ in range(2)
        ]
        # In any order: a batch has one of its own.
        if Counter(made[0]) == Counter(made[1]) or len(set(made[0])) == 1:
            yield f"{_RANDOM} reports with fresh noise come again as they are"
            return
        tables = [np.array([list(row) for row in rows], dtype=np.uint8) for rows in made]
        if (bit := differing_bit(tables[0], tables[1])) is not None:
            yield f"bit {bit} of rows with fresh noise is set more often at one time than at another"

    def ids(self) -> Iterator[str]:
        secret, time_ms = self._asked(0)
        user = self._user(secret)
        made: list[bytes] = []
        while len(made) < _IDS:
            left = self._report(user, self._held[0], time_ms).left
            made += [read(each.value).batch_id for each in left]
            if not left:
                yield "a user who is asked sends nothing"
                return
        yield from id_problems(made)


def _rows(left: Sequence[Left]) -> list[bytes]:
    """Return the rows of all that are batches; what is none is a fault of its own."""
    found: list[bytes] = []
    for each in left:
        with suppress(Unspecified):
            found += read(each.value).rows
    return found
