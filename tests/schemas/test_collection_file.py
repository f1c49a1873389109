"""The schema of collection files takes what the parser takes, and refuses what has the wrong form."""

import ast
import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from stream_ldp.collection import CollectionError, Part
from stream_ldp.kinds import KINDS, kind_of, parse_collection
from stream_ldp.schemas.collection_file import collection_file_schema
from tests.kinds.subjects import SUBJECTS
from tests.paths import REPOSITORY

SCHEMA = collection_file_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


class Yaml12(yaml.BaseLoader):
    """Reads plain scalars as editors do, by the core schema of YAML 1.2: `no` is a word, and 0.5 a number."""


for tag, pattern, first in (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.inf", "-+0123456789."),
):
    Yaml12.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), [*first, ""])
Yaml12.add_constructor("tag:yaml.org,2002:null", lambda *_: None)
Yaml12.add_constructor("tag:yaml.org,2002:bool", lambda _, node: node.value.lower() == "true")
Yaml12.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))
Yaml12.add_constructor("tag:yaml.org,2002:float", lambda _, node: float(node.value.replace(".inf", "inf")))


def seen_by_an_editor(text: str) -> Any:
    return yaml.load(text, Loader=Yaml12)


def accepted(text: str) -> bool:
    try:
        return VALIDATOR.is_valid(seen_by_an_editor(text))
    except yaml.YAMLError:
        return False


def faults(text: str) -> set[str]:
    """Return the kinds of the faults that the parser finds, as pydantic calls them; none if there are none."""
    try:
        parse_collection(text)
    except CollectionError as error:
        cause = error.__cause__
        return {each["type"] for each in cause.errors()} if isinstance(cause, ValidationError) else {"kind"}
    return set()


