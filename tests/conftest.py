"""All tests of a run share one Kafka, and each has names on it that no other test uses."""

import gc
import logging
import os
import shutil
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka, MissingTool
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import ENVIRONMENT_PREFIX, OTHER_VARIABLES
from tests.kafka.secured import SecuredKafka
from tests.kafka.shared import kafka_on_request, own_kafka, shared_kafka
from tests.profiles import QUICK

#: Fixtures that tests of several rooms use.
pytest_plugins = [
    "tests.cli.audits",
    "tests.client.fakes",
    "tests.coins",
    "tests.kafka.traced",
]

# What tests write may be a secret, which is refused where everybody may read it.
os.umask(0o077)

# Unless --hypothesis-profile says otherwise, which is read later.
hypothesis.settings.load_profile(QUICK)


#: Each process takes some hundred megabytes.
MAX_PROCESSES = 8

#: Where the processes of a run ask for its Kafka.
KAFKA = pytest.StashKey[str]()

#: Files and folders that take three quarters of the processor's time of all tests without a broker, each with the
#: reason: `make test-fast` leaves them out.
HEAVY = {
    "audit": "attacks and enumerates",
    "benchmarks": "measures, in small",
    "cli/demo": "runs the demo",
    "cli/evaluate": "estimates in many rounds",
    "cli/export/test_sink.py": "runs PostgreSQL",
    "cli/test_audit.py": "attacks and enumerates",
    "cli/test_check.py": "measures solves",
    "cli/test_descriptors.py": "starts a process for each command",
    "cli/test_failure.py": "starts a process for each failure",
    "cli/test_logs.py": "starts a process for each log",
    "cli/test_plan.py": "expects errors of many populations",
    "cli/test_query.py": "draws pictures",
    "cli/test_shown_epsilon.py": "enumerates",
    "cli/test_try_out.py": "tries collections with a worker",
    "cli/test_worker.py": "starts a process for each end",
    "client/audit": "attacks clients",
    "client/test_small_client.py": "starts a process for each client",
    "clients": "runs Node and a browser",
    "deploy": "runs the checkers of manifests, workflows and packages",
    "filtering": "follows windows until an error shows",
    "fuzz": "tries each decoder",
    "gateway/test_scripts.py": "runs a browser",
    "kafka/embedded/test_mock.py": "starts brokers",
    "kafka/test_tracing.py": "starts a process",
    "kinds/test_commands.py": "evaluates, and measures solves",
    "kinds/test_published.py": "composes bounds over windows",
    "ledger/test_ledger_file.py": "kills a process at each of its steps",
    "machines": "lives histories",
    "marginals/test_candidates.py": "draws reports until a bias would show",
    "marginals/test_cohorts.py": "draws reports until a bias would show",
    "marginals/test_distribution.py": "draws reports until a bias would show",
    "marginals/test_evaluation.py": "estimates in many rounds",
    "marginals/test_numbers.py": "draws reports until a bias would show",
    "marginals/test_solve.py": "lives windows",
    "marginals/test_values.py": "draws reports until a bias would show",
    "mechanisms/randomness/test_entropy.py": "starts processes",
    "mechanisms/test_bit_counts.py": "draws reports until a bias would show",
    "mechanisms/test_contract.py": "enumerates every mechanism",
    "mechanisms/test_frequency_oracle.py": "draws reports until a bias would show",
    "mechanisms/test_rr_ldp.py": "draws reports until a bias would show",
    "page/test_browser.py": "runs a browser",
    "pages": "runs what the pages show",
    "pipeline/test_merging.py": "merges after outages of any length",
    "pipeline/test_undecided.py": "lives histories",
    "places/test_evaluation.py": "estimates in many rounds",
    "places/test_solve.py": "draws reports until a bias would show",
    "questions/test_audited.py": "attacks and enumerates",
    "questions/test_reports.py": "enumerates",
    "records/estimators": "solves until an error shows",
    "records/test_audited.py": "attacks and enumerates",
    "records/test_evaluation.py": "estimates in many rounds",
    "records/test_solve_time.py": "solves what is large",
    "schemas/test_collection_file.py": "damages every file in the repository",
    "sets/audit": "attacks and enumerates",
    "sets/methods": "draws reports until a bias would show",
    "sets/test_solve.py": "lives epochs",
    "sets/test_wire.py": "lives epochs",
    "strings/test_temporal.py": "lives windows",
    "synthesis/test_junction_tree.py": "draws records until a bias would show",
    "test_architecture.py": "parses the package",
    "test_breaks.py": "breaks the package in every known way",
    "test_examples.py": "runs a browser and notebooks",
    "test_kinds.py": "loads the solvers of every kind",
    "test_public.py": "starts a process for each command",
    "views/test_errors.py": "draws reports until a bias would show",
    "views/test_independence.py": "draws reports until a bias would show",
    "views/test_tables.py": "draws reports until a bias would show",
    "views/test_temporal.py": "lives windows",
    "views/test_variance.py": "draws reports until a bias would show",
}

TESTS = Path(__file__).parent


# jsonschema would compile 38 grammars of addresses, for a format that no schema of ours has: two seconds of each
# process.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# What is imported and collected, a million objects, stays to the end. To search it for garbage again and again would
# be a sixth of the work until the first test, and a part of that of every other.
gc.disable()


