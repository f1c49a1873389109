"""Tests of the page in a browser: what a reader sees is what was published."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from numpy.typing import NDArray
from playwright.async_api import Browser, ConsoleMessage, Error, Page, expect

from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kinds import parse_collection
from stream_ldp.marginals.answer import Frequencies, Numbers, Outputs
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.page import server as page_server
from stream_ldp.page.history import History
from stream_ldp.page.server import PageServer
from stream_ldp.page.what_if import WhatIf, plan
from stream_ldp.pipeline.answer import Plausibility, RegionPart, RegionState
from stream_ldp.records.answer import Independence, Linked, Privacy
from stream_ldp.records.distribution import Axis
from tests.chromium import chromium, needs_chromium
from tests.client.examples import estimate_of, of_minute
from tests.client.rankings import ranking_of, result_of
from tests.marginals.examples import collection_of, marginals_of, outputs_of, rows_of
from tests.pairs import examples as pairs
from tests.places import examples as places
from tests.questions.examples import solved, sums_of
from tests.schemas.recorded import COLLECTIONS
from tests.service.harness import SURVEY, JointDeployment
from tests.strings import examples as strings
from tests.views.examples import collection_of as collection_of_views
from tests.views.examples import estimated as estimated_from_views
from tests.views.examples import of_workers

KNOWN = {"care-survey": {"kind": "records"}, "films": {"kind": "sets"}}

# Milliseconds: five seconds, the default, are short for a busy machine.
expect.set_options(timeout=20_000)

pytestmark = [
    needs_chromium,
    # A browser belongs to the loop that it was started in, and to start one takes longer than most of these tests.
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tab(browser: Browser) -> Page:
    """The tab of all tests: to open one takes as long as most of them. What a page keeps, it keeps for its port."""
    return await browser.new_page()


@pytest_asyncio.fixture(loop_scope="module")
async def page(tab: Page) -> AsyncIterator[Page]:
    """A tab without a page, which must report no error and no breach of the page's own rules."""
    problems: list[str] = []

    def failed(error: Error) -> None:
        problems.append(str(error))

    def said(line: ConsoleMessage) -> None:
        if line.type == "error":
            problems.append(line.text)

    tab.on("pageerror", failed)
    tab.on("console", said)
    yield tab
    await tab.goto("about:blank")
    await tab.set_viewport_size({"width": 1280, "height": 720})
    tab.remove_listener("pageerror", failed)
    tab.remove_listener("console", said)
    # What a test does to the server, and what the server refuses, the browser says itself.
    expected = ("ERR_CONNECTION_REFUSED", "status of 503", "status of 400")
    assert [each for each in problems if not any(part in each for part in expected)] == []


@asynccontextmanager
async def served(port: int = 0, known: dict[str, dict[str, Any]] = KNOWN) -> AsyncIterator[PageServer]:
    server = PageServer(History(known), host="127.0.0.1", port=port)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def problems_of_access(page: Page) -> list[str]:
    """What a reader by keyboard or by ear would miss: controls without a name, pictures without a text."""
    found: list[str] = await page.evaluate(
        """() => [...document.querySelectorAll("a, button, input, select, svg[role=img], output")].filter((each) => {
             const named = each.getAttribute("aria-label") ?? each.labels?.[0]?.textContent ?? each.textContent;
             return !named.trim() && each.tagName !== "OUTPUT";
           }).map((each) => each.outerHTML)"""
    )
    return found


async def rows(page: Page, figure: str) -> list[list[str]]:
    """Read the table below a figure."""
    found = page.locator("figure").filter(has=page.locator("figcaption", has_text=re.compile(f"^{figure}$")))
    await expect(found.locator("details")).to_have_count(1)
    body = found.locator("tbody tr")
    return [
        [text.strip() for text in await body.nth(index).locator("th, td").all_text_contents()]
        for index in range(await body.count())
    ]


