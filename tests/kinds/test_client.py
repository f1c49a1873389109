"""Clients of every kind: what a report shows and costs, what is refused, and what a restart remembers."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from stream_ldp.client.errors import WrongCollection
from stream_ldp.client.reporter import Reporter
from stream_ldp.collection import CollectionError
from stream_ldp.kafka.registry import Registration
from stream_ldp.kinds import collection_of_document, parse_collection
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Assumption, BudgetExceeded, Terms, TooManyValues
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.kind import Kind
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.kinds.subjects import Subject
from tests.kinds.users import START_MS, report_as_one, report_once, rows_sent

SECRET = bytes(range(32))
OTHERS = [bytes([user]) * 32 for user in range(6)]


def ledger_of(budget: float = math.inf, **terms: Any) -> PrivacyLedger:
    """Make a ledger whose user has agreed to what links reports, as some kinds do."""
    return PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=budget, linked=True, **terms))


@pytest.fixture
def repeating(kind: Kind[Any, Any, Any]) -> None:
    """Leave out kinds whose users answer rounds once each: tests/client/test_respondent.py has as much of them."""
    if kind.rounds is not None:
        pytest.skip("its users answer rounds, once each")


async def test_a_report_is_one_row_of_the_layout_and_costs_what_the_collection_says(
    memory: KafkaInMemory, collection: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    ledger = ledger_of()
    await report_as_one(memory, collection, subject.held[0], secret=SECRET, ledger=ledger)
    assert len(rows_sent(memory, collection)) == 1
    assert ledger.spending.epsilon == pytest.approx(subject.cost, abs=1e-6)


@pytest.mark.usefixtures("repeating")
async def test_a_client_that_starts_again_shows_the_same_and_pays_nothing_more(
    memory: KafkaInMemory, collection: Any, subject: Subject, kind: Kind[Any, Any, Any], tmp_path: Path
) -> None:
    path = tmp_path / "secret.ledger"
    PrivacyLedger.create(path, secret=SECRET, terms=Terms(budget=1_000.0, linked=True))
    for _ in range(2):
        ledger = PrivacyLedger.open(path, secret=SECRET)
        await report_as_one(memory, collection, subject.held[0], secret=SECRET, ledger=ledger)
        assert ledger.spending.epsilon == pytest.approx(subject.cost, abs=1e-6)
    rows = rows_sent(memory, collection)
    assert rows == [rows[0]] * 2


async def test_a_report_beyond_the_budget_is_refused_and_never_sent(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    ledger = ledger_of(0.99 * subject.cost)
    with pytest.raises(BudgetExceeded):
        await report_as_one(memory, collection, subject.held[0], secret=SECRET, ledger=ledger)
    assert memory.reports(collection.name) == 0
    assert ledger.spending.epsilon == 0


async def test_what_no_user_may_hold_is_refused_before_anything_is_spent_or_sent(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    ledger = ledger_of()
    for wrong in subject.refused.values():
        with pytest.raises(ValueError, match=r"^(attribute|an item|the place)") as caught:
            await report_as_one(memory, collection, wrong, secret=SECRET, ledger=ledger)
        assert "hidden" not in str(caught.value).lower()
    assert memory.reports(collection.name) == 0
    assert ledger.spending.epsilon == 0


async def test_a_client_with_another_file_is_refused_before_anything_is_spent_or_sent(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    other, ledger = parse_collection(subject.text.replace(*subject.another)), ledger_of()
    assert other.fingerprint != collection.fingerprint
    with pytest.raises(WrongCollection, match="is registered with fingerprint"):
        await report_as_one(memory, other, subject.held[0], secret=SECRET, ledger=ledger)
    assert memory.reports(collection.name) == 0
    assert ledger.spending.epsilon == 0


async def test_another_collection_is_paid_for_as_well(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    ledger = ledger_of(1.2 * subject.cost)
    await report_as_one(memory, collection, subject.held[0], secret=SECRET, ledger=ledger)
    other = parse_collection(subject.text.replace(*subject.another))
    with kafka_in_memory(other, now_ms=START_MS) as kafka, pytest.raises(BudgetExceeded):
        await report_as_one(kafka, other, subject.held[0], secret=SECRET, ledger=ledger)
    assert kafka.reports(other.name) == 0


def test_a_registration_says_what_a_name_means_and_how_another_file_differs(
    collection: Any, subject: Subject
) -> None:
    registered = Registration.of(collection)
    assert Registration.from_record(registered.key, registered.value) == registered
    again = collection_of_document(json.loads(json.dumps(registered.document)), source="the registry")
    assert (again.fingerprint, Registration.of(again)) == (collection.fingerprint, registered)
    with pytest.raises(CollectionError, match="the registry"):
        collection_of_document({**registered.document, "later": 1}, source="the registry")
    other = Registration.of(parse_collection(subject.text.replace(*subject.another)))
    assert registered.differences(registered) == ""
    assert registered.differences(other).startswith("mechanism.")


async def test_a_seed_repeats_the_reports_of_users_without_secrets(
    memory: KafkaInMemory, collection: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    for seed in (1, 1, 2):
        await report_once(memory, collection, subject.users(300), seed=seed)
    rows = rows_sent(memory, collection)
    # The rows of a batch are in an order of their own.
    first, same, other = (sorted(rows[begin : begin + 300]) for begin in (0, 300, 600))
    assert first == same
    assert first != other


def reporter(memory: KafkaInMemory, collection: Any, ledger: PrivacyLedger, **options: Any) -> Reporter:
    return Reporter(collection, settings=memory.settings, clock=memory.clock, secret=SECRET, ledger=ledger, **options)


@pytest.mark.usefixtures("repeating")
async def test_every_report_of_a_user_repeats_what_the_secret_determines(
    memory: KafkaInMemory, collection: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    ledger = ledger_of()
    async with reporter(memory, collection, ledger) as sender:
        for _ in range(20):
            await sender.report(subject.held[0])
    rows = rows_sent(memory, collection)
    assert rows == [rows[0]] * 20
    assert rows[0] in _permanent(collection, kind, subject.held[0])
    assert ledger.spending.epsilon == pytest.approx(subject.cost, abs=1e-6)


def _permanent(collection: Any, kind: Kind[Any, Any, Any], held: Any) -> list[list[int]]:
    """Return what the kind says that the user's secret determines, whatever the source of fresh noise."""
    table = collection.table([collection.encode(held)])
    rows: NDArray[Any] = kind.reports(
        collection, table, secrets=[SECRET], memoises=True, time_ms=0, entropy=SeededEntropy(9)
    )
    return rows.tolist()  # type: ignore[no-any-return]


