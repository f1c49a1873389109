"""A client whose collection file is not the registered one reports nothing, and spends nothing."""

from dataclasses import replace

import pytest

from stream_ldp.client import registration
from stream_ldp.client.errors import WrongCollection
from stream_ldp.client.reporter import Reporter
from stream_ldp.collection import Collection
from stream_ldp.kafka.registry import Registration, RegistryError
from stream_ldp.pipeline.retirement import Retirement
from tests.client import item_reports
from tests.client.examples import collection_of
from tests.client.fakes import FakeBroker
from tests.client.items import NOISELESS, Timeline, films, minutes
from tests.client.reports import RECORD, SECRET, SETTINGS, reporter, unlimited, users

OTHER_NOISE = "{kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}"


def register(broker: FakeBroker, collection: Collection) -> None:
    broker.registered[collection.name] = Registration.of(collection)


async def test_a_reporter_whose_collection_is_registered_with_other_noise_does_not_begin(broker: FakeBroker) -> None:
    register(broker, collection_of(mechanism=OTHER_NOISE))
    with pytest.raises(WrongCollection) as refused:
        await reporter().__aenter__()
    assert "mechanism.f (registered: 0.5; here: 0.25), mechanism.p (registered: 0.5; here: 0.25)" in str(
        refused.value
    )
    assert "-> nothing is sent or spent with this file: use that of the workers" in str(refused.value)
    assert broker.stopped == ["producer"]


async def test_registration_ignores_windows_and_estimates(broker: FakeBroker) -> None:
    register(broker, collection_of(window="hop: 30s"))
    async with reporter() as sender:
        await sender.report(RECORD)
    assert len(broker.sent) == 1


async def test_clients_of_item_sets_do_not_begin_either(broker: FakeBroker, timeline: Timeline) -> None:
    register(broker, films(mechanism=NOISELESS))
    with pytest.raises(WrongCollection, match=r"mechanism\.epsilon \(registered: 36\.0; here: 2\.0\)"):
        await item_reports.reporter(timeline).__aenter__()
    with pytest.raises(WrongCollection):
        await Reporter(films(), settings=SETTINGS, clock=timeline).__aenter__()
    assert timeline.stopped == ["consumer"]


async def test_a_client_may_be_there_before_its_collection_is_registered(
    broker: FakeBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.registered["care-survey"] = None
    async with reporter() as sender:
        await sender.report(RECORD)
    assert len(broker.sent) == 1
    assert "collection care-survey is not registered, or this user may not read topic stream-ldp.col" in caplog.text


async def test_a_client_of_a_retired_collection_is_warned_of_what_its_reports_become(
    broker: FakeBroker, own_log: pytest.LogCaptureFixture
) -> None:
    retired = replace(Registration.of(collection_of()), retirement=Retirement(topic_id="a", ends=(0,)))
    broker.registered["care-survey"] = retired
    async with reporter():
        pass
    assert "care-survey is retired: its reports become dead letters, at their full cost in privacy" in own_log.text


async def test_a_collection_that_is_registered_later_with_another_meaning_stops_the_next_report(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.registered["care-survey"] = None
    ledger = unlimited(SECRET)
    async with reporter(ledger=ledger) as sender:
        await sender.report(RECORD)
        register(broker, collection_of(mechanism=OTHER_NOISE))
        await sender.report(RECORD)
        spent = ledger.spending
        monkeypatch.setattr(registration, "LOOK_SECONDS", 0.0)
        monkeypatch.setattr(sender._registration, "_next_look", 0.0)
        with pytest.raises(WrongCollection):
            await sender.report(RECORD)
        with pytest.raises(WrongCollection):
            await sender.report_many(users(1), secrets=None)
        assert ledger.spending == spent


async def test_a_reporter_to_rounds_looks_again_before_each_report(broker: FakeBroker, timeline: Timeline) -> None:
    broker.registered["films"] = None
    sender = item_reports.reporter(timeline)
    await sender.__aenter__()
    try:
        register(broker, films(mechanism=NOISELESS))
        sender._registration._next_look = 0.0
        await sender.report({"Alien"})
        timeline.until_ms = minutes(6)
        with pytest.raises(WrongCollection):
            await sender.stopped()
    finally:
        with pytest.raises(WrongCollection):
            await sender.__aexit__(None, None, None)
    assert broker.sent == []


async def test_what_has_once_agreed_is_not_compared_again(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(broker, collection_of())
    monkeypatch.setattr(registration, "LOOK_SECONDS", 0.0)
    async with reporter() as sender:
        monkeypatch.setattr(registration, "read_registration", None)
        await sender.report(RECORD)
    assert len(broker.sent) == 1


async def test_a_registry_that_cannot_be_read_stops_a_client_only_at_its_beginning(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unreadable(settings: object, name: str) -> None:
        raise RegistryError("it could not be read in 30 s")

    broker.registered["care-survey"] = None
    monkeypatch.setattr(registration, "LOOK_SECONDS", 0.0)
    async with reporter() as sender:
        monkeypatch.setattr(registration, "read_registration", unreadable)
        await sender.report(RECORD)
    assert "the registry cannot be read: it could not" in caplog.text
    with pytest.raises(RegistryError):
        await reporter().__aenter__()