async def test_a_joint_distribution_is_shown_with_its_errors_and_in_both_forms(page: Page) -> None:
    linked = Linked(users=1_000, reports=7_000, reports_per_user=1.0, returning=0.75, privacy="one pseudonym for 7d")
    async with served() as server:
        server.show(estimate_of(linked=linked))
        await page.goto(server.url)
        assert await rows(page, "Joint distribution") == [
            ["no", "0.100 ± 0.010", "0.200 ± 0.010", "0.300 ± 0.010"],
            ["yes", "0.000 ± 0.010", "0.150 ± 0.010", "0.250 ± 0.010"],
        ]
        drawn = await page.locator("figure").first.locator("svg text").all_text_contents()
        assert {"0.100", "0.300", "± 0.010", "none", "full", "no", "yes"} <= set(drawn)
        facts = dict(
            zip(
                await page.locator(".facts dt").all_text_contents(),
                await page.locator(".facts dd").all_text_contents(),
                strict=True,
            )
        )
        assert facts["reports"] == "12,345"
        assert facts["state"] == "final"
        assert facts["window (UTC)"] == "1970-01-01 00:00:00 \N{EN DASH} 00:01:00"
        assert facts["epsilon a report"] == "1.500"
        of_whom = "of whom 75 % reported in the previous window"
        assert facts["linked"] == f"7,000 reports of the period, of 1,000 users, {of_whom}"
        assert facts["linking reveals"] == "one pseudonym for 7d"


async def test_the_product_is_beside_the_joint_only_where_independence_is_not_rejected(page: Page) -> None:
    independent = Independence(marginals=((0.6, 0.4), (0.1, 0.35, 0.55)), statistic=2.0, p_value=0.4, dependent=False)
    async with served() as server:
        server.show(of_minute(1))
        await page.goto(server.url)
        await expect(page.get_by_text("Joint distribution", exact=True)).to_be_visible()
        await expect(page.get_by_text("Product of the marginals")).to_have_count(0)
        server.show(of_minute(2, independence=independent))
        await expect(page.get_by_text("Product of the marginals")).to_be_visible()
        # Of 0.6 ± 0.01 times 0.1 ± 0.0057 that is the root of (0.01 x 0.1)^2 + (0.6 x 0.0057)^2.
        assert (await rows(page, "Product of the marginals"))[0][:2] == ["no", "0.0600 ± 0.0035"]


async def test_marginals_conditionals_and_windows_have_the_errors_that_query_prints(page: Page) -> None:
    estimate = of_minute(2)
    async with served() as server:
        server.show(of_minute(1))
        server.show(estimate)
        await page.goto(server.url)
        found = estimate.conditional("mobility", given="bathing")
        shown = [cell for row in await rows(page, "Conditional: mobility, given bathing") for cell in row[1:]]
        assert_spreads(shown, found.probability, found.standard_error)
        for attribute in ("bathing", "mobility"):
            marginal = estimate.marginal(attribute)
            shown = [row[1] for row in await rows(page, f"Marginal: {attribute}")]
            assert_spreads(shown, marginal.probability, marginal.standard_error)
        windows = page.locator("figure").filter(has_text="Over the windows")
        assert await windows.locator("polygon.around").count() == await windows.locator("polyline.track").count() > 0


def assert_spreads(shown: list[str], values: NDArray[np.float64], errors: NDArray[np.float64]) -> None:
    """Hold texts like `0.10 ± 0.02` to numbers, up to the half of a last digit of 0.001."""
    found = np.array([[float(part) for part in each.split(" ± ")] for each in shown])
    np.testing.assert_allclose(found, np.stack([values.ravel(), errors.ravel()], axis=1), atol=0.00051)


