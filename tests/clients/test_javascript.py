"""Tests of the JavaScript client: its own, its costs beside the ledger's of this package, and the gateway."""

import asyncio
import json
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_ldp.audit.wire.randomizers import again, answer, loss_of
from stream_ldp.cli import app
from stream_ldp.client.audit import through
from stream_ldp.collection import Collection
from stream_ldp.gateway.limiter import Limiter
from stream_ldp.gateway.server import Door, Gateway, Source
from stream_ldp.kinds import parse_collection
from stream_ldp.ledger.ledger import Spending
from stream_ldp.mechanisms.k_rr import KRRSpec
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION
from stream_ldp.mechanisms.rr_ldp import RRLDPSpec
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import charges
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.chromium import chromium, empty_site, needs_chromium
from tests.client.examples import collection_of
from tests.listening import listening, site
from tests.paths import REPOSITORY

CLIENT = REPOSITORY / "clients" / "javascript"
NODE = shutil.which("node")
NPM = shutil.which("npm")

#: Seconds after which a run of Node is ended; the longest takes about one.
PATIENCE = 60

pytestmark = pytest.mark.skipif(NODE is None, reason="Node, which runs the JavaScript client, is not installed")


async def node(*arguments: str, script: str = "") -> str:
    """Run Node in the client's folder, which finds the package by its name; return what it prints."""
    process = await asyncio.create_subprocess_exec(
        str(NODE),
        *arguments,
        cwd=CLIENT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            output, _ = await process.communicate(script.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, output.decode()
    return output.decode()


@asynccontextmanager
async def gateway(
    *collections: Collection, kafka: KafkaInMemory, origins: frozenset[str] = frozenset()
) -> AsyncIterator[str]:
    """Serve a gateway on a Kafka in memory, and yield its address."""
    served = Gateway(
        [Source(collection=each, text="") for each in collections],
        settings=kafka.settings,
        door=Door(limiter=Limiter(rate=1_000, burst=1_000), origins=origins),
        now_ms=kafka.clock,
    )
    async with listening(served) as url:
        yield url


async def test_the_client_passes_its_own_tests_among_them_the_golden_vectors() -> None:
    files = sorted(path.name for path in (CLIENT / "tests").glob("*.test.js"))
    assert files
    # In one process, which runs what it imports. `npm test` starts one for each file, which takes twice as long.
    output = await node("--input-type=module", script="".join(f'import "./tests/{name}";\n' for name in files))
    assert "# fail 0" in output
    assert "# skipped 0" in output


REPORT = """
import { Gateway, Ledger, MemoryStore, Reporter } from "stream-ldp-client";

const gateway = new Gateway("URL");
const collection = await gateway.collection("care-survey");
const store = new MemoryStore();
const users = [];
for (let user = 0; user < 200; user++) {
  const ledger = await Ledger.create({ store, budget: 4, linked: true, key: String(user) });
  const record = { bathing: user % 2 ? "yes" : "no", mobility: ["none", "some", "full"][user % 3] };
  users.push({ record, ledger });
}
const reporter = new Reporter({ gateway, collection, clock: () => NOW_MS });
console.log(await reporter.report(users[0].record, users[0].ledger) + await reporter.reportMany(users.slice(1)));
"""


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param("{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", marks=pytest.mark.long),
        "{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}\nlinked: 60s",
        pytest.param("{kind: k-rr, epsilon: 1.5}", marks=pytest.mark.long),
        "{kind: k-rr, epsilon: 1.5, per_report: 0.5}",
    ],
)
async def test_reports_of_200_users_pass_the_gateway_and_all_of_them_count(mechanism: str) -> None:
    collection = JointCollection.parse(SURVEY.format(mechanism=mechanism))
    with kafka_in_memory(collection) as kafka:
        async with gateway(collection, kafka=kafka) as url:
            script = REPORT.replace("URL", url).replace("NOW_MS", str(kafka.clock()))
            assert (await node("--input-type=module", script=script)).strip() == "200"
        (answer,) = kafka.close_windows()
        assert kafka.refused == []
        assert answer.reports == 200


