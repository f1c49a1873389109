"""These tests hold docs/architecture.md against the repository."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.paths import REPOSITORY

ARCHITECTURE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_and_folder_that_the_architecture_names_exists() -> None:
    named = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)+|[\w-]+\.(?:py|toml|md))`", ARCHITECTURE))
    assert len(named) > 40
    assert [path for path in sorted(named) if not (REPOSITORY / path).exists()] == []


def test_the_floors_of_the_architecture_are_those_that_imports_are_held_to() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    floors: dict[int, set[str]] = {}
    for floor, room in re.findall(r"^\| (\d+) \| `stream_ldp/(\w+)(?:\.py)?` \|", ARCHITECTURE, flags=re.MULTILINE):
        floors.setdefault(int(floor), set()).add(room)
    assert [floors[floor] for floor in sorted(floors, reverse=True)] == [set(layer.split(" | ")) for layer in layers]


#: The tests of a class of the package, by `isinstance`, `issubclass`, `type(...)`, class patterns and dispatch, and
#: why the class does not answer for itself there: what is tested comes from outside, or is one of the two things that
#: a log or a notation may have. Anywhere else a test stands where a seam is missing: a method belongs on the class.
TYPE_TESTS = {
    "cli/audit.py: Mechanism": "a mechanism in one word is of records or of one value",
    "cli/record_description.py: CutOff": "a record of the partials topic may be a decision of the merge",
    "cli/record_description.py: Saved": "a record of the partials topic is a partial, a watermark or saved",
    "cli/record_description.py: Watermark": "a record of the partials topic is a partial or a watermark",
    "client/reporter.py: Collection": "applications give anything",
    "client/subscriber.py: Collection": "applications give a collection or its name",
    "deferred.py: Deferred": "a table has objects and places of objects",
    "kafka/fetching.py: _Result": "aiokafka keeps results and failures in one place",
    "mechanisms/frequency_oracle.py: FrequencyOracle": "an audit is given any randomizer; only oracles take sets",
    "pipeline/merging.py: CutOff": "a record of the partials topic may be a decision of the merge",
    "pipeline/merging.py: Watermark": "a record of the partials topic is a partial or a watermark",
    "pipeline/quarantine.py: Saved": "a record of the partials topic is a partial, a watermark or saved",
    "pipeline/quarantine.py: Watermark": "a record of the partials topic is a partial or a watermark",
    "pipeline/restoring.py: Saved": "a record of the partials topic is a partial, a watermark or saved",
    "sets/collection.py: ItemSets": "applications give sets or a table of them",
    "views/spec.py: With": "a collection file may have anything",
}


@cache
def trees() -> dict[Path, ast.Module]:
    """Parse each file of the package, by its path there."""
    package = REPOSITORY / "stream_ldp"
    return {
        path.relative_to(package): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    }


def type_tests() -> list[str]:
    """List the places that ask which class of the package something has, but for errors, and what `__eq__` needs."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }

    def is_error(name: str) -> bool:
        return name.endswith(("Error", "Exception")) or any(map(is_error, bases.get(name, ())))

    return [
        f"{path}: {name}"
        for path, tree in trees().items()
        for name in _tested(tree)
        if name in bases and not is_error(name)
    ]


def _tested(tree: ast.AST) -> Iterator[str]:
    """Yield the name of each class that something is tested for."""
    for node in ast.iter_child_nodes(tree):
        tested: list[ast.AST] = []
        match node:
            case ast.FunctionDef(name="__eq__"):
                continue
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
                tested = [classes]
            case ast.Call(func=ast.Attribute(attr="register"), args=[cls]):
                tested = [cls]
            case ast.MatchClass(cls=cls):
                tested = [cls]
            case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=compared):
                tested = list(compared)
        for each in tested:
            yield from (part.id for part in ast.walk(each) if isinstance(part, ast.Name))
        yield from _tested(node)


def test_only_what_comes_from_outside_is_asked_for_its_class() -> None:
    assert type_tests() == list(TYPE_TESTS)


#: The rooms of kinds, and the words of `KINDS` for them.
ROOMS = {
    name: place.partition(":")[0].split(".")[1]
    for name, place in re.findall(
        r'"(\w+)": deferred\("([\w.:]+)"\)', (REPOSITORY / "stream_ldp/kinds.py").read_text(encoding="utf-8")
    )
}

#: Files outside the rooms of kinds with a word of `KINDS`, and what else they mean by it.
OTHER_MEANINGS = {
    "cli/evaluate/cases.py": "an argument: sets of attributes",
    "cli/inputs/draft.py": "the mechanism of a file that `init` writes",
    "cli/record_description.py": "a topic of synthetic records",
    "collection/synthesis.py": "a key of a file: how many synthetic records",
    "ledger/ledger.py": "an option of pydantic",
    "mechanisms/randomizer.py": "the kind of a cost in a ledger",
    "mechanisms/report_cost.py": "the kind of a cost in a ledger",
    "questions/collection.py": "the mechanism of a file in a fingerprint",
    "schemas/asyncapi.py": "a topic of synthetic records",
}


def test_outside_its_room_a_kind_is_named_in_the_table_alone() -> None:
    """Synthetic records are made of the answers of two kinds, so that its room stands on theirs."""
    assert len(ROOMS) >= 7
    named = {
        str(path)
        for path, tree in trees().items()
        if path.parts[0] not in {*ROOMS.values(), "synthesis", "audit"} and any(map(_names_a_kind, ast.walk(tree)))
    }
    assert named == {"kinds.py", *OTHER_MEANINGS}


def _names_a_kind(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return text in ROOMS or bool(re.match(rf"stream_ldp\.({'|'.join(ROOMS.values())})\b", text))
        case ast.ImportFrom(module=str(module)):
            return bool(re.match(rf"stream_ldp\.({'|'.join(ROOMS.values())})\b", module))
    return False


def test_the_page_names_a_kind_in_its_own_file_and_one_line() -> None:
    static = REPOSITORY / "stream_ldp/page/static"
    table = (static / "kinds.js").read_text(encoding="utf-8")
    for path in static.glob("*.js"):
        if path.name != "kinds.js":
            imported = re.findall(r'from "\./(\w+)\.js"', path.read_text(encoding="utf-8"))
            assert not {*ROOMS} & {*imported}, path.name
    assert len(re.findall("export .*", table)) == len(table.strip().splitlines()) - 1


def test_an_oracle_is_one_file_and_a_line_in_the_table() -> None:
    """Of the kinds, only one that does not offer all oracles names any; the audit's own client is written apart."""
    named = {
        str(path.relative_to(REPOSITORY / "stream_ldp"))
        for path in (REPOSITORY / "stream_ldp").rglob("*.py")
        if re.search(r'OptimisedUnaryResponse|"oue"', path.read_text(encoding="utf-8"))
    }
    kinds = {"pairs/collection.py"}
    written_apart = {"audit/wire/randomizers.py"}
    assert named - kinds - written_apart == {"mechanisms/randomizers.py", "mechanisms/optimised_unary.py"}
