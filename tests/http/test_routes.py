"""Tests of which request is answered by what."""

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from stream_ldp.http.refusal import Refused
from stream_ldp.http.routes import Routes, name_of


async def listed(_: web.BaseRequest) -> web.Response:
    return web.Response(text="all")


async def file(_: web.BaseRequest, name: str) -> web.Response:
    return web.Response(text=f"file of {name}")


async def rounds(_: web.BaseRequest, name: str) -> web.Response:
    return web.Response(text=f"rounds of {name}")


ROUTES = Routes(
    {
        ("GET", "/v1/collections"): listed,
        ("GET", "/v1/collections/{name}"): file,
        ("GET", "/v1/collections/{name}/rounds"): rounds,
    }
)


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("GET", "/v1/collections", "all"),
        ("HEAD", "/v1/collections?since=1", "all"),
        ("GET", "/v1/collections/care", "file of care"),
        ("GET", "/v1/collections/care/rounds", "rounds of care"),
        ("GET", "/v1/collections/c%61re/rounds?x=/y", "rounds of care"),
        ("GET", "/v1/collections/%7Bname%7D", "file of {name}"),
        ("GET", "/v1/collections/", "file of "),
    ],
)
async def test_a_request_is_answered_by_its_method_and_path(method: str, path: str, answer: str) -> None:
    found = await ROUTES.answer(make_mocked_request(method, path))
    assert isinstance(found, web.Response)
    assert found.text == answer


@pytest.mark.parametrize(
    ("method", "path", "status", "reason"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/v1", 404, "not_found"),
        ("GET", "/v1/collections/care/rounds/", 404, "not_found"),
        ("GET", "/v1/collections/care%2Frounds/rounds", 404, "not_found"),
        ("POST", "/v1/collections", 405, "method_not_allowed"),
        ("OPTIONS", "/v1/collections/care/rounds", 405, "method_not_allowed"),
    ],
)
def test_a_request_without_a_route_is_refused(method: str, path: str, status: int, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        ROUTES.answer(make_mocked_request(method, path))
    assert (refused.value.status, refused.value.reason) == (status, reason)


def test_a_path_without_a_name_names_nothing() -> None:
    for path, name in (("/v1/collections/care/rounds", "care"), ("/v1/collections", ""), ("/", "")):
        assert name_of(make_mocked_request("GET", path)) == name