async def test_the_share_of_users_between_two_numbers_is_asked_for_on_the_page(page: Page) -> None:
    answer = of_workers()
    async with served(known={"work": {"kind": "views"}}) as server:
        server.show(answer)
        await page.goto(server.url)
        asked = page.locator("figure").filter(has_text="Users between two numbers")
        for name, number in (("#between-0-from", "20"), ("#between-0-to", "40"), ("#between-1-from", "35")):
            await asked.locator(name).fill(number)
            await asked.locator(name).press("Tab")
        (cell,) = answer.within({"age": (20.0, 40.0), "hours": (35.0, 100.0)})
        await expect(asked.locator("dt")).to_have_text("20 to 40, 35 to 100")
        await expect(asked.locator("dd")).to_have_text(re.compile(rf"^{cell.estimate:.3f}"))
        server.show(answer)
        await expect(asked.locator("#between-0-to")).to_have_value("40")
        await asked.locator("#between-0-to").fill("10")
        await asked.locator("#between-0-to").press("Tab")
        await expect(asked.locator(".warning")).to_contain_text("the smaller one first")


@pytest.mark.parametrize(("step", "bins"), [("", ["0.00 to 5.47"]), (", step: 1", ["0 to 6", "98 to 100"])])
async def test_a_distribution_has_a_band_and_quantiles_with_their_intervals(
    page: Page, step: str, bins: list[str]
) -> None:
    collection = SampledCollection.parse(
        f"""
        collection: ages
        mechanism: {{kind: sampled, epsilon: 2}}
        attributes: [{{name: age, range: [0, 100], quantiles: [0.5, 0.9]{step}}}]
        min_reports: 1
        window: {{size: 10s}}
        """
    )
    ages = np.random.default_rng(1).normal(40, 12, 4_000).clip(0, 100)
    people = collection.table([(age,) for age in ages.tolist()])
    marginals = solved(collection, (1.0, sums_of(collection, rows_of(collection, people))))
    estimate = marginals.of("age").estimate
    assert isinstance(estimate, Numbers)
    async with served(known={"ages": {"kind": "sampled"}}) as server:
        server.show(marginals)
        await page.goto(server.url)
        shown = await rows(page, "age")
        assert [row[0] for row in shown[:3]] == ["mean", "50 % quantile", "90 % quantile"]
        for row, quantile in zip(shown[1:], estimate.quantiles, strict=False):
            numbers = [float(each) for each in re.findall(r"[0-9.]+", row[1])]
            assert numbers == pytest.approx([quantile.value, *quantile.interval], abs=0.06)
        names = [row[0] for row in shown[3:]]
        assert [names[0], names[-1]][: len(bins)] == bins
        assert all(" ± " in row[1] for row in shown[3:]), "every part of the range has its error"
        assert sum(float(row[1].split()[0]) for row in shown[3:]) == pytest.approx(1.0, abs=0.01)
        drawn = page.locator("figure").first
        assert await drawn.locator("polygon.band").count() == 1
        assert await drawn.locator("line.whisker").count() == 3 * 3


async def test_key_value_data_is_shown_by_shares_and_means_with_their_errors(page: Page) -> None:
    estimates = pairs.estimates_of(pairs.collection_of(), 4_000)
    async with served(known={"features": {"kind": "pairs"}}) as server:
        server.show(estimates)
        await page.goto(server.url)
        shown = {row[0]: row[1:] for row in await rows(page, "Users who hold a key")}
        means = {row[0]: row[1:] for row in await rows(page, "Means of their numbers")}
        assert set(means) == {each.key for each in estimates.keys if each.mean is not None}
        for each in estimates.keys:
            assert_spreads(shown[each.key][:1], np.array(each.raw), np.array(each.standard_error))
            assert float(shown[each.key][1]) == pytest.approx(each.projected, abs=0.00051)
            if each.mean is not None:
                mean = [float(part) for part in means[each.key][0].split(" ± ")]
                assert mean == pytest.approx([each.mean.raw, each.mean.standard_error], abs=0.06)
        await expect(page.get_by_text("Without a mean, since no user may hold them: photos")).to_be_visible()
        assert await page.locator("figure").nth(1).locator("line.whisker").count() == 3 * len(means)


