"""The ledger of a user: what is told is on the disk before it is sent, whatever happens, and no more than agreed."""

from __future__ import annotations

import asyncio
import errno
import json
import math
import os
import signal
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import Result

from stream_ldp.cli.report import report
from stream_ldp.client.errors import DeliveryError
from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.settings import Settings
from stream_ldp.ledger.ledger import AlreadyReported, TurnTaken
from stream_ldp.ledger.ledger_file import LooserTerms, PrivacyLedger, load_or_create_user
from stream_ldp.ledger.reports import PhaseReport
from stream_ldp.ledger.secret import SecretError, ledger_file_of, load_or_create_secret
from stream_ldp.ledger.store import LedgerError
from stream_ldp.ledger.terms import (
    DEFAULT_BUDGET,
    Assumption,
    BudgetExceeded,
    DayBudgetExceeded,
    ReportRefused,
    Terms,
    TooManyValues,
)
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import charges
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.reports import charges as of_sets
from tests.client.examples import collection_of, write_survey
from tests.client.fakes import FakeBroker
from tests.client.items import EPOCH, film_round, films
from tests.forked import PRELOADED, PROCESSES
from tests.ledger.kills import killed
from tests.ledger.ledgers import COLLECTION, NOON_MS, SECRET, UNLIMITED, counted, opened, spend

SETTINGS = Settings.load(brokers="nowhere:1")
PERMANENT_ONLY = collection_of(mechanism="{kind: rr-ldp, f: 0.25}")
RECORD = {"bathing": "no", "mobility": "some"}
OTHER = {"bathing": "no", "mobility": "full"}
VALUES: dict[str, Any] = {"assumption": Assumption.VALUES, "max_values": 2}


@pytest.fixture(scope="module", autouse=True)
def _import_once() -> None:
    """Let the process from which those of these tests are forked import all of this: it takes seconds."""
    PROCESSES.set_forkserver_preload([*PRELOADED, __name__])


def apart(body: Callable[[Path], None], directory: Path) -> None:
    """Run the body of a test in a process of its own: it forks at every step, and one with all tests is large."""
    process = PROCESSES.Process(target=body, args=(directory,))
    process.start()
    process.join()
    assert process.exitcode == 0, "its error is above"


# What is spent stays spent.


