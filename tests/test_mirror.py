"""The tests mirror the package: those of a module are found by its folder and its name.

stream_ldp/kafka/log.py has tests/kafka/test_log.py, and cli/evaluate/_inputs.py has cli/evaluate/test_inputs.py.
"""

from pathlib import Path

import stream_ldp
from tests.conftest import HEAVY

PACKAGE = Path(stream_ldp.__file__).parent
TESTS = Path(__file__).parent

#: Modules that only declare, each with the reason why there is nothing to test by itself.
WITHOUT_TESTS = {
    **dict.fromkeys(
        [
            f"audit/wire/{section}.py"
            for section in (
                "batch",
                "client",
                "notation",
                "pairs",
                "places",
                "questions",
                "randomizers",
                "records",
                "sets",
                "strings",
                "values",
            )
        ],
        "sections of docs/wire.md, which audit/wire/test_golden.py holds to all golden vectors",
    ),
    "audit/record_mechanism.py": "records/test_audited.py audits mechanisms with a collection and without",
    "evaluation/trial.py": "protocols, and dataclasses without behaviour",
    "mechanisms/randomizers.py": "tables of what the other modules have",
    "mechanisms/specs.py": "tables of what the other modules have",
    "message_part.py": "a base class without behaviour",
    "client/perturber.py": "what it makes is read in the tests of the three that use it",
    "pipeline/source.py": "a name, which test_partials.py reads in keys",
    "pipeline/kind.py": "protocols, and dataclasses without behaviour",
    "pipeline/late_partials.py": "test_region_watermarks.py reads what a merge counts as late",
    "pipeline/layout.py": "a protocol",
    "pipeline/synthetic.py": "a protocol, and a dataclass without behaviour",
    "pipeline/single_tally.py": "an abstract base; what it has is tested with both of its layouts",
    "pipeline/statistics/statistic.py": "a protocol",
    "records/estimators/problem.py": "a protocol and what passes through it; test_contract.py holds all forms to it",
    "records/estimators/solution.py": "enumerations, and dataclasses without behaviour",
    "records/kind.py": "one declaration of what the other modules have",
    "sets/kind.py": "one declaration of what the other modules have",
    "marginals/kind.py": "one declaration of what the other modules have",
    "pairs/kind.py": "one declaration of what the other modules have",
    "places/kind.py": "one declaration of what the other modules have",
    "strings/kind.py": "one declaration of what the other modules have",
    "strings/audited.py": "audit/test_audited.py holds the claims of every kind",
    "questions/plan.py": "tests of the plans of the four kinds that have it",
    "schemas/__main__.py": "writes the files that test_generated.py compares",
}