async def test_charts_are_not_scaled_down_on_a_phone(page: Page) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    async with served() as server:
        server.show(of_minute(1))
        server.show(of_minute(2))
        await page.goto(server.url)
        await expect(page.locator("figure").first).to_be_visible()
        scales = await page.locator("figure svg[viewBox]").evaluate_all(
            "all => all.map(each => each.getBoundingClientRect().width / each.viewBox.baseVal.width)"
        )
        assert min(scales) > 0.95
        assert await page.evaluate("document.documentElement.scrollWidth") == 390


async def test_a_simulation_shows_the_report_of_one_user(page: Page) -> None:
    lines = ["One user's true record:  bathing no", "What left the machine:   0110"]
    async with served(known={"care-survey": {"kind": "records", "one_report": lines}}) as server:
        server.show(of_minute(1))
        await page.goto(server.url)
        report = page.locator("figure").filter(has_text="One simulated user")
        await report.locator("dt").first.wait_for()
        assert await report.locator("dt").all_text_contents() == ["One user's true record", "What left the machine"]
        assert await report.locator("dd").all_text_contents() == ["bathing no", "0110"]


async def test_privacy_and_plausibility_are_named_as_in_the_glossary(page: Page) -> None:
    async with served() as server:
        server.show(estimate_of())
        await page.goto(server.url)
        await expect(page.locator(".facts")).to_contain_text("lifetime epsilon7.800; best guess over 99.9 % right")
        await expect(page.locator(".facts")).to_contain_text("plausibilityp = 0.090")
        await expect(page.locator(".facts")).to_contain_text("LREMH, starting from the previous window")
        server.show(
            estimate_of(
                window=of_minute(1).window,
                privacy=Privacy(per_report=1.0, lifetime=1.0, assumption="any two records"),
                plausibility=Plausibility(statistic=50.0, degrees_of_freedom=5, p_value=1e-9, flagged=True),
            )
        )
        # e / (1 + e) = 0.73106, and what is promised is rounded up.
        await expect(page.locator(".facts")).to_contain_text("1.000; best guess 73.2 % right, from 50:50")
        await expect(page.locator(".warning")).to_contain_text("Implausible reports")


async def test_an_answer_without_a_region_says_so(page: Page) -> None:
    async with served() as server:
        parts = (
            RegionPart(region="eu", state=RegionState.WHOLE, reports=12_000),
            RegionPart(region="us", state=RegionState.CUT_OFF, reports=None),
        )
        server.show(estimate_of(sources=parts))
        await page.goto(server.url)
        await expect(page.locator(".facts")).to_contain_text("region eu12,000, whole")
        await expect(page.locator(".facts")).to_contain_text("region uscut-off")
        await expect(page.locator(".warning")).to_contain_text("Not all reports of us")


async def test_a_new_answer_comes_by_itself_and_an_old_one_can_be_chosen(page: Page) -> None:
    async with served() as server:
        server.show(of_minute(1, reports=111))
        await page.goto(server.url)
        await expect(page.locator(".facts")).to_contain_text("111")
        server.show(of_minute(2, reports=222))
        await expect(page.locator(".facts")).to_contain_text("222")
        server.show(of_minute(3, reports=333, final=False))
        await page.get_by_label("Answer", exact=True).select_option("newest")
        await expect(page.locator(".facts")).to_contain_text("provisional")
        await page.get_by_label("Answer", exact=True).select_option("60000 ")
        await expect(page.locator(".facts")).to_contain_text("111")


async def test_a_ranking_is_shown_with_intervals_and_what_has_moved(page: Page) -> None:
    async with served() as server:
        server.show(ranking_of(epoch=1, phase=2, items={"Casablanca": 0.5, "Alien": 0.25}))
        server.show(ranking_of(epoch=2, phase=2, items={"Alien": 0.4, "Casablanca": 0.3}))
        await page.goto(server.url)
        assert await rows(page, "Most frequent items") == [
            ["Alien", "0.400 ± 0.020"],
            ["Casablanca", "0.300 ± 0.020"],
        ]
        drawn = await page.locator("figure").first.locator("svg text").all_text_contents()
        assert "0.400 ± 0.020 ▲1" in drawn
        assert "0.300 ± 0.020 ▼1" in drawn
        assert await page.locator("figure").first.locator("line.whisker").count() == 6