@settings(max_examples=20, deadline=None)
@given(restarts=st.lists(st.booleans(), max_size=6))
def test_what_was_spent_is_remembered_after_a_restart(
    restarts: list[bool], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("user") / "ledger"
    ledger = PrivacyLedger.create(path, secret=SECRET, terms=UNLIMITED)
    for reports, restart in enumerate(restarts, start=1):
        spend(ledger)
        if restart:
            ledger = opened(path)
        assert counted(ledger) == reports
        assert ledger.spending.epsilon == COLLECTION.mechanism.epsilon(reports=reports)
    assert opened(path).spending == ledger.spending


def test_what_is_spent_on_several_collections_adds_up(path: Path) -> None:
    another = collection_of(name="another", mechanism="{kind: rr-ldp, f: 0.5}")
    each = COLLECTION.mechanism.epsilon(reports=1), another.mechanism.epsilon(reports=1)
    spend(opened(path))
    spend(opened(path), (1, 2), another)
    assert opened(path).spending.epsilon == pytest.approx(sum(each), abs=1e-12)
    with pytest.raises(BudgetExceeded):
        spend(opened(path, budget=sum(each)))


def test_a_budget_still_holds_after_a_restart(path: Path) -> None:
    budget = COLLECTION.mechanism.epsilon(reports=3)
    for _ in range(3):
        spend(opened(path, budget=budget))
    before = path.read_bytes()
    with pytest.raises(BudgetExceeded, match=r"0\.000 are left") as refusal:
        spend(opened(path, budget=budget))
    assert refusal.value.cost == COLLECTION.mechanism.epsilon(reports=4) - budget
    assert path.read_bytes() == before


def test_a_copy_that_is_put_back_gives_no_other_turn_and_no_other_noise(path: Path) -> None:
    """Of a copy with all that is beside it, what was spent since is forgotten.

    Turns and permanent noise come of the secret, and not of the ledger.
    """
    collection = JointCollection.model_validate({**COLLECTION.document, "rotate": 4})
    numbers = [number for number in range(100) if collection.has_turn([SECRET], number=number)[0]]
    ledger = opened(path, budget=math.inf)
    copy, shown = path.read_bytes(), charges(collection, [(0, 1)], secret=SECRET, tag_key=ledger.tag_key)
    turn_ms = collection.turn_ms

    def report(number: int) -> float:
        return ledger.spend(shown, time_ms=number * turn_ms, turn=collection.turn(number)).spent

    once = report(numbers[1])
    with pytest.raises(TurnTaken):
        report(numbers[1])
    path.write_bytes(copy)
    with pytest.raises(
        LedgerError, match=r"an older copy, which lacks the last 1 update: what was spent since is not"
    ):
        report(numbers[1])
    newest_of(path).unlink()
    assert report(numbers[1]) == once  # as if it had never been
    around = range(numbers[1] - 3, numbers[1] + 4)
    assert [number for number in around if collection.has_turn([SECRET], number=number)[0]] == [numbers[1]]
    words = [collection.words.words(SECRET, (0, 1)).tolist() for _ in range(2)]
    assert words[0] == words[1]


def test_a_second_value_is_refused_after_a_restart_unless_it_was_agreed_to(path: Path) -> None:
    spend(opened(path), (0, 1))
    with pytest.raises(TooManyValues, match="the answer about mobility"):
        spend(opened(path), (0, 2))
    spend(opened(path), (0, 1))
    spend(opened(path, assumption=Assumption.VALUES, max_values=2), (0, 2))
    with pytest.raises(TooManyValues, match="the answer about mobility has had 2 other values"):
        spend(opened(path), (0, 0))
    assert opened(path).spending.assumption is Assumption.VALUES


def _spend_and_tell(path: Path, told: Connection) -> None:
    ledger = opened(path)
    while True:
        spend(ledger)
        told.send_bytes(b"sent")


@pytest.mark.parametrize("sent", [1, 20])
def test_a_killed_client_has_sent_no_more_than_it_has_counted(path: Path, sent: int) -> None:
    receiving, sending = PROCESSES.Pipe(duplex=False)
    client = PROCESSES.Process(target=_spend_and_tell, args=(path, sending))
    client.start()
    sending.close()
    arrived = 0
    try:
        while arrived < sent:
            receiving.recv_bytes()
            arrived += 1
        assert client.pid is not None
        os.kill(client.pid, signal.SIGKILL)
        while True:
            receiving.recv_bytes()
            arrived += 1
    except EOFError:
        pass
    finally:
        client.kill()
        client.join()
    assert arrived >= sent
    assert arrived <= counted(opened(path)) <= arrived + 1
    spend(opened(path))


def _spend_all(path: Path, times: int, budget: float, accepted: Connection) -> None:
    ledger = opened(path, budget=budget)
    done = 0
    for _ in range(times):
        try:
            spend(ledger)
        except ReportRefused:
            continue
        done += 1
    accepted.send(done)


def test_two_processes_with_one_secret_count_all_that_they_send(path: Path) -> None:
    affordable = 30
    pipes = [PROCESSES.Pipe(duplex=False) for _ in range(2)]
    budget = COLLECTION.mechanism.epsilon(reports=affordable)
    clients = [PROCESSES.Process(target=_spend_all, args=(path, 25, budget, sending)) for _, sending in pipes]
    for client, (_, sending) in zip(clients, pipes, strict=True):
        client.start()
        # Or a client that ends by an error would be waited for.
        sending.close()
    accepted = sum(receiving.recv() for receiving, _ in pipes)
    for client in clients:
        client.join()
    assert counted(opened(path)) == accepted == affordable


@pytest.mark.parametrize("step", ["fsync", "replace"])
async def test_a_full_disk_lets_no_report_out(
    broker: FakeBroker, path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async with reporter(opened(path)) as sender:
        await sender.report(RECORD)
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(LedgerError, match=r"cannot be written, so nothing was sent: No space left"):
                await sender.report(RECORD)
        assert counted(opened(path)) == 1
        await sender.report(RECORD)
    assert broker.decoded().counts.sum() == 2
    assert _names(path.parent) == [".secret.ledger.lock", ".secret.ledger.newest", "secret.ledger"]


# What is damaged, missing or another's is said, and never taken for nothing.


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"nothing/ledger: No such file"):
        PrivacyLedger.create(tmp_path / "nothing" / "ledger", secret=SECRET, terms=UNLIMITED)
    (tmp_path / "file").touch()
    with pytest.raises(SecretError, match=r"file/secret"):
        load_or_create_user(tmp_path / "file" / "secret", terms=UNLIMITED)
    (tmp_path / "directory").mkdir()
    with pytest.raises(LedgerError, match=r"directory: Is a directory"):
        opened(tmp_path / "directory")


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a user secret has 32 bytes, got 5"):
        PrivacyLedger.in_memory(secret=b"short")


# What a thief of the file finds.


def test_a_ledger_holds_neither_value_nor_secret_and_only_its_owner_may_read_it(path: Path) -> None:
    telltale = JointCollection.model_validate(
        COLLECTION.document
        | {"attributes": [{"name": "bathing", "values": ["zebra", "gnu"]}]}
        | {"estimates": [{"name": "all", "of": ["bathing"]}]}
    )
    files = {}
    for value in range(2):
        user = path.with_name(f"user-{value}")
        ledger = PrivacyLedger.create(user, secret=SECRET, terms=UNLIMITED)
        spend(ledger, (value,), telltale)
        files[value] = user.read_text(encoding="utf-8")
        assert stat.S_IMODE(user.stat().st_mode) == 0o600
        for telling in ("zebra", "gnu", SECRET.hex()):
            assert telling not in files[value]
    # All that differs between two users are the tag and the seal, which are noise to who does not know the secret.
    first, second = (
        {**json.loads(each.split("\n")[0])["spending"]["accounts"][0], "tags": None} for each in files.values()
    )
    assert first == second
    responses = {
        np.frombuffer(telltale.permanent_words().words(SECRET, [value]), "<u4").tobytes().hex() for value in (0, 1)
    }
    assert not any(response[:16] in text for response in responses for text in files.values())


# A secret and its ledger belong together.


def test_a_new_user_has_both_a_secret_and_a_ledger(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "secret"
    secret, ledger = load_or_create_user(file, terms=UNLIMITED)
    spend(ledger)
    again, reopened = load_or_create_user(file, terms=Terms(budget=9.0))
    assert again == secret == load_or_create_secret(file)
    assert counted(reopened) == 1
    assert reopened.terms.budget == 9.0
    assert _names(file.parent) == FILES


def test_a_known_secret_without_a_ledger_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    load_or_create_secret(file)
    with pytest.raises(LedgerError, match=r"(?s)secret\.ledger: the ledger is missing.*-> put it back"):
        load_or_create_user(file, terms=UNLIMITED)
    assert not ledger_file_of(file).exists()


def test_a_ledger_whose_secret_is_lost_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    _, ledger = load_or_create_user(file, terms=UNLIMITED)
    spend(ledger)
    file.unlink()
    with pytest.raises(LedgerError, match=r"(?s)whose secret .*secret is missing.*-> put the secret back"):
        load_or_create_user(file, terms=UNLIMITED)
    assert not file.exists()


def test_clients_that_create_a_user_at_the_same_time_get_the_same_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for attempt in range(10):
            users = list(pool.map(partial(load_or_create_user, terms=UNLIMITED), [tmp_path / str(attempt)] * 8))
            assert len({secret for secret, _ in users}) == 1


#: Names of the files of a new user, and of one who has reported.
NEW = [".secret.ledger.lock", "secret", "secret.ledger"]
FILES = sorted([*NEW, ".secret.ledger.newest"])


def _names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


#: Every how many places of a kill a quick run takes; each of them takes two forks, and the long tests take all.
STRIDE = 4


def _start_and_be_killed(directory: Path, *, stride: int = STRIDE) -> None:
    place = 0
    while killed(partial(load_or_create_user, directory / f"{place}" / "secret", terms=UNLIMITED), at=place):
        file = directory / f"{place}" / "secret"
        # A second start is killed as well, in its turn at every place.
        killed(partial(load_or_create_user, file, terms=Terms(budget=5.0)), at=place * 7 % 60)
        secret, ledger = load_or_create_user(file, terms=Terms(budget=9.0), change_terms=True)
        spend(ledger)
        assert (counted(ledger), ledger.terms.budget) == (1, 9.0)
        assert _names(file.parent) == FILES
        assert load_or_create_secret(file) == secret
        place += stride
    assert place > 60


def test_a_first_start_that_is_killed_anywhere_leaves_a_user_who_can_report(tmp_path: Path) -> None:
    apart(_start_and_be_killed, tmp_path)


def _make_a_secret_and_be_killed(directory: Path, *, stride: int = STRIDE) -> None:
    place = 0
    while killed(partial(load_or_create_secret, directory / f"{place}" / "secret"), at=place):
        file = directory / f"{place}" / "secret"
        assert load_or_create_secret(file) == load_or_create_secret(file)
        assert _names(file.parent) == [".secret.ledger.lock", "secret"]
        place += stride
    assert place > 40


def test_a_secret_whose_making_is_killed_anywhere_is_made_by_the_next_start(tmp_path: Path) -> None:
    apart(_make_a_secret_and_be_killed, tmp_path)


def test_an_unfinished_user_gets_the_terms_of_the_start_that_finishes(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    load_or_create_user(file, terms=Terms(budget=5.0))
    file.rename(tmp_path / ".secret.draft")
    with pytest.raises(LedgerError, match=r"a new one needs a budget"):
        load_or_create_user(file)
    assert load_or_create_user(file, terms=Terms(budget=9.0))[1].terms.budget == 9.0
    assert _names(tmp_path) == NEW


@pytest.mark.parametrize("content", ["", "00", f"{'00' * 32}\n"])
def test_a_draft_is_not_taken_for_the_secret_of_a_ledger_that_it_did_not_seal(tmp_path: Path, content: str) -> None:
    file, draft = tmp_path / "secret", tmp_path / ".secret.draft"
    load_or_create_user(file, terms=UNLIMITED)
    file.unlink()
    draft.write_text(content)
    draft.chmod(0o600)
    with pytest.raises(LedgerError, match=r"put the secret back"):
        load_or_create_user(file, terms=UNLIMITED)
    ledger_file_of(file).unlink()
    load_or_create_user(file, terms=UNLIMITED)
    assert _names(tmp_path) == NEW


def test_a_draft_of_a_user_who_has_reported_is_not_taken_for_an_unfinished_one(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    spend(load_or_create_user(file, terms=UNLIMITED)[1])
    file.rename(tmp_path / ".secret.draft")
    with pytest.raises(LedgerError, match=r"put the secret back"):
        load_or_create_user(file, terms=UNLIMITED)


def _report_twice(file: Path, sent: int) -> None:
    _, ledger = load_or_create_user(file)
    for _ in range(2):
        spend(ledger)
        os.write(sent, b"sent")


def _report_and_be_killed(directory: Path, *, stride: int = STRIDE) -> None:
    file = directory / "secret"
    load_or_create_user(file, terms=UNLIMITED)
    place, all_sent = 0, 0
    going_on = True
    while going_on:
        receiving, sending = os.pipe()
        before = counted(load_or_create_user(file)[1])
        going_on = killed(partial(_report_twice, file, sending), at=place)
        os.close(sending)
        sent = len(os.read(receiving, 100)) // len(b"sent")
        os.close(receiving)
        _, ledger = load_or_create_user(file)
        assert sent <= counted(ledger) - before <= sent + 1
        place, all_sent = place + stride, all_sent + sent
    assert place > 100
    assert all_sent > 40 // stride
    assert _names(directory) == FILES


def test_a_client_that_is_killed_anywhere_has_sent_no_more_than_it_has_counted(tmp_path: Path) -> None:
    apart(_report_and_be_killed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("body", [_start_and_be_killed, _make_a_secret_and_be_killed, _report_and_be_killed])
def test_a_user_outlives_a_kill_at_every_single_place(body: Callable[..., None], tmp_path: Path) -> None:
    apart(partial(body, stride=1), tmp_path)


# The reporter.


def reporter(ledger: PrivacyLedger | None, collection: JointCollection = COLLECTION, **options: Any) -> Reporter:
    defaults: dict[str, Any] = {"secret": SECRET, "linger": 3600.0, "clock": lambda: 0}
    return Reporter(collection, settings=SETTINGS, ledger=ledger, **(defaults | options))


async def test_a_report_leaves_only_after_it_is_counted_on_the_disk(
    broker: FakeBroker, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = broker.receive
    on_disk: list[int] = []

    def received(topic: str, **arguments: Any) -> asyncio.Future[None]:
        on_disk.append(counted(opened(path)))
        return receive(topic, **arguments)

    monkeypatch.setattr(broker, "receive", received)
    async with reporter(opened(path), max_reports=1) as sender:
        for _ in range(3):
            await sender.report(RECORD)
    assert on_disk == [1, 2, 3]


async def test_a_refused_report_is_neither_counted_nor_sent_nor_repeated_in_the_error(
    broker: FakeBroker, path: Path
) -> None:
    budget = COLLECTION.mechanism.epsilon(reports=2)
    async with reporter(opened(path, budget=budget)) as sender:
        await sender.report(RECORD)
        with pytest.raises(TooManyValues, match="the answer about mobility has had another value") as refusal:
            await sender.report(OTHER)
        assert "full" not in str(refusal.value)
        assert "some" not in str(refusal.value)
        await sender.report(RECORD)
        with pytest.raises(BudgetExceeded, match=r"nothing was sent"):
            await sender.report(RECORD)
        assert counted(opened(path)) == 2
    assert broker.decoded().counts.sum() == 2


async def test_a_series_is_sent_as_a_whole_or_not_at_all(broker: FakeBroker, path: Path) -> None:
    budget = COLLECTION.mechanism.epsilon(reports=2)
    async with reporter(opened(path, budget=budget)) as sender:
        await sender.report_series([])
        with pytest.raises(BudgetExceeded):
            await sender.report_series([[0, 1]] * 3)
        assert counted(opened(path)) == 0
        await sender.report_series([[0, 1]] * 2)
    assert counted(opened(path)) == 2
    assert broker.decoded().counts.sum() == 2


async def test_a_record_that_does_not_fit_is_not_counted(broker: FakeBroker, path: Path) -> None:
    async with reporter(opened(path)) as sender:
        with pytest.raises(ValueError, match=r"mobility"):
            await sender.report({"bathing": "no", "mobility": "wheelchair"})
        with pytest.raises(ValueError, match=r"attribute 1 has a value outside"):
            await sender.report_series([[0, 3]])
    with pytest.raises(RuntimeError, match=r"not open"):
        await sender.report(RECORD)
    assert counted(opened(path)) == 0


async def test_a_lost_report_stays_counted(broker: FakeBroker, path: Path) -> None:
    broker.holding = True
    with pytest.raises(DeliveryError):
        async with reporter(opened(path), delivery_timeout=0.01) as sender:
            await sender.report(RECORD)
    assert counted(opened(path)) == 1


async def test_a_cancelled_report_is_counted_and_not_sent(broker: FakeBroker, path: Path) -> None:
    async with reporter(opened(path)) as sender:
        reporting = asyncio.create_task(sender.report(RECORD))
        await asyncio.sleep(0)
        reporting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reporting
        await asyncio.get_running_loop().shutdown_default_executor()
    assert counted(opened(path)) == 1
    assert broker.sent == []


async def test_a_reporter_without_a_ledger_refuses_a_second_value(broker: FakeBroker) -> None:
    strong = collection_of(mechanism="{kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}")
    async with reporter(None, strong) as sender:
        for _ in range(3):
            await sender.report(RECORD)
        with pytest.raises(TooManyValues, match="the answer about mobility"):
            await sender.report(OTHER)
    assert broker.decoded(strong).counts.sum() == 3


async def test_fresh_reports_draw_their_permanent_responses_anew(broker: FakeBroker, path: Path) -> None:
    """Or their sum would not bound what they tell."""
    fresh = opened(path, assumption=Assumption.FRESH)
    async with reporter(fresh, PERMANENT_ONLY) as sender:
        for _ in range(40):
            await sender.report(RECORD)
        await sender.flush()
        # All 40 alike: below 10^-10, as no response has a probability above 0.52.
        assert len(np.unique(broker.decoded(PERMANENT_ONLY).rows)) > 1
        await sender.report(OTHER)
    assert opened(path).spending.epsilon == pytest.approx(41 * PERMANENT_ONLY.mechanism.epsilon(), rel=1e-12)


async def test_memoised_reports_repeat_the_permanent_response_of_each_value(broker: FakeBroker, path: Path) -> None:
    values = opened(path, assumption=Assumption.VALUES, max_values=2)
    async with reporter(values, PERMANENT_ONLY) as sender:
        for _ in range(20):
            await sender.report(RECORD)
            await sender.report(OTHER)
    assert len(np.unique(broker.decoded(PERMANENT_ONLY).rows)) <= 2
    mobility_twice = 3 * PERMANENT_ONLY.mechanism.epsilon(neighbours=1, reports=math.inf)
    assert values.spending.epsilon == pytest.approx(mobility_twice, abs=1e-9)


async def test_the_reporters_user_cannot_bypass_the_ledger(broker: FakeBroker, path: Path) -> None:
    async with reporter(opened(path)) as sender:
        with pytest.raises(ValueError, match=r"reports by report or report_series"):
            await sender.report_many([[0, 1], [0, 1]], secrets=[bytes(32), SECRET])
        await sender.report_many([[0, 1]], secrets=[bytes(32)])
        await sender.report_many([[0, 1]], secrets=None)
    assert counted(opened(path)) == 0


async def test_a_reporter_with_a_ledger_needs_the_secret_of_the_same_user(broker: FakeBroker, path: Path) -> None:
    with pytest.raises(ValueError, match=r"another secret"):
        reporter(opened(path), secret=bytes(32))
    with pytest.raises(ValueError, match=r"give both"):
        reporter(opened(path), secret=None)


# The command.

Run = Callable[..., Result]


@pytest.fixture
def secret_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the directory of the default secret, so that it is never the developer's own."""
    monkeypatch.setattr(typer, "get_app_dir", lambda _: str(tmp_path / "settings"))
    return tmp_path / "settings" / "secret"


def csv_file(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "records.csv"
    path.write_text("\n".join(["bathing,mobility", *lines]) + "\n", encoding="utf-8")
    return path


def test_a_command_remembers_what_the_one_before_spent(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path, secret_file: Path
) -> None:
    budget = COLLECTION.mechanism.epsilon(reports=3)
    records = csv_file(tmp_path, "no,some", "no,some")
    first = command_line(report, survey, records, "--budget", budget)
    assert first.exit_code == 0
    published, receipt, spent = first.stdout.splitlines()
    assert published == "2 reports of one user published"
    assert receipt.startswith("Sent to care-survey: 2 reports, the first with 1 byte, ")
    assert f"1.337 of {budget:g} are left." in receipt
    assert receipt.endswith("is now 99.7 % right.")
    assert spent == f"5.546 of {budget:g} nats spent: {Assumption.CONSTANT.promise}"
    second = command_line(report, survey, records, "--budget", budget)
    assert second.exit_code == 1
    assert second.stdout.startswith("1 report of one user published\n"), "the line that it buys is published"
    assert "0.000 are left of a budget" in second.stderr
    assert broker.decoded().counts.sum() == 3
    assert ledger_file_of(secret_file).exists()


def test_different_records_of_one_user_are_published_only_if_agreed_to(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path, secret_file: Path
) -> None:
    records = csv_file(tmp_path, "no,some", "no,full", "no,some")
    result = command_line(report, survey, records, "--budget", "inf")
    assert result.exit_code == 1
    assert result.stdout.startswith("1 report of one user published\n")
    assert "the answer about mobility has had another value" in result.stderr
    assert "--many-users" in result.stderr
    assert "--assume values --max-values N" in result.stderr
    values = ["--assume", "values", "--max-values", 2]
    refused = command_line(report, survey, records, *values)
    assert refused.exit_code == 1
    assert "not agreed to the assumption 'values' (at most 2) instead of the assumption 'constant'" in refused.stderr
    agreed = command_line(report, survey, records, *values, "--change-terms")
    assert (agreed.exit_code, agreed.stderr) == (0, "")
    assert "when they change is not hidden" in agreed.stdout
    fresh = command_line(report, survey, csv_file(tmp_path, "yes,none"), "--assume", "fresh", "--change-terms")
    assert fresh.exit_code == 0
    assert fresh.stdout.rstrip().endswith("not hidden; in reports with fresh permanent noise, anything may change")
    assert broker.decoded().counts.sum() == 1 + 3 + 1


def test_a_known_secret_without_a_ledger_reports_only_with_new_ledger(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path, secret_file: Path
) -> None:
    load_or_create_secret(secret_file)
    records = csv_file(tmp_path, "no,some")
    refused = command_line(report, survey, records)
    assert refused.exit_code == 1
    assert "--new-ledger" in refused.stderr
    budgetless = command_line(report, survey, records, "--new-ledger")
    assert budgetless.exit_code == 2
    assert "--new-ledger needs --budget" in budgetless.stderr
    assert broker.sent == []
    assert command_line(report, survey, records, "--new-ledger", "--budget", "inf").exit_code == 0
    assert command_line(report, survey, records).exit_code == 0
    again = command_line(report, survey, records, "--new-ledger", "--budget", "inf")
    assert again.exit_code == 1
    assert "there is a ledger already" in again.stderr


def test_a_ledger_that_is_damaged_during_the_command_is_noticed(
    broker: FakeBroker,
    command_line: Run,
    survey: Path,
    tmp_path: Path,
    secret_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receive = broker.receive

    def damage(topic: str, **arguments: Any) -> asyncio.Future[None]:
        ledger_file_of(secret_file).write_text("damaged", encoding="utf-8")
        return receive(topic, **arguments)

    monkeypatch.setattr(broker, "receive", damage)
    result = command_line(report, survey, csv_file(tmp_path, "no,some"), "--budget", "inf")
    assert result.exit_code == 1
    assert "damaged, or the ledger of another secret" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--budget", "0"),
        ("--budget", "nan"),
        ("--budget", "4", "--assume", "values"),
        ("--budget", "4", "--max-values", "2"),
        ("--budget", "4", "--per-day", "-1"),
        ("--many-users", "--change-terms"),
        ("--many-users", "--budget", "2"),
        ("--many-users", "--assume", "values", "--max-values", "2"),
        ("--many-users", "--new-ledger"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path, secret_file: Path, options: tuple[str, ...]
) -> None:
    result = command_line(report, survey, csv_file(tmp_path, "no,some"), *options)
    assert result.exit_code == 2
    assert "--budget" in result.stderr
    assert broker.sent == []
    assert not secret_file.exists()


def test_reports_to_another_collection_count_against_the_same_budget(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path, secret_file: Path
) -> None:
    another = write_survey(tmp_path / "another.yaml", name="another")
    broker.topics.add("stream-ldp.another.reports")
    records = csv_file(tmp_path, "no,some")
    budget = 2 * COLLECTION.mechanism.epsilon()
    for file, exit_code in ((survey, 0), (another, 0), (survey, 1), (another, 1)):
        assert command_line(report, file, records, "--budget", budget).exit_code == exit_code


def test_a_budget_holds_for_the_next_command_which_does_not_give_it(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path, secret_file: Path
) -> None:
    records = csv_file(tmp_path, "no,some")
    budget = COLLECTION.mechanism.epsilon(reports=1)
    assert command_line(report, survey, records, "--budget", budget).exit_code == 0
    refused = command_line(report, survey, records)
    assert refused.exit_code == 1
    assert "0.000 are left of a budget of 3.15383" in refused.stderr
    raised = command_line(report, survey, records, "--budget", 8)
    assert raised.exit_code == 1
    assert "not agreed to a budget of 8 instead of 3.15383 nats" in raised.stderr
    assert broker.decoded().counts.sum() == 1
    assert command_line(report, survey, records, "--budget", 8, "--change-terms").exit_code == 0
    assert command_line(report, survey, records, "--per-day", 2).exit_code == 1, "of which 5.546 are spent today"
    assert command_line(report, survey, records, "--budget", 6).exit_code == 1
    assert broker.decoded().counts.sum() == 2
    assert PrivacyLedger.open(ledger_file_of(secret_file), secret=load_or_create_secret(secret_file)).terms == Terms(
        budget=6.0, per_day=2.0
    )


def test_a_new_user_is_asked_for_a_budget_and_told_where_the_files_are(
    broker: FakeBroker,
    command_line: Run,
    survey: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    records = csv_file(tmp_path, "no,some")
    monkeypatch.chdir(tmp_path)
    result = command_line(report, survey, records, "--secret-file", "mine")
    assert result.exit_code == 1
    assert "a new one needs a budget" in result.stderr
    assert not (tmp_path / "mine").exists()
    assert command_line(report, survey, records, "--secret-file", "mine", "--budget", 4).exit_code == 0
    assert f"{tmp_path / 'mine'}: a new user, with a budget of 4 nats; keep this file and mine.ledger" in caplog.text
    caplog.clear()
    assert command_line(report, survey, records, "--secret-file", "mine").exit_code == 1
    assert "new user" not in caplog.text


# Terms.


def newest_of(path: Path) -> Path:
    """The file beside a ledger which has the number of its newest update."""
    return path.with_name(f".{path.name}.newest")


def test_an_older_copy_that_is_put_back_stops_the_client_and_says_what_to_do(path: Path) -> None:
    ledger = opened(path)
    spend(ledger)
    copy = path.read_bytes()
    spend(ledger)
    spend(ledger)
    newest, spent = path.read_bytes(), ledger.spending
    assert newest_of(path).stat().st_mode & 0o777 == 0o600
    path.write_bytes(copy)
    with pytest.raises(LedgerError, match=r"(?s)lacks the last 2 updates.*delete .*\.newest"):
        PrivacyLedger.open(path, secret=SECRET)
    with pytest.raises(LedgerError, match="lacks the last 2 updates"):
        spend(ledger)
    path.write_bytes(newest)
    assert PrivacyLedger.open(path, secret=SECRET).spending == spent


@pytest.mark.parametrize("left", [b"", b"0000", b"00000000000000000001\n", b"\0" * 21, None])
def test_a_number_of_the_newest_update_that_a_power_failure_tore_stops_nobody(path: Path, left: bytes | None) -> None:
    """It is written after the ledger, so that what is left of it is older, or nothing."""
    ledger = opened(path)
    spend(ledger)
    spend(ledger)
    newest_of(path).unlink() if left is None else newest_of(path).write_bytes(left)
    spend(PrivacyLedger.open(path, secret=SECRET))
    assert counted(ledger) == 3
    assert int(newest_of(path).read_bytes()) >= 3


def test_what_costs_nothing_more_is_sent_where_stricter_terms_leave_nothing(path: Path) -> None:
    ledger = opened(path, **VALUES)
    spend(ledger, collection=PERMANENT_ONLY)
    spent = ledger.spending.epsilon
    stricter = Terms(budget=spent / 2, per_day=spent / 4, per_span=spent / 8, span_days=7, **VALUES)
    ledger = PrivacyLedger.open(path, secret=SECRET, terms=stricter)
    spend(ledger, collection=PERMANENT_ONLY)
    assert ledger.spending.epsilon == spent
    with pytest.raises(BudgetExceeded):
        spend(ledger, (1, 1), collection=PERMANENT_ONLY)


def test_terms_are_those_in_the_file_unless_stricter_ones_are_given(path: Path) -> None:
    agreed = Terms(budget=6.0, per_day=4.0, assumption=Assumption.VALUES, max_values=3)
    file = path.with_name("agreed")
    PrivacyLedger.create(file, secret=SECRET, terms=agreed)
    assert PrivacyLedger.open(file, secret=SECRET).terms == agreed
    for looser, told in [
        (replace(agreed, budget=7.0), "a budget of 7 instead of 6 nats"),
        (replace(agreed, per_day=math.inf), "inf instead of 4 nats a day"),
        (replace(agreed, max_values=4), r"the assumption 'values' \(at most 4\) instead of"),
        (replace(agreed, assumption=Assumption.FRESH, max_values=None), "the assumption 'fresh' instead of"),
    ]:
        with pytest.raises(LooserTerms, match=f"(?s)has not agreed to {told}.*change_terms=True.*--change-terms"):
            PrivacyLedger.open(file, secret=SECRET, terms=looser)
        assert PrivacyLedger.open(file, secret=SECRET).terms == agreed
    stricter = Terms(budget=5.0, per_day=1.0)
    assert PrivacyLedger.open(file, secret=SECRET, terms=stricter).terms == stricter
    assert PrivacyLedger.open(file, secret=SECRET).terms == stricter
    assert PrivacyLedger.open(file, secret=SECRET, terms=agreed, change_terms=True).terms == agreed
    assert PrivacyLedger.open(file, secret=SECRET).terms == agreed


def test_stricter_terms_hold_for_a_process_that_has_opened_the_ledger_before(path: Path) -> None:
    before = opened(path)
    opened(path, budget=COLLECTION.mechanism.epsilon(reports=1))
    spend(before)
    with pytest.raises(BudgetExceeded):
        spend(before)


def test_a_day_has_a_budget_of_its_own_and_the_total_still_holds(path: Path) -> None:
    one = COLLECTION.mechanism.epsilon(reports=1)
    ledger = opened(path, per_day=one, budget=COLLECTION.mechanism.epsilon(reports=3))
    reports = charges(COLLECTION, [(0, 1)], secret=SECRET, tag_key=ledger.tag_key)
    day_ms = 86_400_000
    ledger.spend(reports, time_ms=0)
    before = path.read_bytes()
    with pytest.raises(
        DayBudgetExceeded, match=r"0\.000 are left of 3\.15383 a day, until 00:00 UTC: nothing was sent"
    ):
        ledger.spend(reports, time_ms=day_ms - 1)
    assert path.read_bytes() == before
    ledger.spend(reports, time_ms=day_ms)
    ledger.spend(reports, time_ms=5 * day_ms)
    with pytest.raises(BudgetExceeded, match=r"of a budget of"):
        ledger.spend(reports, time_ms=6 * day_ms)


def test_without_a_choice_a_budget_is_finite(broker: FakeBroker) -> None:
    assert PrivacyLedger.in_memory(secret=SECRET).terms == Terms() == Terms(budget=DEFAULT_BUDGET)
    assert math.isfinite(DEFAULT_BUDGET)


async def test_a_reporter_without_a_ledger_has_the_default_budget(broker: FakeBroker) -> None:
    async with reporter(None) as sender:
        await sender.report(RECORD)
        with pytest.raises(BudgetExceeded, match=r"of a budget of 4: nothing was sent"):
            await sender.report(RECORD)


# Files under several names, and in several hands.


def test_a_secret_known_by_a_symbolic_link_has_the_ledger_beside_its_target(tmp_path: Path) -> None:
    file, alias = tmp_path / "there" / "secret", tmp_path / "here"
    secret, ledger = load_or_create_user(file, terms=UNLIMITED)
    alias.symlink_to(file)
    spend(ledger)
    again, same = load_or_create_user(alias)
    assert again == secret
    assert counted(same) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["here", "there"]


def test_a_relative_path_makes_no_new_user_and_finds_a_known_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SecretError, match=r"(?s)another one in every directory.*-> give an absolute path"):
        load_or_create_user("secret", terms=UNLIMITED)
    with pytest.raises(SecretError, match=r"absolute"):
        load_or_create_user("deep/secret", terms=UNLIMITED)
    assert list(tmp_path.iterdir()) == []
    secret, _ = load_or_create_user(tmp_path / "secret", terms=UNLIMITED)
    assert load_or_create_user("secret")[0] == secret


def test_a_new_user_needs_a_budget_and_is_logged_once(tmp_path: Path, own_log: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "deep" / "secret"
    with pytest.raises(LedgerError, match=r"(?s)a new one needs a budget.*-> .*terms=Terms\(budget=.*--budget"):
        load_or_create_user(file)
    assert list(tmp_path.iterdir()) == []
    secret, _ = load_or_create_user(file, terms=Terms(budget=3.0))
    (record,) = own_log.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"{file}: a new user, with a budget of 3 nats; keep this file and")
    assert secret.hex() not in own_log.text
    load_or_create_user(file)
    assert len(own_log.records) == 1


# Answers to phases: one to each, whoever asks and whenever.


def to_phase(phase: int, *, epoch: int) -> PhaseReport:
    asked = film_round(phase, epoch=epoch)
    (report,) = of_sets(films(), ItemSets.of([[1]]), asked=asked, secret=SECRET, tag_key=None)
    return report


def test_a_refused_report_is_not_counted(path: Path) -> None:
    opened(path).spend([to_phase(1, epoch=EPOCH)], time_ms=NOON_MS)
    before = opened(path).spending
    with pytest.raises(
        AlreadyReported, match=r"phase 1 of epoch 9500000 of collection 'films' has had this user's report"
    ):
        opened(path).spend([to_phase(1, epoch=EPOCH)], time_ms=NOON_MS)
    with pytest.raises(BudgetExceeded, match=r"would cost 0\.800 nats of privacy, and 0\.700 are left"):
        opened(path, budget=1.9).spend([to_phase(2, epoch=EPOCH)], time_ms=NOON_MS)
    assert opened(path).spending == before


def test_of_clients_that_report_at_the_same_time_exactly_one_succeeds(path: Path) -> None:
    def answers(epoch: int) -> bool:
        try:
            opened(path).spend([to_phase(1, epoch=epoch)], time_ms=NOON_MS)
        except AlreadyReported:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        for epoch in range(3):
            assert sum(pool.map(answers, [epoch] * 8)) == 1
    (account,) = opened(path).spending.phases
    assert account.reports == 3


def test_a_thief_learns_only_when_and_how_often_a_user_reported(path: Path) -> None:
    ledger = opened(path)
    ledger.spend([to_phase(1, epoch=EPOCH)], time_ms=NOON_MS)
    ledger.spend(charges(collection_of(), [(0, 1)], secret=SECRET, tag_key=ledger.tag_key), time_ms=NOON_MS)
    document = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert document["spending"]["phases"] == [
        {
            "collection": "films",
            "fingerprint": films().fingerprint.hex(),
            "phase": 1,
            "epsilon": 1.2,
            "epochs": [[EPOCH, EPOCH]],
            "reports": 1,
        }
    ]
    (day,) = document["spending"]["days"]
    assert day == {"day": 0, "spent": ledger.spending.epsilon}
    assert document["terms"] == {
        "budget": "Infinity",
        "per_day": "Infinity",
        "per_span": "Infinity",
        "span_days": None,
        "assumption": "constant",
        "max_values": None,
        "linked": False,
    }
    assert ledger.spending.epsilon == pytest.approx(1.2 + collection_of().mechanism.epsilon(reports=1))