def pytest_collection_finish() -> None:
    """Search for garbage only among what tests leave."""
    gc.freeze()
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files all of whose tests would be: only to import them takes seconds."""
    return True if "not heavy" in config.option.markexpr and _is_heavy(collection_path) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Number of processes of `-n auto`: one more than cores, since tests on Kafka wait more than they work.

    Each more costs eleven seconds of a core, in which it imports and collects what is tested.
    """
    waiting = 0 if "not kafka" in config.option.markexpr else 1
    return min((os.cpu_count() or 1) + waiting, MAX_PROCESSES)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Side by side, the processes share one Kafka, which ends after them all."""
    running = ExitStack()
    config.add_cleanup(running.close)
    config.stash[KAFKA] = running.enter_context(kafka_on_request())


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a process the address at which the one Kafka is asked for."""
    node.workerinput["kafka"] = node.config.stash[KAFKA]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs the broker, and what is heavy, before it is selected by; side by side, it runs in our order."""
    on_kafka = [item for item in items if "kafka" in getattr(item, "fixturenames", ())]
    for item in on_kafka:
        item.add_marker(pytest.mark.kafka)
    for item in items:
        if _is_heavy(item.path):
            item.add_marker(pytest.mark.heavy)
    if hasattr(config, "workerinput"):
        turns = _turns(dict.fromkeys(item.path for item in items), waiting={item.path for item in on_kafka})
        items.sort(key=lambda item: turns[item.path])


@cache
def _is_heavy(file: Path) -> bool:
    place = file.relative_to(TESTS) if file.is_relative_to(TESTS) else file
    return any(str(each) in HEAVY for each in (place, *place.parents))


def _turns(files: Iterable[Path], *, waiting: set[Path]) -> dict[Path, float]:
    """Return when each file begins, relative to the others.

    Tests on Kafka wait more than they work, above all those of the service's workers. They begin in turn with the
    heavy ones, so that some wait while others work. All others come last: they are short, and wait for nothing, so
    that no core is idle until the end.
    """
    on_kafka = sorted((file for file in files if file in waiting), key=lambda file: file.parent.name != "service")
    others = [file for file in files if file not in waiting]
    heavy = [file for file in others if _is_heavy(file)]
    turns = {file: place / len(queue) for queue in (on_kafka, heavy) for place, file in enumerate(queue)}
    return {file: turns.get(file, 1.0) for file in (*on_kafka, *others)}


@pytest.fixture(scope="session")
def kafka(pytestconfig: pytest.Config) -> Iterator[SecuredKafka]:
    """A real Apache Kafka. Without Java, Maven or openssl its tests are skipped, or fail where it is required."""
    with ExitStack() as stack:
        try:
            if hasattr(pytestconfig, "workerinput"):
                broker = shared_kafka(pytestconfig.workerinput["kafka"])
            else:
                broker = stack.enter_context(own_kafka())
        except MissingTool as missing:
            if os.environ.get("CI") or os.environ.get("STREAM_LDP_REQUIRE_KAFKA") == "1":
                pytest.fail(f"a real Kafka is required here: {missing}")
            pytest.skip(f"no real Kafka: {missing}")
        yield broker


@pytest.fixture
def mortal(kafka: EmbeddedKafka) -> Iterator[EmbeddedKafka]:
    """Start a broker for this test alone, to be killed; skipped wherever the shared broker is."""
    with EmbeddedKafka() as broker:
        yield broker


@pytest.fixture
def elsewhere(kafka: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedKafka]:
    """Start a broker of another cluster for this test alone; skipped wherever the shared broker is."""
    monkeypatch.setattr("stream_ldp.kafka.embedded.node._CLUSTER_ID", "AAAAAAAAAAAAAAAAAAAAAA")
    with EmbeddedKafka() as broker:
        yield broker


@pytest.fixture
def changing(kafka: SecuredKafka, tmp_path: Path) -> Iterator[SecuredKafka]:
    """Start a broker for this test alone, whose passwords and certificates may be changed."""
    own = tmp_path / "certificates"
    shutil.copytree(kafka.certificates, own)
    with SecuredKafka(own) as broker:
        yield broker


@pytest.fixture
def prefix() -> str:
    """First part of the names of topics and groups, of this test alone."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def settings(kafka: EmbeddedKafka, prefix: str) -> Settings:
    """Settings that reach the broker, under a prefix of this test alone."""
    return Settings.load(brokers=kafka.bootstrap, topic_prefix=prefix, admin_port=0)


@pytest.fixture
def own_log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Capture the log of a test that asserts all that is in it: garbage of earlier tests logs before, if at all."""
    gc.collect()
    caplog.clear()
    return caplog


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let plans predict errors from two samples, where a test is about what a plan says and not about how well."""
    for name in ("_FEWEST", "_MOST"):
        monkeypatch.setattr(f"stream_ldp.evaluation.prediction.{name}", 2)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own environment must not decide a test."""
    for name in os.environ:
        if name.startswith(ENVIRONMENT_PREFIX) and name not in OTHER_VARIABLES:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _levels_of_logs_as_before() -> Iterator[None]:
    """Commands set the levels of logs, since they have a process of their own: here the next test has it too."""
    before = {logger: logger.level for logger in _loggers()}
    disabled = logging.root.manager.disable
    yield
    logging.disable(disabled)
    for logger in _loggers():
        level = before.get(logger, logging.NOTSET)
        if logger.level != level:
            logger.setLevel(level)


def _loggers() -> list[logging.Logger]:
    known = logging.Logger.manager.loggerDict.values()
    return [logging.getLogger(), *(each for each in known if isinstance(each, logging.Logger))]