async def test_estimates_from_views_are_drawn_as_those_of_records(page: Page) -> None:
    estimate = estimated_from_views(collection_of_views())
    async with served(known={estimate.collection: {"kind": "views"}}) as server:
        server.show(estimate)
        await page.goto(server.url)
        await page.get_by_text("views, starting from independence").wait_for()
        assert await page.locator("figure").count() > 0


async def test_frequencies_and_means_are_shown_raw_and_projected(page: Page) -> None:
    marginals = marginals_of(collection_of())
    async with served(known={marginals.collection: {"kind": "sampled"}}) as server:
        server.show(marginals)
        await page.goto(server.url)
        for marginal in marginals.attributes:
            estimate = marginal.estimate
            assert estimate is not None
            if isinstance(estimate, Frequencies):
                shown = await rows(page, marginal.attribute)
                assert [row[0] for row in shown] == list(estimate.values)
                assert [float(row[1].split()[0]) for row in shown] == pytest.approx(estimate.raw, abs=0.006)
                assert [float(row[2]) for row in shown] == pytest.approx(estimate.projected, abs=0.006)
            elif isinstance(estimate, Numbers):
                named = {row[0]: row[1] for row in await rows(page, marginal.attribute)}
                mean, error = map(float, named["mean"].split(" ± "))
                assert (mean, error) == pytest.approx((estimate.mean.raw, estimate.mean.standard_error), abs=0.06)


async def test_outputs_from_which_no_frequencies_follow_are_shown_as_such(page: Page) -> None:
    marginals = outputs_of()
    estimate = marginals.of("level").estimate
    assert isinstance(estimate, Outputs)
    async with served(known={marginals.collection: {"kind": "sampled"}}) as server:
        server.show(marginals)
        await page.goto(server.url)
        shown = await rows(page, "level")
        assert [float(row[1].split()[0]) for row in shown] == pytest.approx(estimate.share, abs=0.006)
        await expect(page.get_by_text("from which no frequencies follow")).to_be_visible()


async def test_a_question_without_answers_is_named(page: Page) -> None:
    marginals = marginals_of(collection_of())
    silent = marginals.model_copy(
        update={"attributes": tuple(each.model_copy(update={"estimate": None}) for each in marginals.attributes)}
    )
    async with served(known={marginals.collection: {"kind": "sampled"}}) as server:
        server.show(silent)
        await page.goto(server.url)
        await expect(page.get_by_text("No answers to this question in the window.")).to_have_count(
            len(silent.attributes)
        )


async def test_strings_are_shown_as_a_ranking_with_their_chance(page: Page) -> None:
    ranking = strings.ranking_of(strings.collection_of())
    assert ranking.strings is not None
    async with served(known={ranking.collection: {"kind": "strings"}}) as server:
        server.show(ranking)
        await page.goto(server.url)
        shown = await rows(page, "Most frequent strings")
        assert [row[0] for row in shown] == [each.string for each in ranking.strings]
        assert [float(row[2]) for row in shown] == pytest.approx(
            [each.projected for each in ranking.strings], abs=0.006
        )
        await expect(page.locator(".facts")).to_contain_text("the whole string")


async def test_places_are_shown_by_their_counts_with_the_regions_told(page: Page) -> None:
    counts = places.counts_of(places.collection_of())
    async with served(known={counts.collection: {"kind": "places"}}) as server:
        server.show(counts)
        await page.goto(server.url)
        shown = await rows(page, "Users by place")
        order = sorted(range(5), key=lambda place: -counts.projected[place])
        assert [row[0] for row in shown] == [counts.places[place] for place in order]
        assert [float(row[1].split()[0]) for row in shown] == pytest.approx(
            [counts.raw[place] for place in order], rel=0.02, abs=10
        )
        await expect(page.locator(".facts")).to_contain_text("everywhere 10,")


