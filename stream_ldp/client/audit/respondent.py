"""The audit of a reporter's answers to rounds: all that leaves it, for users with sets of every size.

The reporters run unchanged, on a broker in memory whose time passes while they wait. Their randomness comes from a
source that answers equal requests equally. So two users with different sets can be compared exactly: to which phases
they report, when, how often, and how much.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from stream_ldp.audit.specified_rows import OneWord, asked_by, round_differences
from stream_ldp.audit.wire.notation import fingerprint_of
from stream_ldp.client.audit.finding import CHANCE, Finding, differing_bit, finding, id_problems
from stream_ldp.client.audit.seen import reveals
from stream_ldp.client.audit.sending import (
    ROUNDING,
    SETTINGS,
    START_MS,
    ClientAudit,
    around,
    broker_of,
    charged,
    differences,
    mischarged,
    pseudonyms,
    rows_of,
)
from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.memory import connected
from stream_ldp.kinds import kind_of, rounds_of
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.mechanisms import SECRET_BYTES, SeededEntropy
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.mechanisms.randomness.requests import RequestEntropy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from stream_ldp.audit.wire.sets import Sets
    from stream_ldp.kafka.memory import Sent
    from stream_ldp.pipeline.kind import RoundMessage

#: Windows of the audit for each phase, and the secrets among which a user is sought whom every phase asks in one.
_EPOCHS = 4
_SECRETS = 2_000

#: Most items of a set, and users of a population whose order and ids are looked at.
_MAX_ITEMS = 4_096
_POPULATION = 4_096

#: Secrets with which each set is memoised.
_SECRETS_OF_SETS = 8

#: Milliseconds after the beginning of a phase's window at which its round is published.
_PUBLISHED_MS = 1


async def audit_respondent(collection: Any, client: Sets, file: Mapping[str, Any], directory: Path) -> list[Finding]:
    """Return what was found of each promise of the reporters.

    client: what the specification says of the same collection.
    file: the collection's file, as data.
    directory: an empty directory, for the ledgers of the audit's users.
    """
    users = RoundAuditor(collection, client, directory)
    with users.log.kept():
        lasting, restarted = await users.runs()
        order, ids = await users.population()
    return [
        finding("the file asks for what the reporters answer", users.meaning()),
        finding("an asked user reports once to each phase, whatever the set", users.answers(lasting, restarted)),
        finding("nothing but the rows depends on the set", users.surroundings(lasting)),
        finding("the same holds after restarts in every window", users.surroundings(restarted)),
        finding("no restart reports to a phase again", users.repeats),
        finding("a row is the method's response to the set", users.rows(restarted)),
        finding("a row follows the specification, given set, round and words", users.specified()),
        finding("the permanent part of a row follows the specification, given the secret", users.permanent()),
        finding("a Kafka record has what the specification says, and nothing else", users.frames(file)),
        finding("the log does not have the user's secret", users.logged()),
        finding("the ledger charges each report exactly, before it leaves", users.mischarged),
        finding("the order of a population's reports is independent of the users", order, chance=CHANCE),
        finding("batch ids are random", ids, chance=CHANCE),
        finding("brokers store nothing that identifies the author of a batch", pseudonyms(users.seen)),
    ]


#: What one user sends, by the set held.
_Runs = dict[tuple[int, ...], list["Sent"]]


class RoundAuditor(ClientAudit):
    """The audit of one user whom all phases ask, and of many who answer a round together."""

    def __init__(self, collection: Any, client: Sets, directory: Path) -> None:
        super().__init__(collection, client, directory)
        kind, rounds = kind_of(collection), rounds_of(collection)
        self._reports = kind.reports
        self._schedule = schedule = rounds.schedule(collection)
        first = schedule.window_of(-(-START_MS // schedule.size_ms // schedule.stride), 1)
        self._windows = [first + number * schedule.size_ms for number in range(_EPOCHS * schedule.phases)]
        self._rounds: list[Any] = [
            asked
            for window_ms in self._windows
            for phase in range(1, schedule.phases + 1)
            if (epoch := schedule.epoch_at(window_ms, phase)) is not None
            for asked in rounds.asked(collection, epoch)
            if asked.phase == phase
        ]
        layouts = [
            kind.layout(collection) if asked.phase == 1 else rounds.layout(collection, asked)
            for asked in self._rounds
        ]
        self._formats: dict[bytes, Any] = {layout.fingerprint: layout for layout in layouts}
        self._secret, self._asked = self._user()
        self._counts: dict[Path, Counter[int]] = {}
        self.repeats: list[str] = []
        self.mischarged: list[str] = []

    @property
    def _fingerprints(self) -> set[bytes]:
        rounds = (
            fingerprint_of(self._client.round_meaning(asked_by(each))) for each in self._rounds if each.phase > 1
        )
        return {self._client.fingerprint, *rounds}

    def specified(self) -> Iterator[str]:
        """Compare rows of fresh words with those that the specification makes of them."""
        asked = list({(each.phase, each.padding): each for each in self._rounds}.values())
        return round_differences(self._collection, self._reports, asked, self._client)

    def permanent(self) -> Iterator[str]:
        """Compare what the rows of a method that memoises have in common with what the secret makes, for many users.

        The fresh word is the same for all: the least, so that what is permanent is sent as it is.
        """
        if not self._client.memoises:
            return
        first = self._rounds[0]
        for number, held in enumerate(self._sets() * _SECRETS_OF_SETS):
            secret = hashlib.sha256(b"audit %d" % number).digest()
            made = self._row(held, asked=first, secret=secret, entropy=OneWord(0))
            if made.tobytes() != self._client.memoised_row(secret, held, 0):
                yield f"the row of a set of {len(held)} items is not the one that the user's secret makes"
                return

    def logged(self) -> Iterator[str]:
        """Look for the user's secret in the log."""
        if any(reveals(text, self._secret) for text in self.log.messages):
            yield "the log has a user's secret"

    async def runs(self) -> tuple[_Runs, _Runs]:
        """Let the user report with each set: without a break, and with a restart in every window."""
        windows = self._windows
        size_ms = self._schedule.size_ms
        lasting: _Runs = {}
        restarted: _Runs = {}
        for held in self._sets():
            lasting[held] = await self._run(held, self._ledger(self._secret), windows[0], windows[-1] + size_ms)
            path, restarted[held] = self._ledger(self._secret), []
            for start_ms in windows:
                restarted[held] += await self._run(held, path, start_ms, start_ms + size_ms)
                # The clock is set back, and the topic has the same rounds again.
                if await self._run(held, path, start_ms, start_ms + size_ms):
                    self.repeats.append("a client that starts again in a window reports to the same phase again")
        return lasting, restarted

    def answers(self, *runs: _Runs) -> Iterator[str]:
        """Compare the phases that got a report with those that ask the user."""
        wanted = sorted((each.epoch, each.phase) for each in self._asked)
        for run in runs:
            for held, sent in run.items():
                answered = sorted((each.epoch, each.phase) for each in map(self._round_of, sent))
                if answered != wanted:
                    yield (
                        f"with a set of {len(held)} items, the user whom {len(wanted)} phases ask reports to "
                        f"{answered}, not to {wanted} (epoch, phase)"
                    )

    def surroundings(self, run: _Runs) -> Iterator[str]:
        """Compare what is seen around the rows with every set."""
        seen = {held: around(sent, self._formats) for held, sent in run.items()}
        (first, alone), *others = seen.items()
        for held, other in others:
            for each in differences(alone, other):
                yield f"sets of {len(first)} and of {len(held)} items: {each}"

    def rows(self, restarted: _Runs) -> Iterator[str]:
        """Compare the first row after each restart with the method's response, from the same randomness."""
        for held, sent in restarted.items():
            windows: set[int] = set()
            for each in sent:
                asked = self._round_of(each)
                if asked.start_ms in windows:
                    continue
                windows.add(asked.start_ms)
                made = self._row(held, asked=asked, secret=self._secret, entropy=self._entropy(asked.start_ms))
                if made.tobytes() != b"".join(rows_of([each], self._width(asked))):
                    yield f"phase {asked.phase}: what is sent of a set of {len(held)} items is not the response to it"

    async def population(self) -> tuple[list[str], list[str]]:
        """Let users with one set come before as many with another; return problems of their order, and of ids."""
        asked = next(each for each in self._rounds if each.phase == 1)
        slots = asked.padding
        sets = list(range(min(slots, self._collection.items.count // 2)))
        others = list(range(len(sets), min(2 * len(sets), self._collection.items.count)))
        broker = broker_of(self._collection)
        broker.now_ms = asked.start_ms
        held = self._collection.table([sets] * (_POPULATION // 2) + [others] * (_POPULATION // 2))
        with connected(broker):
            async with Reporter(
                self._collection, settings=SETTINGS, clock=broker.clock, spread=False, max_reports=1
            ) as reporter:
                await reporter.respondents(held, secrets=None).answer(asked)
        self._taken(broker)
        ids = list(id_problems([each.key or b"" for each in broker.sent])) if broker.sent else []
        rows = np.array([list(row) for row in rows_of(broker.sent, self._width(asked))], dtype=np.uint8)
        if not len(rows):
            return [], ids
        oracle = self._formats[asked.fingerprint].oracle
        supported = oracle.supported(rows, np.array([*sets, *others]))
        features = np.concatenate([rows, np.packbits(supported, axis=1, bitorder="little")], axis=1)
        bit = differing_bit(features[: len(rows) // 2], features[len(rows) // 2 :])
        return ([] if bit is None else ["the first half of the reports is of other sets than the second"]), ids

    def _row(self, held: Sequence[int], *, asked: RoundMessage, secret: bytes, entropy: Any) -> Any:
        """Make the row of a user's set, without a client."""
        return self._reports(
            self._collection,
            self._collection.table([held]),
            asked=asked,
            secrets=[secret],
            memoises=True,
            time_ms=asked.start_ms,
            entropy=entropy,
        )

    def _sets(self) -> list[tuple[int, ...]]:
        """Return sets of many sizes, from none to all items; one of them may have no candidate."""
        count = self._collection.items.count
        slots = {each.padding for each in self._rounds}
        sizes = {0, 1, 2, 4, 9, 17, 33, count // 2, count, *slots, *(each + 1 for each in slots)}
        whole = [tuple(range(size)) for size in sorted(sizes) if size <= min(count, _MAX_ITEMS)]
        return list(dict.fromkeys([*whole, (count - 1,)]))

    def _user(self) -> tuple[bytes, list[Any]]:
        """Return the secret of a user whom as many different phases ask as possible, and their rounds."""
        phases = self._client.phases
        best: tuple[bytes, list[Any]] = (bytes(SECRET_BYTES), [])
        for number in range(_SECRETS):
            secret = hashlib.sha256(b"audit %d" % number).digest()
            asked = [each for each in self._rounds if self._client.is_asked(secret, each.epoch, each.phase)]
            best = max(best, (secret, asked), key=lambda user: len({each.phase for each in user[1]}))
            if len({each.phase for each in best[1]}) == len(phases):
                break
        return best

    async def _run(self, held: Sequence[int], path: Path, begin_ms: int, end_ms: int) -> list[Sent]:
        broker = broker_of(self._collection)
        broker.now_ms, broker.end_ms, broker.on_send = begin_ms, end_ms, self._charge_of(path)
        topic = SETTINGS.topic_names.rounds(self._collection.name)
        for asked in sorted(self._rounds, key=lambda each: each.start_ms):
            if asked.phase > 1:
                broker.put(topic, asked.to_bytes(), at_ms=asked.start_ms + _PUBLISHED_MS)
        ledger = PrivacyLedger.open(path, secret=self._secret)
        with connected(broker):
            async with Reporter(
                self._collection,
                settings=SETTINGS,
                secret=self._secret,
                ledger=ledger,
                entropy=self._entropy(begin_ms),
                clock=broker.clock,
            ) as reporter:
                await reporter.report(self._collection.items.name(item) for item in held)
                ends = [asyncio.create_task(broker.ended.wait()), asyncio.create_task(reporter.stopped())]
                done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for each in ends:
                    each.cancel()
                for each in done:
                    each.result()
        return self._taken(broker)

    def _charge_of(self, path: Path) -> Callable[[Sent], None]:
        """Return what compares the ledger's file, when a record arrives, with the cost of all so far."""
        counts = self._counts.setdefault(path, Counter())

        def on_send(each: Sent) -> None:
            counts[self._round_of(each).phase] += 1
            owed, reports = self._client.cost(counts), counts.total()
            self.mischarged += mischarged(charged(path, self._secret), owed, reports=reports, more=ROUNDING)

        return on_send

    def _round_of(self, sent: Sent) -> Any:
        """Return the round to which a record reports: of the first phases, by its time."""
        for each in self._rounds:
            if each.fingerprint in sent.value and (each.phase > 1 or each.start_ms <= sent.at_ms < each.end_ms):
                return each
        raise ValueError("what was sent belongs to no round")

    def _width(self, asked: Any) -> int:
        return row_width(self._formats[asked.fingerprint].bits)

    @staticmethod
    def _entropy(begin_ms: int) -> Any:
        return RepeatableEntropy(begin_ms)


if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.mechanisms import Entropy

    Drawn = TypeVar("Drawn")


class RepeatableEntropy(RequestEntropy):
    """A source that answers the same request alike in two runs, whatever else was asked for before it.

    A stream of words would not do: what a report takes of it depends on the set, and with it all that comes later.
    Here each request, such as one integer of 9,500, has a stream of its own.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._asked: Counter[bytes] = Counter()

    def _answer(self, draw: Callable[[Entropy], Drawn], request: bytes) -> Drawn:
        self._asked[request] += 1
        key = hashlib.blake2b(request, digest_size=8, salt=self._asked[request].to_bytes(8, "little")).digest()
        return draw(SeededEntropy(np.random.SeedSequence([self._seed, int.from_bytes(key, "little")])))
