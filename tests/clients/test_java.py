"""Tests of the Java client beside those of the suite for all languages: its examples, its page, and its own tests."""

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from aiohttp import ClientSession

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.embedded.jars import fetch_jars
from stream_ldp.kinds import parse_collection
from stream_ldp.testing import kafka_in_memory
from tests.clients import java
from tests.clients.contract.cases import TIME_MS, specified, vectors
from tests.clients.test_javascript import gateway
from tests.gateway.test_on_kafka import gateway as gateway_on_kafka
from tests.service.harness import JointDeployment
from tests.service.test_worker import assert_finals_are_exact

PLAIN = java.CLIENT / "examples" / "plain" / "src" / "main" / "java" / "org" / "streamldp" / "examples" / "Plain.java"
README = java.CLIENT / "README.md"
MAVEN = shutil.which("mvn")

USERS = 300

#: Answers to the application, one by one.
ANSWERS = 60

needs_maven = pytest.mark.skipif(MAVEN is None, reason="Maven, which builds the Java client, is not installed")
needs_jdk = pytest.mark.skipif(java.missing() is not None, reason=java.missing() or "")


def test_the_page_has_the_example_that_runs() -> None:
    begin = "  public static void main"
    example = PLAIN.read_text(encoding="utf-8")
    shown = begin + example.split(begin)[1].split("\n  }\n")[0] + "\n  }\n"
    lines = [line.removeprefix("  ") for line in shown.splitlines()]
    assert "```java\n" + "\n".join(lines) + "\n```" in README.read_text(encoding="utf-8")


def test_the_page_names_every_refusal_of_the_client() -> None:
    text = README.read_text(encoding="utf-8")
    thrown = {path.stem for path in (java.MAIN / java.PACKAGE).glob("*Exception.java")}
    assert {each for each in thrown if each not in text} == {"StreamLdpException", "ReportRefusedException"}


@needs_jdk
@pytest.mark.parametrize(
    "name",
    # What the client reports of every kind, tests/clients/contract holds.
    [
        "record_reports",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("sampled", "strings", "places", "pairs")),
        "item_reports",
    ],
)
async def test_reports_pass_the_gateway_and_all_of_them_count(name: str) -> None:
    file = vectors(name)[0]["file"]
    collection = parse_collection(json.dumps(file))
    held = [{"items": []}, {"items": ["Heat", "Fargo"]}]
    if name != "item_reports":
        held = [dict(each) for each in specified(collection, file).held()[:2]]
    java.compiled()
    # Item sets are asked for in phases: the first is that of an epoch's first window.
    epoch_ms = 3 * collection.window.size_ms
    with kafka_in_memory(collection, now_ms=TIME_MS // epoch_ms * epoch_ms) as kafka:
        async with gateway(collection, kafka=kafka) as url:
            command = java.command("org.streamldp.client.GatewayProgram")
            process = await asyncio.create_subprocess_exec(
                *(*command, url, collection.name, str(kafka.clock())),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            printed, _ = await process.communicate("\n".join(json.dumps(each) for each in held * 50).encode())
        kafka.close_windows()
    assert printed.decode().strip() == "100"
    assert kafka.refused == []
    assert kafka.reports(collection.name) == 100


@pytest.mark.long
@needs_jdk
async def test_reports_of_the_example_are_in_the_published_estimate(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)
    collection = deployment.collection
    (tmp_path / "document.json").write_text(json.dumps(collection.document), encoding="utf-8")
    (tmp_path / "meaning.json").write_text(collection.meaning, encoding="utf-8")
    (tmp_path / "ledgers").mkdir()
    classes = tmp_path / "classes"
    jars = f"{fetch_jars()}/*"
    sources = [*(java.MAIN / java.PACKAGE).glob("*.java"), PLAIN]
    subprocess.run(
        [*java.COMPILE, "--release", "11", "-cp", jars, "-d", classes, *sources], check=True, capture_output=True
    )
    with deployment.worker() as worker:
        await worker.ready()
        files = [str(tmp_path / name) for name in ("document.json", "meaning.json")]
        command = [*java.RUN, "-cp", f"{classes}:{jars}", "org.streamldp.examples.Plain", *files]
        done = subprocess.run(
            [*command, kafka.bootstrap, prefix, str(tmp_path / "ledgers"), str(USERS)],
            check=True,
            capture_output=True,
            text=True,
        )
        assert re.match(r"Sent to survey: 1 byte, ", done.stdout)
        assert f"{USERS} reports" in done.stdout
        await assert_finals_are_exact(deployment, reports=USERS)


@pytest.mark.long
@needs_maven
async def test_answers_to_the_spring_boot_application_are_in_the_published_estimate(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)
    built = ["-q", "-B", "-DskipTests", "-pl", "examples/spring-boot", "-am", "package", "dependency:build-classpath"]
    subprocess.run(
        [str(MAVEN), *built, "-Dmdep.outputFile=target/classpath.txt"],
        cwd=java.CLIENT,
        check=True,
        capture_output=True,
    )
    target = java.CLIENT / "examples" / "spring-boot" / "target"
    jars = (target / "classpath.txt").read_text(encoding="utf-8")
    (tmp_path / "ledgers").mkdir()
    answer = {attribute.name: attribute.values[0] for attribute in deployment.collection.attributes}
    with deployment.worker() as worker:
        await worker.ready()
        async with gateway_on_kafka(deployment) as url:
            flags = {"gateway": url, "collection": deployment.collection.name, "ledgers": tmp_path / "ledgers"}
            process = await asyncio.create_subprocess_exec(
                *java.RUN,
                *(
                    "-cp",
                    f"{target / 'classes'}:{jars}",
                    "org.streamldp.examples.SurveyApplication",
                    "--server.port=0",
                ),
                *(f"--survey.{name}={value}" for name, value in flags.items()),
                stdout=asyncio.subprocess.PIPE,
            )
            assert process.stdout is not None
            try:
                port = None
                while port is None:
                    line = (await process.stdout.readline()).decode()
                    assert line, "the application has ended"
                    port = re.search(r"started on port (\d+)", line)
                async with ClientSession(f"http://127.0.0.1:{port[1]}") as session:
                    for user in range(ANSWERS):
                        async with session.post(f"/users/{user}/answers", json=answer) as done:
                            assert done.status == 200, await done.text()
                            (receipt,) = await done.json()
                            assert receipt.startswith("Sent to survey: 1 byte, ")
            finally:
                process.terminate()
                await process.wait()
        await assert_finals_are_exact(deployment, reports=ANSWERS)


@pytest.mark.long
@needs_maven
def test_maven_builds_the_client_and_its_examples_and_all_their_tests_pass() -> None:
    """Among them vectors, seeded laws, ledgers of threads, and the Spring Boot application over HTTP."""
    done = subprocess.run(
        [str(MAVEN), "-q", "-B", "verify", "javadoc:javadoc"],
        cwd=java.CLIENT,
        check=False,
        capture_output=True,
        text=True,
    )
    if "could not be resolved" in done.stdout:
        pytest.skip("Maven cannot fetch what the Java client is built with")
    assert done.returncode == 0, done.stdout
    (jar,) = (java.CLIENT / "client" / "target").glob("*[0-9].jar")
    (most_kb,) = re.findall(r"jar \| at most (\d+) kB", README.read_text(encoding="utf-8"))
    assert jar.stat().st_size <= 1_000 * int(most_kb)