@cache
def catalogue() -> tuple[str, ...]:
    """Return every collection in the repository, right or wrong: in files, in pages, and in tests."""
    found = set()
    for folder in ("deploy", "docker", "examples", "stream_ldp", "tests"):
        for path in (REPOSITORY / folder).rglob("*.yaml"):
            found.add(path.read_text(encoding="utf-8"))
    for page in (REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")):
        found |= set(re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL))
    for path in (REPOSITORY / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "collection: " in text:
            found |= {
                node.value
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
    return tuple(sorted(text for text in found if re.search(r"^collection: *\w", text, flags=re.MULTILINE)))


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_collection_of_the_repository_is_taken_or_refused_as_by_the_parser() -> None:
    kinds, refused = set(), 0
    for text in catalogue():
        found = faults(text)
        if not found:
            VALIDATOR.validate(seen_by_an_editor(text))
            kinds.add(kind_of(parse_collection(text)).name)
        elif found - {"value_error"}:
            assert not accepted(text), (found, text)
            refused += 1
    assert kinds == set(KINDS), "each kind has an example"
    assert refused, "and something is wrong with some"


EXAMPLES = [
    """
collection: everything
mechanism: {kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}
attributes:
  - {name: age, bins: [-.inf, 18, 65.5, .inf], missing: unknown, clip: false}
  - {name: answer, values: [no, 1, 2.5, true], other: others}
  - {name: other, values: [no, yes]}
window:
  size: 60s
  hop: 30 s
  grace: 0s
  idle_timeout: never
  ahead: 1m
  max_age: 1d
  time_precision: 10ms
  reports_per_user: 2
estimates:
  - {name: both, of: [age, answer], method: em, stop: certificate, delta: 0.01, prior: window, every: 500ms}
  - {name: among, of: [age, answer], among: [age, answer, other]}
sample: 0.5
min_reports: 10
title: A title
question: "What is asked?"
rows: true
delta: 1e-9
synthesis: {records: 1000, seed: 7, method: lopub, stop: paper}
""",
    """
collection: linked
mechanism: {kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}
attributes: [{name: answer, values: [no, yes]}]
window: {size: 60s}
linked: 1h
estimates: [{name: one, of: [answer]}]
""",
    """
collection: counters
mechanism: {kind: sampled, ask: attributes, mean: auto, oracle: d-bit-flip, epsilon: 2, bits: 3}
attributes: [{name: minutes, values: ["0", "1", "2", "5", "10"]}]
window: {size: 60s}
""",
    """
collection: hashed
mechanism: {kind: hashed-k-rr, epsilon: 2, per_report: 1, buckets: 3}
attributes: [{name: answer, values: [no, yes, perhaps, never]}]
window: {size: 60s}
estimates: [{name: one, of: [answer]}]
""",
    """
collection: subsets
mechanism: {kind: k-subset, epsilon: 1}
attributes: [{name: answer, values: [no, yes, perhaps]}]
window: {size: 60s}
estimates: [{name: one, of: [answer]}]
""",
    """
collection: remembered
mechanism: {kind: k-rr, epsilon: 2, per_report: 1}
attributes: [{name: answer, values: [no, yes]}]
window: {size: 60s, memory: 0.5}
estimates: [{name: one, of: [answer]}]
""",
    """
collection: films
mechanism:
  {kind: gfim, epsilon: 4, k: 2, k_max: 6, set_size: 3, split: [0.6, 0.4], finalists: 3, combine: paper, hash_bits: 1}
items: {names: [Alien, 2001, 12, Dune, Eraserhead, Fargo, true, Heat]}
window: {size: 60s, grace: 5s}
epochs: pipelined
every: 1s
prior: window
sample: 0.5
min_reports: 10
title: A title
question: "What is asked?"
rows: true
delta: 1e-9
""",
    """
collection: linked
mechanism: {kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}
attributes: [{name: answer, values: [no, yes]}]
window: {size: 60s}
estimates: [{name: one, of: [answer]}]
linked: 1h
""",
    """
collection: mined
mechanism: {kind: ldpminer, epsilon: 4, k: 2, k_max: 6, set_size: 3, combine: variance, hash_bits: 2}
items: {size: 100}
window: {size: 60s}
""",
    """
collection: apps
mechanism: {kind: svim, epsilon: 4, k: 2, k_max: 6, set_size: 3, hash_bits: 2}
items: {size: 100}
window: {size: 60s}
""",
    """
collection: books
mechanism: {kind: loloha, epsilon: 1, lifetime: 2, k: 3, k_max: 3, set_size: 4}
items: {size: 100}
window: {size: 60s, grace: 5s, idle_timeout: 10s}
""",
    """
collection: diets
mechanism: {kind: sampled, epsilon: 2, per_report: 1, ask: attributes, oracle: k-rr, mean: auto}
attributes:
  - {name: diet, values: [meat, fish, plants], other: others}
  - {name: age, bins: [0, 18, 120], missing: unknown}
window: {size: 60s, returning: 0.5}
every: 1s
prior: window
min_reports: 10
title: A title
question: "What is asked?"
rows: true
delta: 1e-9
""",
    """
collection: numbers
mechanism: {kind: sampled, ask: attributes, epsilon: 2, oracle: o-rr, cohorts: 8, mean: minimax}
attributes:
  - {name: age, range: [0, 99.5], step: 0.5, clip: true, quantiles: [0.5, 0.95]}
  - {name: town, candidates: [Rome, Paris]}
window: {size: 60s}
""",
    """
collection: work
mechanism: {kind: sampled, epsilon: 2, ask: pairs, cells: 6}
attributes: [{name: age, range: [16, 90]}, {name: hours, range: [0, 100]}]
estimates: [{name: both, of: [age, hours]}]
window: {size: 60s}
""",
    """
collection: changing
mechanism:
  {kind: sampled, ask: attributes, mean: auto, epsilon: 2, oracle: loloha, per_report: 1, buckets: 4, cohorts: 32}
attributes: [{name: diet, values: [meat, fish, plants]}]
window: {size: 60s}
""",
    """
collection: hashed
mechanism: {kind: sampled, ask: attributes, mean: auto, epsilon: 2, oracle: hadamard, hash_bits: 2}
attributes: [{name: diet, values: [meat, fish, plants]}]
window: {size: 60s}
""",
    """
collection: channels
mechanism:
  {kind: sampled, ask: attributes, mean: auto, oracle: channel, distortion: 0.3, alphabet: 2, measure: squared}
attributes: [{name: diet, values: [meat, fish, plants]}]
window: {size: 60s}
""",
    """
collection: tables
mechanism: {kind: sampled, oracle: channel, table: [[0.75, 0.25], [0.25, 0.75]]}
attributes: [{name: smokes, values: [no, yes]}]
window: {size: 60s}
""",
    """
collection: rappor
mechanism:
  {kind: sampled, ask: attributes, mean: auto, epsilon: 4, oracle: rappor, cohorts: 64, hashes: 2, p: 0.25, q: 0.75}
attributes: [{name: diet, values: [meat, fish, plants]}]
window: {size: 60s}
""",
    """
collection: views
mechanism: {kind: sampled, epsilon: 2, ask: auto, users: 1000, dependence: 0.1, oracle: k-rr}
attributes: [{name: diet, values: [meat, fish, plants]}, {name: smokes, values: [no, yes]}]
window: {size: 60s}
estimates: [{name: both, of: [diet, smokes], every: 1s, prior: temporal}]
synthesis: {records: 1000}
min_reports: 10
title: A title
question: "What is asked?"
rows: true
delta: 1e-9
""",
    """
collection: given-views
mechanism: {kind: sampled, epsilon: 2, per_report: 1, ask: [[diet, smokes]]}
attributes: [{name: diet, values: [meat, fish, plants]}, {name: smokes, values: [no, yes]}]
window: {size: 60s}
estimates: [{name: both, of: [diet, smokes]}]
""",
    """
collection: label-views
mechanism: {kind: sampled, epsilon: 2, ask: {with: smokes}}
attributes: [{name: diet, values: [meat, fish, plants]}, {name: smokes, values: [no, yes]}]
window: {size: 60s}
estimates: [{name: both, of: [diet, smokes]}]
""",
    """
collection: words
mechanism: {kind: strings, epsilon: 2, method: pem, k: 16}
string: {name: word, length: 6, alphabet: abcdef}
window: {size: 60s}
every: 1s
prior: temporal
min_reports: 10
title: A title
question: "What is asked?"
rows: true
delta: 1e-9
""",
    """
collection: visits
mechanism: {kind: places, epsilon: [0.5, 2], oracle: k-rr, weights: variance}
places: {north: [a, b], south: {west: [1, 2], east: [e, f]}}
root: everywhere
other: f
window: {size: 60s}
every: 1s
prior: temporal
min_reports: 10
title: A title
question: "What is asked?"
rows: true
delta: 1e-9
""",
    """
collection: subsets
mechanism: {kind: sampled, ask: attributes, mean: mean-est, epsilon: 2, oracle: k-subset}
attributes: [{name: diet, values: [meat, fish, plants]}, {name: age, range: [0, 100]}]
window: {size: 60s}
""",
    """
collection: distorted
mechanism: {kind: sampled, ask: attributes, mean: auto, oracle: k-rr, distortion: 0.1}
attributes: [{name: diet, values: [meat, fish, plants]}]
window: {size: 60s}
""",
    """
collection: chosen
mechanism: {kind: sampled, ask: attributes, mean: auto, oracle: auto, epsilon: 2, per_report: 1}
attributes: [{name: diet, values: [meat, fish, plants]}]
window: {size: 60s}
""",
    """
collection: texts
mechanism: {kind: sampled, epsilon: 2, cohorts: 64}
attributes: [{name: diet, candidates: [meat, fish, plants]}]
window: {size: 60s}
""",
    """
collection: least
mechanism: {kind: sampled, distortion: 0.1}
attributes: [{name: diet, values: [meat, fish, plants]}]
window: {size: 60s}
""",
    """
collection: usual
mechanism: {epsilon: 2, k: 2, k_max: 6, set_size: 3, hash_bits: 2}
items: {size: 16}
window: {size: 60s, idle_timeout: 5s}
""",
    """
collection: features
mechanism: {kind: pairs, epsilon: 2, oracle: k-subset, padding: 2}
keys: {names: [search, maps], ranges: [[0, 60], [-1, 1]], clip: false}
window: {size: 60s}
every: 1s
min_reports: 5
delta: 1e-9
title: A title
question: "What is asked?"
rows: true
""",
    """
collection: ratings
mechanism: {kind: pairs, epsilon: 2}
keys: {names: [alien, brazil, casablanca], range: [0, 5]}
window: {size: 60s}
""",
    """
collection: baskets
mechanism: {kind: svim, epsilon: 2, k: 5}
items: {size: 40}
itemsets: {k: 5, sizes: [2, 3]}
window: {size: 60s}
""",
    """
collection: squares
mechanism: {kind: places, epsilon: [1]}
levels: [4, 4]
window: {size: 60s}
""",
]

# Turns, of users of every kind.
EXAMPLES += [f"{subject.text.rstrip()}\nrotate: 3\n" for name, subject in SUBJECTS.items() if name in KINDS]
# What people read in place of values.
EXAMPLES += [
    f"{subject.labelled_text.rstrip()}\nlabels: {{}}\n" if subject.label is None else subject.labelled_text
    for name, subject in SUBJECTS.items()
    if name in KINDS
]
# Windows that alternate.
EXAMPLES += [SUBJECTS["places"].text.replace("size: 10s", "size: 10s, period: 60s")]


def test_the_examples_have_every_key_that_the_parser_knows() -> None:
    """So that the test below tries each of them."""
    given: set[tuple[str, str]] = set()

    def walk(part: Any, found: Any) -> None:
        match found:
            case Part():
                # Of a method that is not named, the file has a part of its own.
                unnamed = "kind" in type(found).model_fields and "kind" not in part
                given.update(("UsualMethod" if unnamed else type(found).__name__, key) for key in part)
                for key, value in part.items():
                    walk(
                        value,
                        next(getattr(found, name) for name, field in fields(found) if key in (field.alias, name)),
                    )
            case tuple():
                for each, value in zip(part, found, strict=False):
                    walk(each, value)

    def fields(found: Part) -> Any:
        return type(found).model_fields.items()

    for text in EXAMPLES:
        walk(seen_by_an_editor(text), parse_collection(text))
    known = {(name, key) for name, part in SCHEMA["$defs"].items() for key in part.get("properties", {})}
    missing = sorted(known - given)
    assert not missing, missing


#: What is put in the place of every value.
WRONG: list[Any] = [{"a": "b"}, ["a"], [], "text", -1, 1.5, "", None, "60s", True]


def parts(document: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value within a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from parts(value, *path, key)


def changed(document: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the document without the value at `path`, with another key for it, and with other values."""
    for change in ("remove", "rename", *WRONG):
        made = copy.deepcopy(document)
        within = made
        for step in path[:-1]:
            within = within[step]
        if change == "remove":
            del within[path[-1]]
        elif change == "rename":
            if isinstance(within, list):
                continue
            within[f"{path[-1]}_"] = within.pop(path[-1])
        else:
            within[path[-1]] = change
        yield made


def as_text(value: Any) -> Any:
    """Return plain data with all scalars as the text that a file would have."""
    match value:
        case dict():
            return {str(key): as_text(each) for key, each in value.items()}
        case list():
            return [as_text(each) for each in value]
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value).replace("inf", ".inf")


def agree(made: Any, validator: Draft202012Validator = VALIDATOR) -> None:
    """Hold the schema against the parser for one document."""
    found = faults(json.dumps(as_text(made)))
    if not found:
        assert validator.is_valid(made), (made, "the parser takes it")
    elif found - {"value_error"}:
        assert not validator.is_valid(made), (made, found)


@pytest.mark.long
@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.split()[1])
def test_whatever_is_done_to_a_file_the_schema_agrees_with_the_parser_on_its_form(text: str) -> None:
    document = seen_by_an_editor(text)
    assert not faults(text)
    for path in parts(document):
        for made in changed(document, path):
            agree(made)


def test_whichever_value_is_wrong_the_schema_agrees_with_the_parser() -> None:
    """The same in a second: one change to every fourth value, and the schema of the example's own kind alone."""
    number = 0
    for text in EXAMPLES:
        document = seen_by_an_editor(text)
        kind = type(parse_collection(text)).__name__
        own = Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]})
        own.validate(document)
        for path in list(parts(document))[::4]:
            changes = list(changed(document, path))
            agree(changes[number % len(changes)], own)
            number += 1


def test_every_key_is_described() -> None:
    missing = [
        (name, key)
        for name, part in SCHEMA["$defs"].items()
        for key, value in part.get("properties", {}).items()
        if not value.get("description") or "None" in value["description"]
    ]
    assert not missing