async def test_the_example_of_the_tutorial_reports() -> None:
    text = (CLIENT / "README.md").read_text(encoding="utf-8")
    example = text.split("```javascript\n")[1].split("```")[0]
    assert example in (REPOSITORY / "docs" / "tutorial" / "browser.md").read_text(encoding="utf-8")
    collection = collection_of()
    with kafka_in_memory(collection, now_ms=time.time_ns() // 1_000_000) as kafka:
        async with gateway(collection, kafka=kafka) as url:
            script = example.replace("http://127.0.0.1:8443", url)
            assert script != example
            assert (await node("--input-type=module", script=script)).strip() == "1"
        assert kafka.reports(collection.name) == 1


@pytest.mark.skipif(NPM is None, reason="npm, which packs the client, is not installed")
async def test_the_package_holds_its_sources_its_licence_and_nothing_stray() -> None:
    process = await asyncio.create_subprocess_exec(
        str(NPM), "pack", "--dry-run", "--json", cwd=CLIENT, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    (packed,) = json.loads(output)
    sources = {str(path.relative_to(CLIENT)) for path in (CLIENT / "src").rglob("*.*")}
    assert {each["path"] for each in packed["files"]} == {"LICENSE", "README.md", "package.json", *sources}
    assert (CLIENT / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


TYPED = """
import { Collection, Gateway, Ledger, MemoryStore, Reporter, type Store } from "stream-ldp-client";
import { FileStore } from "stream-ldp-client/node";

const gateway = new Gateway("http://127.0.0.1:8443");
const collection = await gateway.collection("care-survey");
const store: Store = new MemoryStore();
const ledger = await Ledger.create({ store, budget: 8 });
const reporter = new Reporter({ gateway, collection });
export const reports: number = await reporter.report({ bathing: "no", mobility: null }, ledger);
await ledger.agree({ perDay: 1, perSpan: 3, spanDays: 7, fresh: true, linked: true });
const another: Collection = await Collection.of({}, { meaning: "[]" });
const sets = new Reporter({ gateway, collection: another, linger: 0.2 });
export const answered: number = await sets.report(new Set(["Brazil", 3]), ledger);
export const followed: number = await sets.follow(() => ["Brazil"], ledger, { signal: AbortSignal.timeout(1) });
export const isNew: boolean = (await Ledger.openOrCreate({ store: new FileStore("x"), budget: 4 })).isNew;
// @ts-expect-error a set that is followed without an end
await sets.follow(["Brazil"], ledger);
// @ts-expect-error a value that is a list
await reporter.report({ bathing: ["no"] }, ledger);
// @ts-expect-error a term that is misspelt
await ledger.agree({ per_day: 1 });
// @ts-expect-error a user without a budget
await Ledger.create({ store });
// @ts-expect-error a report that nobody pays for
await reporter.report({ bathing: "no" });
// @ts-expect-error a ledger that no store keeps
new Ledger();
"""


@pytest.mark.long
@pytest.mark.skipif(NPM is None, reason="npm, which installs TypeScript, is not installed")
def test_typescript_takes_what_runs_and_refuses_what_does_not(tmp_path: Path) -> None:
    installed = subprocess.run(
        [str(NPM), "install", "--no-audit", "--no-fund", "typescript@~5.9", str(CLIENT)],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    if installed.returncode:
        pytest.skip("npm cannot install TypeScript here")
    (tmp_path / "typed.mts").write_text(TYPED, encoding="utf-8")
    flags = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
    checked = subprocess.run(
        [str(NPM), "exec", "--offline", "--", "tsc", *flags, "typed.mts"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stdout) == (0, "")


ALL_KINDS = """
collection: habits
mechanism: {kind: sampled, epsilon: 2}
attributes:
  - {name: diet, values: [meat, fish, plants]}
  - {name: age, range: [0, 100]}
  - {name: site, candidates: [a.example, b.example]}
window: {size: 60s}
min_reports: 1
---
collection: homes
mechanism: {kind: sampled, epsilon: 2, ask: pairs}
attributes:
  - {name: heating, values: [gas, oil, wood]}
  - {name: owner, values: [no, yes]}
window: {size: 60s}
min_reports: 1
estimates:
  - {name: both, of: [heating, owner]}
---
collection: words
mechanism: {kind: strings, epsilon: 3}
string: {name: word, length: 6, alphabet: abcdefghijklmnopqrstuvwxyz}
window: {size: 60s}
min_reports: 1
---
collection: visits
mechanism: {kind: places, epsilon: [0.5, 2]}
places: {north: [a, b], south: [c, d, e]}
window: {size: 60s}
min_reports: 1
---
collection: features
mechanism: {kind: pairs, epsilon: 2, padding: 2}
keys: {names: [search, maps, photos], range: [0, 60]}
window: {size: 60s}
min_reports: 1
---
collection: films
mechanism: {kind: gfim, epsilon: 4, k: 2, set_size: 3}
items: {names: [Alien, Brazil, Casablanca, Dune, Eraserhead, Fargo]}
window: {size: 60s}
min_reports: 1
"""

#: What the users of each of them hold.
HELD = {
    "care-survey": {"bathing": "no", "mobility": "some"},
    "habits": {"diet": "fish", "age": 41.5, "site": "a.example"},
    "homes": {"heating": "oil", "owner": "yes"},
    "words": {"word": "banana"},
    "visits": {"place": "d", "region": "south", "epsilon": 2},
    "features": {"search": 12.5, "maps": 3},
    "films": ["Brazil", "Dune"],
}

#: The first moment of the first phase of an epoch of films.
EPOCH_MS = 9_777_777 * 180_000

REPORT_EACH_KIND = """
import { createInterface } from "node:readline";
import { Gateway, Ledger, MemoryStore, Reporter } from "stream-ldp-client";

const gateway = new Gateway("URL");
const store = new MemoryStore();
const ledgers = [];
for (let user = 0; user < 40; user++) {
  ledgers.push(await Ledger.create({ store, budget: 40, linked: true, key: `${user}` }));
}
let now;
const reporters = {};
for (const name of Object.keys(HELD)) {
  reporters[name] = new Reporter({ gateway, collection: await gateway.collection(name), clock: () => now });
}
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  now = asked.now;
  const found = {};
  for (const name of asked.names) {
    found[name] = await reporters[name].reportMany(ledgers.map((ledger) => ({ record: HELD[name], ledger })));
  }
  console.log(JSON.stringify(found));
}
"""


@asynccontextmanager
async def conversation(script: str) -> AsyncIterator[Callable[[object], Awaitable[Any]]]:
    """Run a script that answers lines of JSON, and yield what sends it one and returns its answer."""
    process = await asyncio.create_subprocess_exec(
        str(NODE),
        "--input-type=module",
        "--eval",
        script,
        cwd=CLIENT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    ours, theirs = process.stdin, process.stdout

    async def ask(line: object) -> Any:
        ours.write(json.dumps(line).encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            return json.loads(await theirs.readline())

    try:
        yield ask
    finally:
        ours.close()
        try:
            async with asyncio.timeout(PATIENCE):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()


def each_kind() -> list[Collection]:
    survey = SURVEY.format(mechanism="{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}")
    return [parse_collection(text) for text in [survey, *ALL_KINDS.split("---")]]


async def test_reports_of_every_kind_pass_the_gateway_into_published_answers() -> None:
    collections = each_kind()
    answers = []
    with kafka_in_memory(*collections, now_ms=EPOCH_MS) as kafka:
        async with gateway(*collections, kafka=kafka) as url:
            script = REPORT_EACH_KIND.replace("URL", url).replace("HELD", json.dumps(HELD))
            async with conversation(script) as ask:
                found = await ask({"now": kafka.clock(), "names": list(HELD)})
                assert found == dict.fromkeys(HELD, 40)
                assert sum((await ask({"now": kafka.clock(), "names": ["films"]})).values()) == 0
                answers += kafka.close_windows()
                in_later_phases = 0
                for _ in range(2):
                    found = await ask({"now": kafka.clock(), "names": ["films"]})
                    in_later_phases += found["films"]
                    answers += kafka.close_windows()
        assert kafka.refused == []
        # Of gfim, every user is asked in phase 1, and in one of the two that follow.
        assert in_later_phases == 40
    reports = Counter[str]()
    for each in answers:
        reports[each.collection] += each.reports
    assert reports == dict.fromkeys(HELD, 40) | {"films": 80}


async def test_the_examples_run(tmp_path: Path) -> None:
    films = ALL_KINDS.rsplit("---", maxsplit=1)[-1] + "epochs: pipelined\n"
    collections = [*each_kind()[:-1], parse_collection(films)]
    soon = parse_collection(films.replace("size: 60s", "size: 2s, grace: 100ms, idle_timeout: 100ms, ahead: 60s"))
    now_ms = time.time_ns() // 1_000_000
    with kafka_in_memory(*collections, now_ms=now_ms) as kafka:
        async with gateway(*collections, kafka=kafka) as url:
            each, backend = await asyncio.gather(
                node("examples/kinds.js", url, str(tmp_path)),
                node("examples/backend.js", url),
            )
    assert each.count("with noise, about") == len(HELD)
    assert each.startswith("a new user")
    answered, refused, sent = backend.splitlines()
    assert (answered, sent) == ("[ 1, 1, 1 ]", "1")
    assert refused.startswith("user 0: to report this would cost ")
    with kafka_in_memory(soon, now_ms=now_ms) as kafka:
        async with gateway(soon, kafka=kafka) as url:
            followed = await node("examples/follow.js", url, "1")
    assert followed.splitlines()[-1] == f"{kafka.reports('films')} reports"


SURVEY = """
collection: care-survey
mechanism: {mechanism}
attributes:
  - {{name: bathing, values: [no, yes]}}
  - {{name: mobility, values: [none, some, full]}}
window: {{size: 60s}}
min_reports: 1
estimates:
  - {{name: bathing-mobility, of: [bathing, mobility]}}
"""

COSTS = """
import { mechanismOf } from "./src/mechanisms.js";
const asked = ASKED;
console.log(JSON.stringify(asked.map(([spec, times]) => mechanismOf(spec, [2]).cost(0, times))));
"""


async def test_costs_are_those_of_the_ledger_of_this_package_and_never_below() -> None:
    channels = [(0.25, 0.25, 0.75), (0.5, 0.0, 0.75), (0.9, 0.3, 1.0), (0.1, 0.49, 0.51), (0.5, 0.001, 0.999)]
    asked = [(RRLDPSpec(kind="rr-ldp", f=f, p=p, q=q), times) for f, p, q in channels for times in (1, 2, 7, 1_000)]
    asked.append((RRLDPSpec(kind="rr-ldp", f=0.1), 3))
    sent = json.dumps([[spec.model_dump(exclude_none=True), times] for spec, times in asked])
    found = json.loads(await node("--input-type=module", script=COSTS.replace("ASKED", sent)))
    exact = [spec.responses_loss(responses=1, reports=times) for spec, times in asked]
    assert found == pytest.approx(exact, rel=1e-9)
    assert all(cost >= loss for cost, loss in zip(found, exact, strict=True))


LEDGERS = """
import { Collection, Ledger, MemoryStore } from "./src/index.js";
const collection = await Collection.of(DOCUMENT);
const ledger = await Ledger.create({ store: new MemoryStore(), budget: 1000, values: 9 });
const spent = [];
for (const [bathing, mobility] of RECORDS) {
  const record = { bathing, mobility };
  await ledger.spend(collection, collection.encode(record));
  spent.push(await ledger.spent());
}
console.log(JSON.stringify(spent));
"""


@pytest.mark.parametrize(
    "mechanism",
    [
        "{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}",
        "{kind: k-rr, epsilon: 1.5}",
        "{kind: k-rr, epsilon: 0.1}",
        "{kind: k-rr, epsilon: 1.5, per_report: 0.5}",
    ],
)
async def test_both_ledgers_charge_the_same_reports_alike(mechanism: str) -> None:
    collection = JointCollection.parse(SURVEY.format(mechanism=mechanism))
    records = [("no", "some"), ("no", "some"), ("yes", "full"), ("yes", "none"), ("no", "some")]
    spending, exact = Spending(), []
    for bathing, mobility in records:
        values = collection.encode({"bathing": bathing, "mobility": mobility})
        spending = spending.after(charges(collection, [values], secret=bytes(32), tag_key=bytes(32)))
        exact.append(spending.epsilon)
    document = {
        "collection": collection.name,
        "mechanism": collection.mechanism_spec.model_dump(exclude_none=True),
        "attributes": [{"name": each.name, "values": list(each.values)} for each in collection.attributes],
        "window": {"size": 60_000},
    }
    script = LEDGERS.replace("DOCUMENT", json.dumps(document)).replace("RECORDS", json.dumps(records))
    found = json.loads(await node("--input-type=module", script=script))
    assert found == pytest.approx(exact, rel=1e-11)
    assert all(cost >= loss - 1e-15 for cost, loss in zip(found, exact, strict=True))


async def test_k_rr_has_the_chances_of_this_package_for_any_epsilon() -> None:
    asked = [
        (epsilon / 7, share, size) for epsilon in range(1, 60) for share in (0.1, 0.9) for size in (2, 17, 1_000)
    ]
    script = """
    import { KRR } from "./src/mechanisms.js";
    const made = ASKED.map(([epsilon, share, size]) => new KRR({ epsilon, per_report: share * epsilon }, [size]));
    console.log(JSON.stringify(made.map(({ meaning }) => meaning)));
    """
    found = json.loads(await node("--input-type=module", script=script.replace("ASKED", json.dumps(asked))))
    specs = [
        (KRRSpec(kind="k-rr", epsilon=epsilon, per_report=share * epsilon), size) for epsilon, share, size in asked
    ]
    assert found == [spec.of(sizes=(size,)).meaning for spec, size in specs]


LAWS = """
import { mechanismOf } from "./src/mechanisms.js";

// Words with which each output comes, where those of an output follow one another: their ends are found by halving.
function counts(outputOf, outputs) {
  const found = Array(outputs).fill(0);
  const count = (first, last) => {
    const [from, to] = [outputOf(first), outputOf(last)];
    if (from === to) return void (found[from] += last - first + 1);
    if (first + 1 === last) return void (found[from]++, found[to]++);
    const middle = first + Math.floor((last - first) / 2);
    count(first, middle);
    count(middle + 1, last);
  };
  count(0, 2 ** 32 - 1);
  return found;
}

console.log(JSON.stringify(ASKED.map(([spec, size]) => {
  const made = mechanismOf(spec, [size]);
  const [symbols, outputs] = spec.kind === "k-rr" ? [1, size] : [size, 2];
  const named = (value, words) => made.permanent([value], [words]);
  const all = (length) => Array.from({ length }, (_, i) => i);
  return [
    all(symbols).map((i) => all(size).map((value) =>
      counts((word) => named(value, Array(symbols).fill(word))[i], outputs))),
    all(symbols).map((i) => all(outputs).map((output) =>
      counts((word) => made.instantaneous(Array(symbols).fill(output), Array(symbols).fill(word))[i], outputs))),
  ];
})));
"""


async def test_every_chance_of_both_stages_of_noise_is_the_one_that_this_package_states() -> None:
    specs = [
        RRLDPSpec(kind="rr-ldp", f=0.3),
        RRLDPSpec(kind="rr-ldp", f=0.25, p=0.1, q=0.7),
        KRRSpec(kind="k-rr", epsilon=1.3),
        KRRSpec(kind="k-rr", epsilon=3, per_report=0.7),
    ]
    asked = [(spec, size) for spec in specs for size in (2, 3, 5)]
    sent = json.dumps([[spec.model_dump(exclude_none=True), size] for spec, size in asked])
    found = json.loads(await node("--input-type=module", script=LAWS.replace("ASKED", sent)))
    for (spec, size), (permanent, response) in zip(asked, found, strict=True):
        (symbols,) = spec.of(sizes=(size,)).stated()
        assert permanent == [[_words(each.stages.permanent)[row] for row in each.inputs] for each in symbols]
        assert response == [_words(each.stages.response) for each in symbols]


def _words(chances: tuple[tuple[Fraction, ...], ...]) -> list[list[Fraction]]:
    return [[RESOLUTION * chance for chance in row] for row in chances]


ANSWERS = """
import { Randomizer } from "./src/randomizers.js";
import { readFileSync } from "node:fs";

const asked = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.map(([kind, parameters, input, words]) => {
  let at = 0;
  const source = { next: () => words[at++] };
  const made = Randomizer.of(kind, parameters);
  const answer = made.draw(source, input);
  const sent = made.again(source, answer);
  let number = 0n;
  [...made.widths].reverse().forEach((width, i) => (number = (number << BigInt(width)) | BigInt(sent.at(-1 - i))));
  return [String(number), at, made.loss];
})));
"""

#: Randomizers with parameters, and their inputs. Of a filter, the specification takes bits, and the client buckets.
RANDOMIZERS: list[tuple[str, list[int], range]] = [
    ("direct", [5, 0, 2_500_000_000], range(5)),
    ("direct", [2, 0, 3_782_994_644], range(2)),
    ("repeated", [5, 3_581_681_591, 1_968_009_881], range(5)),
    ("hadamard", [12, 1, 3_139_872_686], range(12)),
    ("hadamard", [100, 3, 2_139_872_686], range(0, 100, 7)),
    ("unary", [7, 2_900_000_000], range(7)),
    ("oue", [7, 3_100_000_000], range(7)),
    ("k-subset", [9, 3, 1_800_000_000], range(9)),
    ("bloom", [32, 2, 2_917_050_301, 1_073_741_824, 3_221_225_472], range(12)),
    ("bloom", [8, 1, 2_917_050_301, 0, 2**32], range(8)),
    ("piecewise", [64, 37, 3_480_260_956], range(0, 65, 4)),
    ("piecewise", [1, 1, 3_782_994_644], range(2)),
    ("piecewise", [4, 3, 3_480_260_956, 9_000, 32_768, 56_536], range(5)),
    ("channel", [3, 2, 2**31, 2**31, 2**30, 3 * 2**30, 1, 2**32 - 1], range(3)),
    ("mean-est", [5, 2_800_000_000], range(0, 32, 3)),
    ("mean-est", [4, 2_900_000_000], range(16)),
]

#: Words at both ends, and at thresholds of the table.
EDGES = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2_499_999_999, 2_500_000_000, 2_917_050_301]


async def test_answers_of_every_randomizer_are_those_of_the_specification_for_the_same_words() -> None:
    rng = random.Random(17)
    asked, expected = [], []
    for kind, parameters, inputs in RANDOMIZERS:
        for value in inputs:
            for _ in range(6):
                words = [rng.choice(EDGES) if rng.random() < 0.2 else rng.getrandbits(32) for _ in range(200)]
                given: Any = value
                if kind == "bloom":
                    given = [rng.randrange(parameters[0]) for _ in range(parameters[1])]
                elif kind == "mean-est":
                    given = [value >> place & 1 for place in range(parameters[0])]
                source = iter(words)
                bits = sum(1 << place for place in set(given)) if kind == "bloom" else value
                number = again(kind, parameters, answer(kind, parameters, bits, source), source)
                asked.append([kind, parameters, given, words])
                expected.append((str(number), len(words) - len(list(source)), loss_of(kind, parameters)))
    found = json.loads(await node("--input-type=module", "--eval", ANSWERS, script=json.dumps(asked)))
    assert [(number, taken) for number, taken, _ in found] == [(number, taken) for number, taken, _ in expected]
    for (_, _, loss), (_, _, stated) in zip(found, expected, strict=True):
        assert stated <= loss <= stated * (1 + 1e-9) + 1e-9


def audited(file: Path, program: Path) -> tuple[int, str]:
    command = f"{NODE} {program}"
    result = CliRunner().invoke(app, ["audit", str(file), "--client", "--through", command], env={"COLUMNS": "200"})
    return result.exit_code, result.output


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at fewer users and reports, too few for a test of ids."""
    for name, number in {"_USERS": 3, "_CHARGED": 1, "_IDS": 4, "_RANDOM": 64}.items():
        monkeypatch.setattr(through, name, number)
    monkeypatch.setattr(through, "id_problems", lambda _: [])


PROGRAM = Path("contract", "program.js")


@pytest.mark.usefixtures("few")
def test_the_client_passes_an_audit_and_one_that_inverts_its_noise_does_not(tmp_path: Path) -> None:
    file = tmp_path / "survey.yaml"
    file.write_text(SURVEY.format(mechanism="{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}"), encoding="utf-8")
    status, shown = audited(file, CLIENT / PROGRAM)
    assert (status, shown.count(" holds ")) == (0, 11)
    broken = tmp_path / "broken"
    shutil.copytree(CLIENT, broken)
    mechanisms = broken / "src" / "mechanisms.js"
    text = mechanisms.read_text(encoding="utf-8")
    assert text.count("words[i] < (bit ? q : p)") == 1
    mechanisms.write_text(text.replace("words[i] < (bit ? q : p)", "words[i] >= (bit ? q : p)"), encoding="utf-8")
    status, shown = audited(file, broken / PROGRAM)
    assert status == 1
    assert "every row follows the specification" in shown


@pytest.mark.long
@pytest.mark.parametrize("number", range(6))
def test_the_client_passes_an_audit_with_every_kind(number: int, tmp_path: Path) -> None:
    text = ["", *ALL_KINDS.split("---")[:-1]][number] or SURVEY.format(
        mechanism="{kind: k-rr, epsilon: 2, per_report: 1}"
    )
    file = tmp_path / "collection.yaml"
    file.write_text(text, encoding="utf-8")
    status, shown = audited(file, CLIENT / PROGRAM)
    assert (status, shown.count(" holds ")) == (0, 11)


IN_A_PAGE = """
async ([url, nowMs, record]) => {
  const { Gateway, IndexedDBStore, Ledger, Reporter } = await import("/src/index.js");
  const store = new IndexedDBStore();
  const ledger = await Ledger.openOrCreate({ store, budget: 4 });
  const gateway = new Gateway(url);
  const reporter = new Reporter({ gateway, collection: await gateway.collection("care-survey"), clock: () => nowMs });
  const found = await Promise.all([1, 2].map(() => reporter.report(record, ledger).catch((error) => error.name)));
  return [found.sort(), await ledger.spent()];
}
"""


#: A page reports what it holds to each collection, and says which modules of kinds it had loaded before each.
EACH_KIND_IN_A_PAGE = """
async ([url, nowMs, held]) => {
  const { Gateway, IndexedDBStore, Ledger, Reporter } = await import("/src/index.js");
  const store = new IndexedDBStore();
  const user = { store, key: "another", budget: 40, linked: true };
  const ledger = await Ledger.openOrCreate(user);
  const isNew = [ledger.isNew, (await Ledger.openOrCreate(user)).isNew];
  const gateway = new Gateway(url);
  const found = [];
  for (const [name, record] of Object.entries(held)) {
    const names = performance.getEntriesByType("resource").map(({ name }) => name);
    const kinds = names.filter((name) => name.includes("/kinds/")).map((name) => name.split("/").at(-1));
    const reporter = new Reporter({ gateway, collection: await gateway.collection(name), clock: () => nowMs });
    found.push([name, await reporter.report(record, ledger), kinds]);
  }
  const lost = await Ledger.open({ store, key: "nobody" }).catch((error) => error.name);
  return { found, isNew, lost, persists: typeof (await store.persist()) };
}
"""


@needs_chromium
async def test_a_page_reports_every_kind_into_published_answers_and_its_tabs_spend_one_budget() -> None:
    collections = each_kind()
    survey = collections[0]
    assert isinstance(survey, JointCollection)
    pages = empty_site()
    pages.router.add_static("/src", CLIENT / "src")
    with kafka_in_memory(*collections, now_ms=EPOCH_MS) as kafka:
        async with (
            site(pages) as page_url,
            gateway(*collections, kafka=kafka, origins=frozenset({page_url})) as url,
            chromium() as browser,
        ):
            arguments = [url, kafka.clock(), {"bathing": "no", "mobility": "some"}]
            context = await browser.new_context()
            tabs = [await context.new_page() for _ in range(2)]
            for tab in tabs:
                await tab.goto(page_url)
            # Both at once, and each twice: 4 nats cover one report, at 3.154, and not two.
            found = await asyncio.gather(*(tab.evaluate(IN_A_PAGE, arguments) for tab in tabs))
            third = await context.new_page()
            await third.goto(page_url)
            each = await third.evaluate(EACH_KIND_IN_A_PAGE, [url, kafka.clock(), HELD])
        answers = {answer.collection: answer.reports for answer in kafka.close_windows()}
    (first, spent), (second, spent_then) = found
    assert sorted(map(str, first + second)) == ["1", "BudgetExceeded", "BudgetExceeded", "BudgetExceeded"]
    assert spent == spent_then == pytest.approx(2 * survey.mechanism_spec.responses_loss(responses=1, reports=1))
    assert kafka.refused == []
    assert answers == dict.fromkeys(HELD, 1) | {"care-survey": 2}
    assert [(name, reports) for name, reports, _ in each["found"]] == [(name, 1) for name in HELD]
    # Each module is loaded with the first collection of its kind, and not before.
    loaded = ["records.js", "sampled.js", "strings.js", "places.js", "pairs.js"]
    assert [kinds for _, _, kinds in each["found"]] == [loaded[:count] for count in (0, 1, 2, 2, 3, 4, 5)]
    assert (each["isNew"], each["lost"], each["persists"]) == ([True, False], "LedgerLost", "boolean")