async def test_a_value_that_looks_like_markup_stays_a_value(page: Page) -> None:
    hostile = '<img src=x onerror="document.title=1">'
    axes = (Axis(attribute=hostile, values=("no", hostile)), Axis(attribute="b", values=("x", "y", "z")))
    async with served() as server:
        server.show(estimate_of(axes=axes))
        server.show(ranking_of(epoch=1, phase=2, items={hostile: 0.5}))
        await page.goto(server.url)
        for name in ("care-survey", "films"):
            await page.get_by_role("link", name=name).click()
            await expect(page.locator("h2")).to_contain_text(name)
            assert await page.locator("img").count() == 0
        assert await page.title() == "stream_ldp"


async def test_everything_can_be_reached_by_keyboard(page: Page) -> None:
    async with served() as server:
        server.show(estimate_of())
        server.show(ranking_of(epoch=1, phase=2))
        await page.goto(server.url)
        await expect(page.locator("h2")).to_be_visible()
        await expect(page.locator("summary").first).to_be_visible()
        await expect(page.get_by_role("link", name="films", exact=True)).to_be_visible()
        reached = []
        for _ in range(12):
            await page.keyboard.press("Tab")
            reached.append(
                await page.evaluate("document.activeElement.tagName + ' ' + document.activeElement.textContent")
            )
        assert any(each.startswith("A Skip") for each in reached)
        assert any(each == "A films" for each in reached)
        assert any(each.startswith("SELECT") for each in reached)
        assert any(each.startswith("SUMMARY") for each in reached)


async def test_a_redraw_keeps_open_tables_open_and_the_keyboard_where_it_is(page: Page) -> None:
    async with served() as server:
        server.show(of_minute(1, reports=111))
        await page.goto(server.url)
        await page.locator("summary").first.click()
        await page.get_by_label("Columns", exact=True).focus()
        server.show(of_minute(2, reports=222))
        await expect(page.locator(".facts")).to_contain_text("222")
        assert await page.locator("details").first.get_attribute("open") is not None
        assert await page.evaluate("document.activeElement.id") == "choice-across"


async def test_a_lost_connection_is_reported_and_comes_back(page: Page) -> None:
    async with served() as server:
        port = int(server.url.rstrip("/").rpartition(":")[2])
        server.show(of_minute(1, reports=111))
        await page.goto(server.url)
        await expect(page.locator("#connection")).to_have_text("Connected")
    await expect(page.locator("#connection")).to_contain_text("Connection lost")
    async with served(port) as server:
        server.show(of_minute(2, reports=222))
        await expect(page.locator(".facts")).to_contain_text("222")
        await expect(page.locator("#connection")).to_contain_text("Connected")


async def test_a_collection_without_answers_is_no_error(page: Page) -> None:
    async with served() as server:
        await page.goto(server.url)
        await expect(page.get_by_text("No answers have come yet.")).to_be_visible()


async def test_the_numbers_on_the_page_are_those_of_the_topic(
    page: Page, tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    # That nobody reports any more would be shown next; with a fewest number of reports it is not told.
    text = SURVEY.replace("min_reports: 1", "min_reports: 2")
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=text)
    flags = ["--brokers", kafka.bootstrap, "--topic-prefix", prefix, "--port", "0"]
    command = [sys.executable, "-m", "stream_ldp", "page", str(deployment.file), *flags]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        (url,) = re.findall(r"http://\S+/", line)
        await page.goto(url)
        with deployment.worker() as worker:
            await worker.ready()
            await report(deployment, users=5_000)
            finals = await deployment.finals_of(5_000)
            last = finals[-1]
            await expect(page.locator(".facts")).to_contain_text(f"{last.reports:,}")
            digits = [
                max(1, min(6, 1 - int(np.floor(np.log10(error))))) if error > 0 else 4
                for error in last.standard_errors().ravel()
            ]
            expected = [
                f"{value:.{places}f} ± {error:.{places}f}"
                for value, error, places in zip(
                    last.joint().ravel(), last.standard_errors().ravel(), digits, strict=True
                )
            ]
            # An earlier answer may have as many reports: the last one is there when its cells are.
            async with asyncio.timeout(20):
                while [cell for row in await rows(page, "Joint distribution") for cell in row[1:]] != expected:
                    await asyncio.sleep(0.1)
            assert [row[0] for row in await rows(page, "Joint distribution")] == ["no", "yes"]
    finally:
        process.terminate()
        assert await process.wait() == 0