@pytest.mark.usefixtures("repeating")
async def test_another_value_is_refused_or_paid_for(memory: KafkaInMemory, collection: Any, subject: Subject) -> None:
    first, second = subject.held
    async with reporter(memory, collection, ledger_of()) as sender:
        await sender.report(first)
        with pytest.raises(TooManyValues, match="has had another value"):
            await sender.report(second)
    assert memory.reports(collection.name) == 1
    ledger = ledger_of(assumption=Assumption.VALUES, max_values=2)
    async with reporter(memory, collection, ledger) as sender:
        for held in (first, second, first):
            await sender.report(held)
    assert ledger.spending.epsilon == pytest.approx(2 * subject.cost, abs=1e-6)


@pytest.mark.usefixtures("repeating")
async def test_fresh_noise_is_drawn_and_paid_for_every_time(
    memory: KafkaInMemory, collection: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    """Of 60 reports by this seed, not all have the same noise."""
    ledger = ledger_of(assumption=Assumption.FRESH)
    async with reporter(memory, collection, ledger, entropy=SeededEntropy(1)) as sender:
        for _ in range(60):
            await sender.report(subject.held[0])
    assert len(set(map(tuple, rows_sent(memory, collection)))) > 1
    assert ledger.spending.epsilon == pytest.approx(60 * subject.cost, rel=1e-6)


@pytest.mark.usefixtures("repeating")
async def test_a_backend_reports_for_many_users_with_a_ledger_of_each(
    memory: KafkaInMemory, collection: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    """The last user cannot pay: that report alone is left out."""
    budgets = [1_000.0] * 5 + [0.99 * subject.cost]
    ledgers = [
        PrivacyLedger.in_memory(secret=secret, terms=Terms(budget=budget, linked=True))
        for secret, budget in zip(OTHERS, budgets, strict=True)
    ]
    refused: dict[int, Exception] = {}
    async with Reporter(collection, settings=memory.settings, clock=memory.clock) as sender:
        for _ in range(2):
            assert (
                await sender.report_many(
                    subject.users(6), secrets=OTHERS, ledgers=ledgers, on_refused=refused.__setitem__
                )
                == 5
            )
    rows = rows_sent(memory, collection)
    assert sorted(rows)[::2] == sorted(rows)[1::2], "each of the five repeats a report"
    assert [each.spending.epsilon for each in ledgers] == pytest.approx([subject.cost] * 5 + [0], abs=1e-6)
    assert list(refused) == [5]
    assert isinstance(refused[5], BudgetExceeded)


@pytest.mark.usefixtures("repeating")
def test_no_records_cost_nothing(collection: Any, kind: Kind[Any, Any, Any]) -> None:
    assert kind.charges(collection, collection.table([]), secret=SECRET, tag_key=SECRET) == ()


def turns_of(collection: Any) -> list[int]:
    """List event times within the turns from the one at `START_MS` on, of which three follow each other."""
    return [START_MS + number * collection.turn_ms + 2_000 for number in range(7)]


async def told(
    kafka: KafkaInMemory, collection: Any, held: Any, ledger: PrivacyLedger, times: list[int]
) -> list[int]:
    """Let a user report at some times, and return those at which a report was made."""
    found = []
    for time_ms in times:
        kafka.broker.now_ms = time_ms
        async with reporter(kafka, collection, ledger) as sender:
            found += [time_ms] if await sender.report(held) is not None else []
    return found


@pytest.mark.usefixtures("repeating")
async def test_a_user_has_one_turn_in_three_whatever_is_held_and_however_the_clock_jumps(
    rotated: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    times = turns_of(rotated)
    with kafka_in_memory(rotated, now_ms=START_MS) as kafka:
        asked = [bool(rotated.asks([SECRET], time_ms=time_ms)[0]) for time_ms in times]
        mine = [time_ms for time_ms, asks in zip(times, asked, strict=True) if asks]
        assert [sum(asked[first : first + 3]) for first in range(5)] == [1] * 5
        for held in subject.held:
            again = [time_ms + more for time_ms in times for more in (0, 500)]
            assert await told(kafka, rotated, held, ledger_of(), again) == mine
        # A clock that was three windows ahead, and one that is set back by six.
        ledger = ledger_of()
        assert await told(kafka, rotated, subject.held[0], ledger, [mine[1], mine[0], mine[1]]) == [mine[1]]
        assert await told(kafka, rotated, subject.held[0], ledger, [mine[1] + 3 * rotated.turn_ms]) != []


@pytest.mark.usefixtures("repeating")
async def test_a_backend_reports_for_those_who_have_their_turn(
    rotated: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    """Of 60 users, each once in three windows; of 900 without secrets, a third: seeded, else 14 is the deviation."""
    secrets = [bytes([1, user]) * 16 for user in range(60)]
    terms = Terms(budget=math.inf, linked=True)
    ledgers = [PrivacyLedger.in_memory(secret=secret, terms=terms) for secret in secrets]
    with kafka_in_memory(rotated, now_ms=START_MS) as kafka:
        reported = []
        for time_ms in turns_of(rotated)[:3]:
            kafka.broker.now_ms = time_ms
            async with Reporter(rotated, settings=kafka.settings, clock=kafka.clock) as sender:
                users = subject.users(60)
                reported += [
                    await sender.report_many(users, secrets=secrets, ledgers=ledgers) for _ in ("first", "again")
                ]
        assert sum(reported) == 60
        assert all(reported[::2])
        assert reported[1::2] == [0] * 3
        await report_once(kafka, rotated, subject.users(900))
        assert abs(len(rows_sent(kafka, rotated)) - 60 - 300) < 70


@pytest.mark.usefixtures("repeating")
async def test_several_records_in_a_turn_are_refused(
    rotated: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    with kafka_in_memory(rotated, now_ms=START_MS) as kafka:
        async with reporter(kafka, rotated, ledger_of()) as sender:
            with pytest.raises(ValueError, match="reports once in a turn: give one record"):
                await sender.report_series([rotated.encode(subject.held[0])] * 2)
