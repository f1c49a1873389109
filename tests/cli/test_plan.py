"""`stream-ldp plan`: parameters for a wanted epsilon, and which options are refused."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.cli.plan import print_sections
from stream_ldp.pipeline.plan import Section
from stream_ldp.records.collection import JointCollection
from tests.client.examples import write_survey
from tests.coins import TEXT as COINS
from tests.paths import GOLDEN
from tests.records.examples import TOWNS_TEXT
from tests.toy import Coins
from tests.views.examples import TEXT, collection_of, estimated


@pytest.mark.usefixtures("few_draws")
def test_parameters_for_a_wanted_epsilon_can_be_pasted_into_the_file(towns_file: Path) -> None:
    # Few reports, since the solves of many are timed for seconds.
    wanted = ["--lifetime", "12", "--per-report", "3", "--reports", "500"]
    done = CliRunner().invoke(app, ["plan", str(towns_file), *wanted])
    assert done.exit_code == 0, done.output
    line = done.stdout.splitlines()[0]
    assert line.startswith("mechanism: {kind: rr-ldp, f: ")
    old = "mechanism: {kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}"
    mechanism = JointCollection.parse(TOWNS_TEXT.replace(old, line)).mechanism
    assert 12 - 1e-6 < mechanism.epsilon(reports=math.inf) <= 12
    assert 3 - 1e-6 < mechanism.epsilon(reports=1) <= 3


@pytest.mark.parametrize(
    "wanted", [["--lifetime", "2", "--per-report", "3"], ["--per-report", "1"], ["--lifetime", "0"]]
)
def test_an_unattainable_epsilon_is_refused(towns_file: Path, wanted: list[str]) -> None:
    done = CliRunner().invoke(app, ["plan", str(towns_file), *wanted])
    assert done.exit_code == 2
    assert done.stderr.strip()


@pytest.mark.usefixtures("few_draws")
def test_a_plan_as_json_has_the_text_whose_digest_is_the_fingerprint(tmp_path: Path) -> None:
    """Of each way to be asked, since a client in another language cannot work out any other way what it is asked."""
    for vectors in ("sampled", "views", "strings", "places"):
        vector = json.loads((GOLDEN / f"{vectors}.json").read_text(encoding="utf-8"))[0]
        file = tmp_path / "asked.yaml"
        file.write_text(json.dumps(vector["file"]), encoding="utf-8")
        done = CliRunner().invoke(app, ["plan", str(file), "--json", "--users", "1000"])
        assert done.exit_code == 0, done.output
        planned = json.loads(done.stdout)
        assert planned["meaning"] == vector["meaning"]
        digest = hashlib.sha256(planned["meaning"].encode()).hexdigest()
        assert digest[:32] == planned["fingerprint"] == vector["fingerprint"]


def test_the_option_for_ever_is_refused_for_an_item_collection(tmp_path: Path) -> None:
    (file := tmp_path / "films.yaml").write_text(
        "collection: films\nmechanism: {kind: svim, epsilon: 2, k: 4}\nitems: {size: 32}\nwindow: {size: 60s}\n"
    )
    done = CliRunner().invoke(app, ["plan", str(file), "--lifetime", "3"])
    assert done.exit_code == 2
    assert "for collections of records" in done.stderr


@pytest.mark.usefixtures("few_draws")
def test_a_pipe_gets_the_whole_plan_however_narrow_the_terminal_was(towns_file: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(towns_file), "--reports", "500"], env={"COLUMNS": "40"})
    assert "Errors to expect, by reports in a window" in " ".join(done.stdout.split())
    assert "…" not in done.stdout


def test_the_errors_of_a_plan_are_those_that_evaluate_measures_of_a_table(tmp_path: Path) -> None:
    survey, people = write_survey(tmp_path / "survey.yaml"), tmp_path / "people.csv"
    people.write_text("bathing,mobility\n" + "no,none\n" * 200 + "yes,full\n" * 40)
    given = ["--data", str(people), "--json", "--users", "20000"]
    planned, measured = (
        CliRunner().invoke(app, [command, str(survey), *given, *more])
        for command, more in (("plan", []), ("evaluate", ["--repeats", "15"]))
    )
    assert planned.exit_code == 0, planned.output
    expected, found = json.loads(planned.stdout)["predicted"], json.loads(measured.stdout)["results"]
    assert [(each["series"], each["users"]) for each in expected] == [(each["series"], 20_000) for each in found]
    for each, other in zip(expected, found, strict=True):
        for name in ("avd", "rmse"):
            assert each["metrics"][name] == pytest.approx(other["metrics"][name], rel=0.3)


def test_a_plan_says_how_many_users_a_wanted_error_takes(tmp_path: Path) -> None:
    (file := tmp_path / "coins.yaml").write_text(
        "collection: c\nmechanism: {kind: sampled, epsilon: 2}\nattributes: [{name: a, values: [x, y]}]\n"
        "window: {size: 60s}\n"
    )
    asked = ["plan", str(file), "--users", "1000", "--wanted", "0.01"]
    as_text, as_json = (CliRunner().invoke(app, [*asked, *more]) for more in ([], ["--json"]))
    (found,) = json.loads(as_json.stdout)["users_for"]
    assert found["metric"] == "avd"
    # The standard error of a frequency of two values is 1 / (2 sinh(1) sqrt(n)) or so, and 0.8 of it is the distance.
    assert 1_000 < found["users"] < 8_000
    assert f"{found['users']:,}" in as_text.stdout.split("How many users it takes")[1]


@pytest.mark.parametrize("wanted", ["0", "1", "-0.1", "nan"])
def test_an_error_that_is_no_share_is_not_wanted(towns_file: Path, wanted: str) -> None:
    done = CliRunner().invoke(app, ["plan", str(towns_file), "--wanted", wanted])
    assert done.exit_code == 2
    assert "--wanted is an error, or a quality, between 0 and 1" in done.stderr


def test_a_number_of_a_table_that_is_none_is_refused_with_its_row_and_column(tmp_path: Path) -> None:
    (file := tmp_path / "ages.yaml").write_text(
        "collection: c\nmechanism: {kind: sampled, epsilon: 2}\nattributes: [{name: age, range: [0, 100]}]\n"
        "window: {size: 60s}\n"
    )
    (people := tmp_path / "people.csv").write_text("age\n40\nNaN\n")
    done = CliRunner().invoke(app, ["plan", str(file), "--data", str(people)])
    assert done.exit_code == 1
    assert "people.csv:3: attribute 'age': the given value is not a number" in done.stderr


def test_a_table_that_lacks_an_attribute_is_refused(tmp_path: Path) -> None:
    survey, people = write_survey(tmp_path / "survey.yaml"), tmp_path / "people.csv"
    people.write_text("bathing\nno\n")
    done = CliRunner().invoke(app, ["plan", str(survey), "--data", str(people)])
    assert done.exit_code == 1
    assert "mobility" in done.stderr


@pytest.mark.usefixtures("few_draws")
def test_the_tables_of_a_plan_of_two_attributes_fit_eighty_columns(tmp_path: Path) -> None:
    survey = write_survey(tmp_path / "survey.yaml")
    done = CliRunner().invoke(app, ["plan", str(survey), "--reports", "20000"], env={"COLUMNS": "80"})
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()) <= 80


@pytest.mark.usefixtures("few_draws")
def test_a_collection_of_a_new_kind_is_described_and_planned(coins: Coins, tmp_path: Path) -> None:
    (file := tmp_path / "coins.yaml").write_text(COINS)
    described, planned = (CliRunner().invoke(app, [command, str(file)]).stdout for command in ("check", "plan"))
    assert "a coin that shows the truth with probability 0.75, windows of 10 s" in " ".join(described.split())
    assert f"fingerprint {coins.fingerprint.hex()}" in planned
    assert "10,000 users" in planned


def printed(section: Section, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_sections([section])
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_named_values_stand_below_their_title(capsys: pytest.CaptureFixture[str]) -> None:
    section = Section(title="Collection trips", rows=(("a report", "9 bits"), ("[b]odd[/b]", "\x1b[2J")))
    assert printed(section, capsys) == ["Collection trips", "a report 9 bits", r"[b]odd[/b] \x1b[2J"]


def test_a_table_has_its_headings_and_the_sentences_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    section = Section(title="Errors", columns=("users", "error"), rows=(("10", "0.5"),), notes=("Too large.",))
    lines = printed(section, capsys)
    assert lines[0] == "Errors"
    assert lines.index("users error") < lines.index("10 0.5") < lines.index("Too large.")


PAIRS = collection_of("epsilon: 4, ask: pairs", estimates="[{name: three, of: [walks, bathes, diet]}]")
FINAL = estimated(PAIRS, 20_000, name="three")


@pytest.fixture
def planned(tmp_path: Path, few_draws: None) -> Callable[..., Result]:
    def run(*options: str, ask: str = "auto", finals: str = FINAL.to_bytes().decode() + "\n") -> Result:
        file = tmp_path / "care.yaml"
        estimates = "[{name: care, of: [walks, bathes]}]"
        file.write_text(TEXT.format(mechanism=f"epsilon: 4, ask: {ask}", estimates=estimates, window=""))
        return CliRunner().invoke(app, ["plan", str(file), "--finals", "-", *options], input=finals)

    return run


def test_the_design_is_chosen_for_the_dependence_of_the_finals(planned: Callable[..., Result]) -> None:
    provisional = FINAL.model_copy(update={"final": False}).to_bytes().decode()
    shown = planned(finals=f"{provisional}\n\n{FINAL.to_bytes().decode()}\n")
    assert shown.exit_code == 0, shown.output
    first = shown.stdout.splitlines()[0]
    assert first.startswith("dependence: 0.1")
    assert first.endswith("as the finals show of 3 pairs of attributes")
    document = json.loads(planned("--json").stdout)
    assert f"dependence: {document['dependence']}," in first


@pytest.mark.parametrize(
    ("finals", "code", "problem"),
    [
        ("", 2, "the finals have no two attributes of this collection together"),
        ("walks\n", 1, "standard input, line 1: not an estimate; write them by `stream-ldp watch"),
    ],
)
def test_what_are_no_finals_is_refused(planned: Callable[..., Result], finals: str, code: int, problem: str) -> None:
    result = planned(finals=finals)
    assert result.exit_code == code
    assert problem in " ".join(result.stderr.split())


def test_views_that_a_file_names_are_not_chosen(planned: Callable[..., Result], tmp_path: Path) -> None:
    result = planned(ask="pairs")
    assert (result.exit_code, "only `ask: auto` chooses views" in result.stderr) == (2, True)
    survey = write_survey(tmp_path / "survey.yaml")
    other = CliRunner().invoke(app, ["plan", str(survey), "--finals", str(tmp_path / "missing.json")])
    assert (other.exit_code, "--finals is for collections of views" in other.stderr) == (2, True)
