"""Tests of clients for programs that are not asynchronous."""

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from stream_ldp.client.errors import WrongCollection
from stream_ldp.client.reporter import Reporter
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.client.synchronous import SyncReporter, SyncSubscriber, run_blocking
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import BudgetExceeded, Terms
from stream_ldp.records.answer import Estimate
from stream_ldp.testing import kafka_in_memory
from tests.client.answer_topics import SETTINGS, published
from tests.client.examples import collection_of, of_minute
from tests.client.rankings import films
from tests.in_memory import START_MS

SECRET = bytes(range(32))


async def seven() -> int:
    await asyncio.sleep(0)
    return 7


def test_work_is_waited_for_and_returns_its_result() -> None:
    assert run_blocking(seven()) == 7


async def test_it_runs_where_a_loop_is_running_already() -> None:
    assert run_blocking(seven()) == 7


def test_what_it_raises_is_raised() -> None:
    async def failing() -> None:
        raise LookupError("nothing")

    with pytest.raises(LookupError, match="nothing"):
        run_blocking(failing())


def test_reports_are_taken_sent_and_refused_as_by_the_reporter() -> None:
    survey, record = collection_of(), {"bathing": "no", "mobility": "some"}
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=4.0))
    threads = threading.active_count()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        reporter = Reporter(survey, settings=kafka.settings, clock=kafka.clock, secret=SECRET, ledger=ledger)
        with SyncReporter(reporter) as client:
            assert client.report(record)
            assert client.flush() == client.acknowledged == 1
            assert client.report_many([(0, 1)] * 20, secrets=None) == 20
            with pytest.raises(BudgetExceeded):
                client.report_series([(0, 1)] * 30)
        assert kafka.reports("care-survey") == 21
    assert threading.active_count() == threads, "its thread has ended"
    with pytest.raises(RuntimeError, match="inside its `with` block"):
        client.report(record)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.timeout(20)
def test_a_process_that_was_forked_is_reported_to_open_a_client_of_its_own() -> None:
    collection = collection_of()
    with (
        kafka_in_memory(collection, now_ms=START_MS) as kafka,
        SyncReporter(Reporter(collection, settings=kafka.settings, clock=kafka.clock)) as reporter,
    ):
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            signal.alarm(10)  # A child that waits forever would outlive the test.
            try:
                reporter.report_many([], secrets=None)
            except RuntimeError as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as told:
            assert told.read() == (
                "the SyncReporter was opened before this process was forked: open one in each process"
            )
        os.waitpid(child, 0)


def test_what_the_beginning_of_the_block_raises_ends_its_thread() -> None:
    threads = threading.active_count()
    with kafka_in_memory(collection_of()) as kafka:
        other = Reporter(collection_of(mechanism="{kind: k-rr, epsilon: 2}"), settings=kafka.settings)
        with pytest.raises(WrongCollection), SyncReporter(other):
            pass
    assert threading.active_count() == threads


def test_where_no_event_loop_can_be_had_the_block_says_so_and_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left() -> NoReturn:
        raise OSError("Too many open files")

    threads = threading.active_count()
    with kafka_in_memory(collection_of()) as kafka:
        reporter = SyncReporter(Reporter(collection_of(), settings=kafka.settings))
        with monkeypatch.context() as patched:
            patched.setattr(asyncio.events, "new_event_loop", none_left)
            with pytest.raises(OSError, match="Too many open files"):
                reporter.__enter__()
        with pytest.raises(RuntimeError, match="not open"):
            reporter.flush()
    assert threading.active_count() == threads


async def test_a_client_may_be_used_where_a_loop_is_running_as_in_a_notebook() -> None:
    with kafka_in_memory(collection_of(), now_ms=START_MS) as kafka:
        with SyncReporter(Reporter(collection_of(), settings=kafka.settings, clock=kafka.clock)) as client:
            client.report_many([(0, 1)] * 5, secrets=None)
        assert kafka.reports("care-survey") == 5


def test_answers_are_iterated_over() -> None:
    with published(of_minute(0), of_minute(1)):
        subscriber = Subscriber("care-survey", settings=SETTINGS, from_beginning=True, follow=False)
        estimates: SyncSubscriber[Estimate]
        with SyncSubscriber(subscriber) as estimates:
            assert list(estimates) == [of_minute(0), of_minute(1)]


def test_item_sets_are_held(tmp_path: Path) -> None:
    ledger = PrivacyLedger.create(tmp_path / "ledger", secret=SECRET, terms=Terms(budget=10.0))
    with kafka_in_memory(films(), now_ms=START_MS) as kafka:
        reporter = Reporter(films(), settings=kafka.settings, clock=kafka.clock, secret=SECRET, ledger=ledger)
        kafka.broker.end_ms = START_MS + 10 * 60_000
        with SyncReporter(reporter) as client:
            client.report({"Alien", "Brazil"})
            client.report({"Alien"})
        assert client.acknowledged == kafka.reports("films")
