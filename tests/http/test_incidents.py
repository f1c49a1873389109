"""Tests of what is counted and logged of what goes wrong at a port."""

import logging

import pytest
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.web import RequestPayloadError

from stream_ldp.http.incidents import Incident, IncidentLog


def fail(error: BaseException, log: IncidentLog) -> None:
    try:
        raise error
    except type(error):
        log.exception("Error handling request from %s", "192.0.2.7")


def test_an_error_of_the_server_is_counted_and_logged_by_type_and_place_more_and_more_rarely(
    own_log: pytest.LogCaptureFixture,
) -> None:
    counted: list[Incident] = []
    log = IncidentLog(counted.append)
    with own_log.at_level(logging.DEBUG):
        for _ in range(9):
            fail(RuntimeError("what was sent"), log)
    assert counted == [Incident.FAILED] * 9
    place = "RuntimeError in tests.http.test_incidents, line "
    lines = [record.getMessage() for record in own_log.records]
    assert [f" {times} so far: {place}" in line for times, line in zip((1, 2, 4, 8), lines, strict=True)] == [
        True
    ] * 4
    assert "what was sent" not in own_log.text
    assert "192.0.2.7" not in own_log.text


@pytest.mark.parametrize(
    ("error", "incidents"),
    [
        (BadHttpMessage("Authorization : Bearer geheim"), [Incident.MALFORMED]),
        (ConnectionResetError("gone"), []),
        (RequestPayloadError("half a body"), []),
    ],
)
def test_what_clients_do_is_logged_nowhere(
    error: Exception, incidents: list[Incident], caplog: pytest.LogCaptureFixture
) -> None:
    counted: list[Incident] = []
    with caplog.at_level(logging.DEBUG):
        fail(error, IncidentLog(counted.append))
    assert (counted, caplog.text) == (incidents, "")
