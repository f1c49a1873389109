"""Final answers over HTTP, as rows: what a query finds, page by page, and what it is refused for."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, quote

import aiohttp
import pyarrow.parquet
import pytest
from multidict import MultiDict

from stream_ldp.page.answers import Query, find
from stream_ldp.page.history import History
from stream_ldp.page.server import PageServer
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.rows import COLUMNS, rows_of
from tests.client.examples import of_minute
from tests.paths import REPOSITORY
from tests.views.examples import of_workers

KNOWN = {"care-survey": {"kind": "records"}, "empty": {"kind": "sets"}}
PATH = "/v1/collections/care-survey/answers"


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    page = PageServer(History(KNOWN), host="127.0.0.1", port=0)
    await page.start()
    for minute in range(1, 6):
        page.show(of_minute(minute))
    page.show(of_minute(6, final=False))
    async with aiohttp.ClientSession(page.url) as session:
        yield session
    await page.stop()


async def found(client: aiohttp.ClientSession, **query: str) -> Any:
    async with client.get(PATH, params=query) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def test_all_finals_are_found_as_rows_and_nothing_provisional(client: aiohttp.ClientSession) -> None:
    document = await found(client)
    assert document["rows"] == [dict(row.values) for minute in range(1, 6) for row in rows_of(of_minute(minute))]
    assert (document["oldest"], document["next_since"]) == ("1970-01-01T00:01:00Z", None)


async def test_a_query_chooses_attributes_and_times(client: aiohttp.ClientSession) -> None:
    since = {"since": "1970-01-01T00:02:00Z", "until": "240000000"}
    rows = (await found(client, of="mobility", given="bathing", **since))["rows"]
    assert {row["window_start"] for row in rows} == {f"1970-01-01T00:0{minute}:00Z" for minute in (2, 3, 4, 5)}
    assert {tuple(json.loads(row["cell_labels"])) for row in rows} == {("bathing", "mobility")}
    assert sum(row["estimate"] for row in rows[:6]) == pytest.approx(2.0)
    assert (await found(client, since="2031-01-01"))["rows"] == []
    assert (await found(client, until="1960-01-01"))["rows"] == [], "the far past is kept by nobody"


async def test_pages_follow_each_other_without_a_gap_or_a_repeat(client: aiohttp.ClientSession) -> None:
    rows, url, pages = [], f"{PATH}?limit=2", 0
    while url:
        async with client.get(url) as response:
            rows += (await response.json())["rows"]
            link = response.headers.get("Link", "")
        url, pages = f"{PATH}{link[1:].partition('>')[0]}" if link else "", pages + 1
    assert pages == 3
    assert rows == (await found(client))["rows"]


async def test_rows_that_have_not_changed_are_not_sent_again(client: aiohttp.ClientSession) -> None:
    async with client.get(PATH) as response:
        tag = response.headers["ETag"]
    async with client.get(PATH, headers={"If-None-Match": tag}) as response:
        assert (response.status, await response.read()) == (304, b"")
    async with client.get(PATH, params={"limit": "1"}, headers={"If-None-Match": tag}) as response:
        assert response.status == 200


async def test_csv_and_parquet_have_the_same_rows_as_json(client: aiohttp.ClientSession) -> None:
    rows = (await found(client))["rows"]
    async with client.get(PATH, params={"format": "csv"}) as response:
        assert response.content_type == "text/csv"
        read = list(csv.DictReader(io.StringIO(await response.text())))
    assert [float(row["estimate"]) for row in read] == [row["estimate"] for row in rows]
    assert tuple(read[0]) == tuple(COLUMNS)
    async with client.get(PATH, params={"format": "parquet"}) as response:
        table = pyarrow.parquet.read_table(io.BytesIO(await response.read()))
    assert table.column("cell_labels").to_pylist() == [row["cell_labels"] for row in rows]


@pytest.mark.parametrize("until", ["9" * 20, "9999-12-31T23:59:59-23:59"])
async def test_the_next_page_has_the_end_of_all_times_where_a_later_one_was_asked_for(
    client: aiohttp.ClientSession, until: str
) -> None:
    async with client.get(PATH, params={"limit": "2", "until": until}) as response:
        assert response.status == 200, await response.text()
        assert "until=9999-12-31T23%3A59%3A59.999Z" in response.headers["Link"]


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("sinc=2026-01-01", "'sinc' is not a parameter; did you mean 'since'?"),
        ("since=yesterday", "since is a time like 2026-01-31T12:30:00Z"),
        ("format=xml", "format is one of json, csv, parquet"),
        ("limit=0", "limit is a number from 1 to 1000"),
        ("given=bathing", "given needs of"),
        ("between=20,10", "between: 20,10: expected two numbers, the smaller one first, such as 20,40"),
        ("between=1,2&of=mobility&given=bathing", "leave out `given`"),
        ("between=20,40", "this answer has no numbers with a `range`"),
        ("of=mobilty", "'mobilty' is not an attribute of this estimate; did you mean 'mobility'?"),
    ],
)
async def test_a_query_that_means_nothing_is_refused(client: aiohttp.ClientSession, query: str, detail: str) -> None:
    async with client.get(f"{PATH}?{query}") as response:
        assert response.status == 400
        refused = await response.json()
    assert refused["reason"] == "bad_query"
    assert detail in refused["detail"]


@pytest.mark.parametrize("query", ["between=aeg=1,2&between=mobility=1,2", "of=aeg", "of=mobility&given=aeg"])
async def test_an_attribute_that_is_unknown_is_refused_before_there_are_answers(query: str) -> None:
    page = PageServer(History(KNOWN, attributes={"care-survey": ["age", "mobility"]}), host="127.0.0.1", port=0)
    await page.start()
    async with aiohttp.ClientSession(page.url) as session, session.get(f"{PATH}?{query}") as response:
        assert response.status == 400
        detail = "'aeg' is not an attribute of the collection; did you mean 'age'?"
        assert await response.json() == {"reason": "bad_query", "detail": detail}
    await page.stop()


async def test_the_share_of_users_between_numbers_is_that_of_the_answer() -> None:
    answer, path = of_workers(), "/v1/collections/work/answers"
    ranges = {"age": (20.0, 40.0), "hours": (35.0, 45.0)}
    page = PageServer(History({"work": {"kind": "views"}}), host="127.0.0.1", port=0)
    await page.start()
    page.show(answer)
    async with aiohttp.ClientSession(page.url) as session:

        async def asked(query: str, path: str = path) -> tuple[int, Any]:
            async with session.get(f"{path}?{query}") as response:
                return response.status, await response.json()

        for query, cells in (
            ("between=age=20,40&between=hours=35,45", answer.within(ranges)),
            ("between=age=20,40&between=hours=35,45&of=sex", answer.within(ranges, of=["sex"])),
            ("between=20,40&of=hours", answer.between(20.0, 40.0, of=["hours"])),
        ):
            status, document = await asked(query)
            expected = [(cell.estimate, cell.standard_error) for cell in cells]
            assert status == 200
            assert [(row["estimate"], row["standard_error"]) for row in document["rows"]] == expected
        for wrong, detail in (
            ("between=nan,40", "between: nan,40: expected two numbers"),
            ("between=age=40,20", "between: age=40,20: expected two numbers, the smaller one first"),
            ("between=age=1,2&between=age=2,3", "age has a range already"),
            ("between=ages=20,40", "'ages' is not an attribute of this estimate; did you mean 'age'?"),
            ("between=sex=0,1", "'sex' has no `range`"),
            ("between=age=1000,2000", "'age' is from 16 to 90"),
        ):
            status, document = await asked(wrong)
            assert (status, document["reason"]) == (400, "bad_query")
            assert detail in document["detail"]
    await page.stop()


async def test_the_next_page_has_the_same_ranges() -> None:
    query = Query.parse(MultiDict([("between", "age=20,40"), ("between", "hours=35,45"), ("limit", "1")]))
    history = History({"work": {"kind": "views"}})
    answer = of_workers()
    for start in (0, 10_000):
        history.add(answer.model_copy(update={"window": WindowBounds(start_ms=start, end_ms=start + 10_000)}))
    following = find(history, "work", query).next
    assert following is not None
    assert parse_qs(following)["between"] == ["age=20,40", "hours=35,45"]


async def test_a_collection_that_is_not_shown_is_not_found_and_one_without_answers_has_no_rows(
    client: aiohttp.ClientSession,
) -> None:
    async with client.get("/v1/collections/emty/answers") as response:
        refusal = await response.json()
        assert (response.status, refusal["reason"]) == (404, "unknown_collection")
        assert refusal["detail"] == "this page has no collection 'emty'; did you mean 'empty'?"
    async with client.get("/v1/collections/empty/answers") as response:
        assert await response.json() == {"collection": "empty", "oldest": None, "next_since": None, "rows": []}


async def test_the_queries_of_the_dashboard_find_what_its_panels_show(client: aiohttp.ClientSession) -> None:
    board = json.loads((REPOSITORY / "docker" / "monitoring" / "answers.json").read_text(encoding="utf-8"))
    targets = [target for panel in board["panels"] for target in panel["targets"]]
    assert targets
    for target in targets:
        assert target["type"] == "json"
        assert target["root_selector"] == "rows"
        url = target["url"]
        values = {"collection": "care-survey", "of": "mobility", "__from": "0", "__to": "4102444800000"}
        for name, value in values.items():
            url = url.replace(f"${{{name}}}", quote(value))
        assert "$" not in url
        async with client.get(url) as response:
            rows = (await response.json())["rows"]
        assert rows
        assert {column["selector"] for column in target["columns"]} <= set(rows[0])