async def report(deployment: JointDeployment, *, users: int) -> None:
    """Let users report once each, within a window or two."""
    rng = np.random.default_rng(20261122)
    values = np.stack([rng.integers(size, size=users) for size in deployment.collection.sizes], axis=1)
    async with Reporter(
        deployment.collection, settings=deployment.settings, entropy=SeededEntropy(1), max_reports=200, linger=0.02
    ) as reporter:
        await reporter.report_many(values, secrets=None)


@pytest.mark.parametrize("end", ["#%", "#%E0%A4%A", "#__proto__", "#nothing"])
async def test_an_address_may_end_with_anything(page: Page, end: str) -> None:
    async with served() as server:
        server.show(of_minute(1, reports=111))
        await page.goto(server.url + end)
        await expect(page.locator(".facts")).to_contain_text("111")


async def test_a_page_that_was_one_too_many_tries_again_by_itself(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_server, "READERS", 0)
    page = await browser.new_page()  # with a clock of its own
    async with served() as server:
        server.show(of_minute(1, reports=111))
        await page.clock.install()
        await page.goto(server.url)
        await expect(page.get_by_text("Connection lost")).to_be_visible()
        monkeypatch.setattr(page_server, "READERS", 1)
        await page.clock.fast_forward(30_000)
        await expect(page.get_by_text("Connected")).to_be_visible()
        await page.close()


async def test_no_line_leads_across_windows_in_which_nobody_reported(page: Page) -> None:
    async with served() as server:
        for minute in (1, 2, 3, 9, 10, 20):
            server.show(of_minute(minute))
        await page.goto(server.url)
        wide = page.locator("figure.wide svg").first
        await expect(wide).to_be_visible()
        runs = [await each.get_attribute("points") or "" for each in await wide.locator("polyline.s0").all()]
        assert [len(run.split()) for run in runs] == [3, 2, 1]
        assert await wide.locator("circle.s0").count() == 2, "the lone window, and the newest, which it is"


async def test_an_address_that_changes_draws_no_frame_around_the_answer(page: Page) -> None:
    async with served() as server:
        server.show(of_minute(1))
        await page.goto(server.url)
        await page.keyboard.press("Tab")
        await page.evaluate("location.hash = 'care-survey/bathing-mobility'")
        await expect(page.locator("#answer")).to_be_focused()
        assert await page.locator("#answer").evaluate("each => getComputedStyle(each).outlineStyle") == "none"


async def test_a_plan_by_sliders_has_the_numbers_of_the_command(page: Page) -> None:
    survey = parse_collection(COLLECTIONS["sampled"])
    server = PageServer(History({}), collections={survey.name: survey}, host="127.0.0.1", port=0)
    await server.start()
    try:
        await page.goto(f"{server.url}plan")
        await expect(page.locator("#state")).to_have_text("Plan of diets for 10,000 users")
        # By the keyboard alone.
        await page.locator("#values").focus()
        await page.keyboard.press("ArrowRight")
        await page.locator("#epsilon").focus()
        await page.keyboard.press("Home")
        await expect(page.locator("#epsilon-shown")).to_have_text("0.1")
        await page.locator("#users").focus()
        await page.keyboard.press("End")
        await expect(page.locator("#state")).to_have_text("Plan of diets for 100,000,000 users")
        wanted = plan(survey, WhatIf(users=10**8, epsilon=0.1, values=4))
        figures = page.locator("#plan figure")
        await expect(figures).to_have_count(len(wanted["sections"]))
        for number, section in enumerate(wanted["sections"]):
            shown = figures.nth(number)
            assert await shown.locator("figcaption").text_content() == section["title"]
            cells = await shown.locator("tbody th, tbody td").all_text_contents()
            assert cells == [cell for row in section["rows"] for cell in row]
        assert await problems_of_access(page) == []
        await page.set_viewport_size({"width": 390, "height": 844})
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    finally:
        await server.stop()


