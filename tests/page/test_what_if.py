"""The plan on the page has the numbers of the command, for every kind, and says what cannot be changed."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.cli.plan import print_sections
from stream_ldp.http.refusal import Refused
from stream_ldp.kinds import KINDS, parse_collection
from stream_ldp.page.what_if import WhatIf, plan
from stream_ldp.pipeline.plan import Section
from tests.schemas.recorded import COLLECTIONS

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.mark.parametrize("name", KINDS)
def test_the_page_plans_what_the_command_prints(
    name: str, tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = plan(parse_collection(COLLECTIONS[name]), WhatIf(users=1_000))
    file = tmp_path / "collection.yaml"
    file.write_text(COLLECTIONS[name])
    done = CliRunner().invoke(app, ["plan", str(file), "--users", "1000"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    monkeypatch.setenv("COLUMNS", "200")
    capsys.readouterr()
    for each in json.loads(json.dumps(found))["sections"]:
        print_sections([Section(**{key: _tuples(part) for key, part in each.items()})])
        for line in capsys.readouterr().out.splitlines():
            assert line.strip() in done.output, line


def _tuples(part: Any) -> Any:
    return tuple(_tuples(each) for each in part) if isinstance(part, list) else part


def test_a_changed_epsilon_or_number_of_values_is_that_of_a_file_which_says_so() -> None:
    text = """
collection: diets
mechanism: {kind: sampled, epsilon: EPSILON}
attributes:
  - {name: diet, values: [VALUES]}
window: {size: 60s}
"""

    def of(epsilon: object, *values: str) -> Any:
        return parse_collection(text.replace("EPSILON", str(epsilon)).replace("VALUES", ", ".join(values)))

    changed = plan(of(2, "meat", "fish"), WhatIf(users=5_000, epsilon=0.5, values=4))
    same = plan(of(0.5, "meat", "fish", "another 1", "another 2"), WhatIf(users=5_000))
    assert changed == same
    assert (changed["epsilon"], changed["values"]) == ({"value": 0.5, "lifetime": False}, 4)
    assert plan(of(2, "meat", "fish", "plants"), WhatIf(users=5_000, values=2))["values"] == 2


def test_a_lifetime_epsilon_is_spent_where_the_file_names_none() -> None:
    survey = parse_collection(COLLECTIONS["records"])
    assert plan(survey, WhatIf(users=100))["epsilon"] == {"value": None, "lifetime": True}
    found = plan(survey, WhatIf(users=100, epsilon=3.0))
    assert found["epsilon"] == {"value": 3.0, "lifetime": True}
    assert found["mechanism"] != survey.document["mechanism"]


@pytest.mark.parametrize(
    ("query", "match"),
    [
        ({"user": "1"}, "'user' is not a parameter"),
        ({"users": "0"}, "users is a number from 1"),
        ({"users": "many"}, "users is a number"),
        ({"users": "nan"}, "users is a number"),
        ({"epsilon": "1e9"}, "epsilon is a number from 0.01 to 20"),
        ({"values": "65"}, "values is a number from 2 to 64"),
    ],
)
def test_what_cannot_be_asked_is_refused(query: dict[str, str], match: str) -> None:
    with pytest.raises(Refused, match=match):
        WhatIf.parse(query)


def test_what_a_collection_cannot_be_is_refused() -> None:
    with pytest.raises(Refused, match="no one epsilon"):
        plan(parse_collection(COLLECTIONS["places"]), WhatIf(users=100, epsilon=1.0))
    with pytest.raises(Refused, match="lists no values"):
        plan(parse_collection(COLLECTIONS["strings"]), WhatIf(users=100, values=3))