#: Test files that mirror no module, each with what it spans.
SUITES = {
    "audit/test_whole_rows.py": "the audit of a kind that the package does not have",
    "audit/wire/test_golden.py": "docs/wire.md, by the client that is written from it alone",
    "audit/wire/test_vectors.py": "the golden vectors of whole reports, by the package",
    "benchmarks/test_alternating.py": "what windows that alternate learn from, in docs/accuracy.md",
    "benchmarks/test_itemsets.py": "what docs/mechanisms.md compares itemsets with",
    "benchmarks/test_joint.py": "docs/accuracy.md",
    "benchmarks/test_growth.py": "the benchmark of growth, and docs/performance.md",
    "benchmarks/test_how_many.py": "docs/how-many-users.md",
    "benchmarks/test_mechanisms.py": "docs/mechanisms.md",
    "benchmarks/test_papers.py": "docs/papers.md, and the benchmark that makes it",
    "benchmarks/test_pairs.py": "the published mechanisms that docs/mechanisms.md compares pairs with",
    "benchmarks/test_predicted.py": "the benchmark of what plans predict, and the users that every kind has for it",
    "benchmarks/test_results.py": "the measured results that are kept with the benchmarks",
    "benchmarks/test_slips.py": "what the papers print, by enumeration",
    "benchmarks/test_soak.py": "the memory of the pipeline over many windows",
    "benchmarks/test_streams.py": "ways to bound what any windows cost, in docs/privacy.md",
    "benchmarks/test_speed.py": "the benchmark of speed, and the plain forms in it",
    "chaos/test_chaos.py": "the service under every fault, on real brokers; see tests/chaos/__main__.py",
    "chaos/test_checks.py": "what is compared after a run",
    "chaos/test_flood.py": "a worker and its neighbours under each hostile kind of records; see tests/chaos/flood.py",
    "chaos/test_kinds.py": "the collections that the runs are about",
    "chaos/test_log.py": "how topics are read after a run",
    "chaos/test_oracle.py": "what a run must publish",
    "chaos/test_proxy.py": "the network of a run",
    "chaos/test_run.py": "runs that cannot be played",
    "chaos/test_schedule.py": "what goes wrong in a run",
    "cli/test_shown_epsilon.py": "every command that shows an epsilon",
    "client/test_rounds_on_kafka.py": "reporters that answer rounds, on a real broker",
    "client/test_small_client.py": "all reporters, where only what they need is installed",
    "client/test_on_kafka.py": "reporter and subscriber, on a real broker",
    "clients/contract/test_contract.py": "clients in every language; docs/clients/contract.md",
    "clients/test_java.py": "clients/java, by itself and on a real broker",
    "clients/test_javascript.py": "clients/javascript, by itself and through the gateway",
    "pages/test_connect.py": "the recipes for Kafka Connect and ClickHouse, against the real ones",
    "test_distribution.py": "wheel and archive, as users get them",
    "test_setup.py": "setup.py",
    "deploy/test_ci.py": "the workflows of continuous integration and of releases",
    "deploy/test_supply_chain.py": "what this is built of, and that nothing of it moves",
    "deploy/test_docker.py": "docker/",
    "deploy/test_manifests.py": "deploy/, as rendered for Kubernetes",
    "deploy/test_monitoring.py": "the alerts and dashboards in deploy/",
    "kinds/test_answer.py": "the answers of every kind",
    "kinds/test_collection.py": "the files of every kind",
    "kinds/test_client.py": "the clients, with every kind",
    "kinds/test_commands.py": "the commands, with every kind",
    "kinds/test_on_kafka.py": "the service with every kind, on a real broker",
    "kinds/test_published.py": "what every kind states for readers of finals",
    "kinds/test_restored.py": "open windows of every kind, saved and restored",
    "kinds/test_service.py": "the service with every kind, in memory",
    "machines/test_epochs.py": "the pipeline of item sets, as a state machine",
    "machines/test_pipeline.py": "the pipeline of records, as a state machine",
    "mechanisms/test_contract.py": "every mechanism",
    "fuzz/test_fuzz.py": "every decoder of bytes from outside",
    "gateway/test_on_kafka.py": "the gateway, on a real broker",
    "gateway/test_scripts.py": "the gateway, from pages in a browser",
    "page/test_browser.py": "the page's files, in a browser",
    "page/test_pictures.py": "the pictures of the page that the documentation shows",
    "pages/test_application.py": "the tutorial on applications",
    "pages/test_choosing.py": "the page on choosing a mechanism",
    "pages/test_followed.py": "the tutorials, one after the other, on a real broker",
    "pages/test_item_sets.py": "the tutorial on item sets",
    "pages/test_privacy.py": "the page on privacy",
    "pages/test_readme.py": "the README",
    "pages/test_worker.py": "the page on operating a worker",
    "records/estimators/test_accuracy.py": "every estimator",
    "records/estimators/test_contract.py": "every estimator",
    "schemas/test_recorded.py": "what releases write to every topic",
    "service/test_access.py": "the access rules of each kind of user, on a real broker",
    "service/test_epochs.py": "the service with item sets, on a real broker",
    "service/test_bombs.py": "the reports topic, with few bytes that expand to many, on a real broker",
    "service/test_foreign_records.py": "every topic, with records of other software, on a real broker",
    "service/test_itemsets.py": "itemsets on a real Kafka, with a worker killed",
    "service/test_lost_logs.py": "the service with topics that are deleted or lose their end, on a real broker",
    "service/test_outages.py": "the service while its broker is away, on a real broker",
    "service/test_partitions_added.py": "the service with partitions that are added, on a real broker",
    "service/test_privacy_of_the_topics.py": "every topic",
    "service/test_linked.py": "the service with linked reports, on a real broker",
    "service/test_regions.py": "a deployment of several regions, in memory and on two clusters",
    "service/test_restored.py": "a worker that goes on from what the one before has saved, in memory",
    "service/test_upgrade.py": "the service while its set of collections changes, on a real broker",
    "sets/methods/test_accuracy.py": "every method",
    "sets/methods/test_methods.py": "every method",
    "sets/test_wire.py": "the wire format of item sets, with a client written from its specification",
    "views/test_privacy.py": "the privacy of all that a user sends to a collection of views",
    "test_architecture.py": "what docs/architecture.md says",
    "test_breaks.py": "every known way to break the privacy of the package",
    "test_doctests.py": "the examples in docstrings",
    "test_examples.py": "examples/",
    "test_mirror.py": "the tests",
    "test_public.py": "the public names of the package",
    "test_site.py": "the documentation site",
}


def mirrored(module: str) -> str:
    """Return where the tests of a module belong."""
    path = Path(module)
    return path.with_name(f"test_{path.name.removeprefix('_')}").as_posix()


MODULES = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
TEST_FILES = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}


def test_every_module_has_its_tests_at_the_mirrored_place_or_a_reason_to_have_none() -> None:
    assert {module for module in MODULES if mirrored(module) not in TEST_FILES} == set(WITHOUT_TESTS)


def test_every_test_file_mirrors_a_module_or_is_a_known_suite() -> None:
    assert TEST_FILES - set(map(mirrored, MODULES)) == set(SUITES)


def test_what_is_heavy_is_there() -> None:
    assert [each for each in HEAVY if not (TESTS / each).exists()] == []