async def test_an_answer_says_what_is_known_in_a_sentence_and_leads_to_itself_and_to_its_rows(page: Page) -> None:
    async with served() as server:
        for minute in (1, 2, 3):
            server.show(of_minute(minute))
        await page.goto(server.url)
        number = "bathing no, mobility full: about 30.0 %, between 28.0 % and 32.0 %"
        said = f"By 12,345 reports, the largest share is that of {number}."
        await expect(page.locator(".said").first).to_have_text(said)
        await page.select_option("#choice-window", index=4)
        link = await page.locator("#link").get_attribute("href")
        await page.goto(server.url)
        await page.goto(f"{server.url}{link}")
        await expect(page.locator(".facts dd").first).to_contain_text("00:01:00")
        rows = await page.request.get(f"{server.url}{await page.locator('#csv').get_attribute('href')}")
        lines = (await rows.text()).splitlines()
        assert len(lines) == 7
        assert all("1970-01-01T00:01:00Z" in line for line in lines[1:])
        assert await problems_of_access(page) == []


async def test_a_drawing_is_saved_as_a_picture(page: Page) -> None:
    async with served() as server:
        server.show(of_minute(1))
        await page.goto(server.url)
        async with page.expect_download() as saving:
            await page.get_by_role("button", name="Save Marginal: bathing as PNG").click()
        saved = await saving.value
        assert saved.suggested_filename == "Marginal-bathing.png"
        assert (await saved.path()).read_bytes().startswith(b"\x89PNG\r\n")


async def test_lines_are_of_the_range_that_is_chosen_and_their_points_and_axes_can_be_read(page: Page) -> None:
    async with served() as server:
        for minute in range(1, 31):
            server.show(of_minute(minute))
        await page.goto(server.url)
        points = page.locator("figure.wide svg .touch")
        await expect(points).to_have_count(6 * 30)
        assert await points.first.text_content() == "no, full, 00:02:00: 0.300 ± 0.010"
        marks = await page.locator("figure.wide svg text[text-anchor=end]").all_text_contents()
        assert marks[:-1] == ["0", "0.1", "0.2", "0.3", "0.4"]
        await page.select_option("#choice-range", "minutes")
        await expect(points).to_have_count(6 * 10)


async def test_times_are_in_the_zone_of_the_reader_and_an_overview_has_every_series(browser: Browser) -> None:
    context = await browser.new_context(timezone_id="Asia/Tokyo")
    page = await context.new_page()
    try:
        async with served() as server:
            server.show(of_minute(1))
            server.show(result_of(7))
            await page.goto(f"{server.url}#overview")
            await expect(page.locator("figcaption a")).to_have_text(["care-survey · bathing-mobility", "films"])
            await page.get_by_role("link", name="care-survey · bathing-mobility").first.click()
            await page.select_option("#choice-zone", "Asia/Tokyo")
            await expect(page.locator(".facts dt").first).to_have_text("window (Asia/Tokyo)")
            await expect(page.locator(".facts dd").first).to_have_text("1970-01-01 09:01:00 \N{EN DASH} 09:02:00")
            assert await problems_of_access(page) == []
    finally:
        await context.close()


async def test_an_answer_has_the_title_and_the_question_of_its_collection(page: Page) -> None:
    known = {"care-survey": KNOWN["care-survey"] | {"title": "Help at home <b>", "question": "Who needs help?"}}
    async with served(known=known) as server:
        server.show(of_minute(1))
        await page.goto(server.url)
        await expect(page.locator("h2")).to_have_text("Help at home <b> · bathing-mobility")
        await expect(page.locator(".question")).to_have_text("Who needs help?")
        await expect(page.locator("nav a").first).to_have_text("Help at home <b> · bathing-mobility")
