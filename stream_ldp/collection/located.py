"""Parsing of YAML into models, with problems that say where they are, what is wrong and what would be right."""

from __future__ import annotations

import difflib
import math
import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from stream_ldp.errors import ParameterError, StreamLDPError
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydantic.fields import FieldInfo

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")

#: A collection's name becomes part of topic names and of record keys.
NAME_PATTERN = r"^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$"

#: The keys whose value is a name, and how YAML writes that there is none. Such a word among values is one.
_NAMED, _NULLS = frozenset({"collection", "name"}), frozenset({"", "~", "null", "Null", "NULL"})
#: Bytes of the longest file that is read. One with a name for each bit of the largest report has 10 MB.
MAX_BYTES = 32 * 2**20
#: Characters of a problem that are printed, of its beginning and of its end: a key may be as long as the file.
_SHOWN, _SHOWN_END = 500, 200
#: A least number below this is shown with three digits: all of a power of two would fill a line.
_LEAST_SHOWN = 1e-3
#: Most problems of one text that are printed: to find the place of each takes as long as to read the text.
_MAX_PROBLEMS = 20

#: Endings of the names of collection files, and most files of a directory that are looked at.
_SUFFIXES, _MOST_FILES = frozenset({".yaml", ".yml"}), 1_000

_UNNAMED = "a name is required, and this is null; put the word in quotes if it is the name"

_NUMBERS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


class _Loader(yaml.BaseLoader):
    """A loader that keeps every scalar a string, `values: [no, yes]` being two words, and takes no aliases.

    Each alias is the part that it names once more, so that a few hundred bytes could be as large as a disk; and no
    collection needs any.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse an alias, and compose whatever else comes next."""
        if self.check_event(yaml.AliasEvent):
            alias: Any = self.peek_event()  # type: ignore[no-untyped-call]
            problem = f"the alias *{alias.anchor} is not allowed: write out what it stands for"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=alias.start_mark)
        return super().compose_node(parent, index)


class Misplaced(ParameterError):
    """A validator of a larger part finds a smaller part wrong, whose place the exception keeps."""

    def __init__(self, message: str, *place: str | int) -> None:
        super().__init__(message)
        self.place = place


class CollectionError(StreamLDPError, ValueError):
    """A collection file cannot be used; there is one line of text for each problem, with its place."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(map(_shortened, problems))
        super().__init__("\n".join(self.problems))


def read_text(path: str | Path) -> str:
    """Read the text of a file.

    Raises:
        CollectionError: it cannot be read, or is too long.
        TypeError: this is no path.
    """
    if not isinstance(path, str | os.PathLike):
        # A number would be read as the file that has this descriptor.
        raise TypeError(f"a collection file is given by its path, not by a {type(path).__name__}")
    try:
        with open(path, "rb", opener=_opened_at_once) as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise CollectionError([f"{path}: there is no such file{_beside(Path(path))}"]) from error
    except OSError as error:
        raise CollectionError([f"{path}: cannot be read: {error.strerror}"]) from error
    if len(content) > MAX_BYTES:
        raise CollectionError([f"{path}: more than {MAX_BYTES >> 20} MiB, which no collection has"])
    try:
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise CollectionError([f"{path}: not UTF-8 text: {error.reason} at byte {error.start}"]) from error


def _beside(path: Path) -> str:
    """Return the end of a message that says which file may have been meant, or how to get one."""
    found: list[str] = []
    with suppress(OSError):
        found = [each.name for each in islice(path.parent.iterdir(), _MOST_FILES) if each.suffix in _SUFFIXES]
    a_name = "" if path.suffix or len(path.parts) > 1 else ", and a collection's name is none"
    return meant(path.name, found) or f"{a_name}; `stream-ldp init TABLE.csv` writes one for a table"


def _opened_at_once(path: str, flags: int) -> int:
    """Open a file, and do not wait for somebody to open the other end of a pipe: without one, it is empty."""
    if sys.platform == "win32":
        return os.open(path, flags)
    number = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(number, True)
    return number


def _shortened(problem: str) -> str:
    if len(problem) <= _SHOWN + _SHOWN_END:
        return problem
    return f"{problem[:_SHOWN]} ... {problem[-_SHOWN_END:]}"


def parse_document(text: str, *, source: str) -> tuple[yaml.MappingNode, dict[str, Any]]:
    """Parse YAML text into nodes, which know their places, and plain data; `source` names the text in problems.

    Raises:
        CollectionError: it is not YAML, not a mapping, or gives a key twice.
    """
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        document = {} if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        raise CollectionError([f"{place}: not YAML: {error.problem or error.context}"]) from error
    except RecursionError:
        raise CollectionError([f"{source}: nested too deeply"]) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position].split("\n")
        place = f"{source}:{len(before)}:{len(before[-1]) + 1}"
        raise CollectionError([f"{place}: not YAML: character U+{error.character:04X} is not allowed"]) from error
    if not isinstance(root, yaml.MappingNode):
        place = f"{source}:1:1" if root is None else _at(source, root)
        raise CollectionError([f"{place}: expected keys such as `collection:` and `window:`"])
    if repeated := list(_repeated_keys(root)):
        raise CollectionError(_first(repeated, lambda key: f"{_at(source, key)}: key {key.value!r} is given twice"))
    if nameless := list(_null_names(root)):
        raise CollectionError(_first(nameless, lambda named: f"{_at(source, named[1])}: {named[0]}: {_UNNAMED}"))
    return root, document


def _nowhere(path: Sequence[str | int]) -> str:  # noqa: ARG001
    return ""


def parse_model(
    model: type[Model],
    root: yaml.MappingNode,
    document: Mapping[str, Any],
    *,
    source: str,
    elsewhere: Callable[[Sequence[str | int]], str] = _nowhere,
) -> Model:
    """Return the model that a document describes.

    elsewhere: says what has a key, given with those around it, that is unknown here; empty if nothing has.

    Raises:
        CollectionError: something in it is wrong.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise_mistake(error)
        problems = _first(_causes(error), lambda problem: _located(problem, model, root, source, elsewhere))
        raise CollectionError(problems) from error


def parse_values(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Return the model that values describe which are in no file.

    Raises:
        ParameterError: something in them is wrong; the message says what, as for a file.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise_mistake(error)
        problems = _first(_causes(error), lambda problem: _advice(problem, _spot(problem, model), (), whole=model))
        raise ParameterError("; ".join(problems)) from error


def raise_mistake(error: ValidationError) -> None:
    """Raise again an error that is a mistake in the code. Pydantic takes every ValueError for a fault of the values.

    Raises:
        ValueError: a validator raised it, and it is no exception of the package.
    """
    for problem in error.errors():
        cause = problem.get("ctx", {}).get("error")
        if isinstance(cause, ValueError) and not isinstance(cause, StreamLDPError):
            raise cause from None


def suggestion(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    """Return the end of a message that says which known name may have been meant."""
    if not known:
        return ""
    return meant(name, known) or f"; known are {', '.join(known)}"


def meant(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    """Return the end of a message that says which known name was probably meant; empty if none is like it."""
    close = difflib.get_close_matches(name[:_SHOWN], list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def keys_of(model: type[BaseModel]) -> list[str]:
    """Return the keys of a model in a file."""
    return [field.alias or name for name, field in model.model_fields.items()]


def has_key(model: type[BaseModel], path: Sequence[str | int]) -> bool:
    """Decide whether a model has the last key of a path from the root, in what the others name."""
    keys = [step for step in path if isinstance(step, str)]
    field = _field(model, keys[0]) if keys else None
    if field is None or len(keys) == 1:
        return field is not None
    return any(has_key(part, keys[1:]) for part in _models_in(field.annotation))


def place_of(root: yaml.Node, path: Sequence[str | int], *, source: str) -> str:
    """Return where in the text the value at `path` is, or the nearest part around it."""
    node = root
    for step in path:
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == step), node)
    return _at(source, node)


def _first(found: Sequence[T], describe: Callable[[T], str]) -> list[str]:
    """Tell the first of what was found, and how many more there are."""
    more = len(found) - _MAX_PROBLEMS
    return [describe(each) for each in found[:_MAX_PROBLEMS]] + (
        [f"and {quantity(more, 'more problem')}"] if more > 0 else []
    )


def _at(source: str, node: yaml.Node) -> str:
    return f"{source}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _repeated_keys(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Yield the keys that a mapping holds twice; YAML itself would silently keep the last."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield key
            seen.add(key.value)
            yield from _repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated_keys(item)


def _null_names(node: yaml.Node) -> Iterator[tuple[str, yaml.ScalarNode]]:
    """Yield the keys whose value is a name, and its node, where YAML has a null without quotes."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value in _NAMED and isinstance(value, yaml.ScalarNode) and value.style is None:
                if value.value in _NULLS:
                    yield key.value, value
            else:
                yield from _null_names(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _null_names(item)


def _causes(error: ValidationError) -> list[Any]:
    """Return the problems, except lists that are too short only because pydantic has left out their bad items."""
    problems = error.errors()
    around = {problem["loc"][:end] for problem in problems for end in range(len(problem["loc"]))}
    return [problem for problem in problems if problem["type"] != "too_short" or problem["loc"] not in around]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Spot:
    """The place of a problem in a document.

    path: keys and indices from the root.
    model: the model whose keys are possible there.
    kind: the word that chose `model` among `rivals`; None if there was no choice.
    rivals: the models of the union, by kind.
    """

    path: tuple[str | int, ...]
    model: type[BaseModel]
    kind: str | None
    rivals: Mapping[str, type[BaseModel]]


def _spot(problem: Any, model: type[BaseModel]) -> _Spot:
    error = problem.get("ctx", {}).get("error")
    path: list[str | int] = []
    kind: str | None = None
    rivals: dict[str, type[BaseModel]] = {}
    key: str | None = None
    # What is said of a missing key is in the model that lacks it.
    lacks = problem["loc"] if problem["type"] == "missing" else None
    for step in problem["loc"] + (error.place if isinstance(error, Misplaced) else ()):
        if key is not None and step in rivals:
            # This step is the kind by which pydantic has chosen the model. It is no key of the file.
            model, kind, key = rivals[step], step, None
            continue
        path.append(step)
        field = None if lacks == tuple(path) else _field(model, step)
        if field is not None and (found := _model_in(field.annotation)) is not None:
            model, kind, key, rivals = found, None, None, {}
            if isinstance(field.discriminator, str):
                key = field.discriminator
                rivals = _rivals(field.annotation, key)
    if problem["type"] in ("union_tag_invalid", "union_tag_not_found") and key is not None:
        path.append(key)
    return _Spot(path=tuple(path), model=model, kind=kind, rivals=rivals)


def _located(
    problem: Any,
    model: type[BaseModel],
    root: yaml.Node,
    source: str,
    elsewhere: Callable[[Sequence[str | int]], str],
) -> str:
    """Describe one validation problem in a line: where it is, what is wrong, what would be right."""
    spot = _spot(problem, model)
    node: yaml.Node = root
    given: list[str] = []
    for step in spot.path:
        if isinstance(node, yaml.MappingNode):
            found = {key.value: (key, value) for key, value in node.value}
            given = list(found)
            if step not in found:
                break
            unknown = problem["type"] == "extra_forbidden" and step == spot.path[-1]
            node = found[step][0] if unknown else found[step][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
    place = ".".join(map(str, spot.path)) or "collection"
    return f"{_at(source, node)}: {place}: {_advice(problem, spot, given, whole=model, elsewhere=elsewhere)}"


def _advice(
    problem: Any,
    spot: _Spot,
    given: Sequence[str],
    *,
    whole: type[BaseModel],
    elsewhere: Callable[[Sequence[str | int]], str] = _nowhere,
) -> str:
    """Say what is wrong and what would be right.

    given: the keys of the mapping in question.
    whole: the model of the whole text.
    elsewhere: see `parse_model`.
    """
    rivals = spot.rivals.values()
    key = str(spot.path[-1]) if spot.path else ""
    field = _field(spot.model, key)
    what = f": {field.description}" if field and field.description else ""
    match problem["type"]:
        case "missing" if field and not all(_requires(rival, key) for rival in rivals):
            return f"{spot.kind} needs {key}{what}"
        case "missing" if spot.path and isinstance(spot.path[-1], int):
            return "the list ends before this item, which is required"
        case "missing" | "union_tag_not_found":
            # The model of a part is that of its own keys.
            own = _field(whole, key) if len(spot.path) == 1 else field
            examples = (own and own.examples) or ()
            such = "".join(f", such as `{flow({key: each})[1:-1]}`" for each in examples[:1])
            return f"this key is required{what}{such}"
        case "union_tag_invalid":
            return f"expected one of {problem['ctx']['expected_tags']}, got {problem['ctx']['tag']!r}"
        case "extra_forbidden" if others := [kind for kind, each in spot.rivals.items() if _field(each, key)]:
            return f"{spot.kind} has no {key}, which is for {_listed(others)}: leave it out"
        case "extra_forbidden" if len(spot.path) > 1 and key in keys_of(whole):
            return f"{key} is a key of the whole file: write it beside {spot.path[0]}, not in it"
        case "extra_forbidden" if parts := [part for part in _parts_with(whole, key) if part != spot.path[0]]:
            return f"{key} is a key of {_listed(parts)}: write it there"
        case "extra_forbidden":
            return _unknown(key, keys_of(spot.model), given=given, elsewhere=elsewhere(spot.path))
        case "tuple_type" if field and tuple[float, float] in get_args(field.annotation):
            return "expected two numbers, such as [0, 120]"
        case "tuple_type" if field is None:
            return f"expected a list, each with {_keys(spot.model)}"
        case "model_type" | "model_attributes_type":
            return f"expected {_keys(spot.model)}"
        case _:
            return right_value(problem)


def _unknown(key: str, known: Sequence[str], *, given: Sequence[str], elsewhere: str) -> str:
    """Say which key was meant, or else which files have it, or else which keys there are beside those given."""
    near = meant(key, known)
    if elsewhere and not near:
        return elsewhere
    return f"unknown key{near or suggestion(key, [each for each in known if each not in given])}"


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _keys(model: type[BaseModel]) -> str:
    return f"keys such as {' and '.join(f'`{known}:`' for known in keys_of(model)[:2])}"


def right_value(problem: Any, *, repeat: bool = True) -> str:
    """Say what a single value should have been.

    problem: one of pydantic's `ValidationError.errors()`.
    repeat: whether the message may repeat the value, which is no secret.
    """
    value = problem["input"] if repeat else None
    got = f", got {value!r}" if repeat else ""
    match problem["type"]:
        case "tuple_type":
            example = f"[{value}, ...]" if isinstance(value, str) and value else "[no, yes]"
            return f"expected a list, such as {example}"
        case "string_type" | "string_unicode":
            return "expected text"
        case "float_parsing":
            return f"{value!r} is not a number" if repeat else "expected a number"
        case "literal_error" | "enum":
            expected = problem["ctx"]["expected"]
            near = meant(str(value), re.findall("'([^']*)'", expected)) if repeat else ""
            return f"expected {expected}{got}{near}"
        case "string_pattern_mismatch" if problem["ctx"]["pattern"] == NAME_PATTERN:
            return "use at most 63 lower-case letters, digits, - and _, with a letter or digit at both ends"
        case "string_pattern_mismatch":
            return "control characters, such as a tab or a new line, and invisible ones are not allowed"
        case "int_parsing" | "int_type" | "int_from_float" | "float_type" | "bool_parsing" | "bool_type":
            return f"expected {_NUMBERS[problem['type'].partition('_')[0]]}{got}"
        case "greater_than_equal" if 0 < problem["ctx"]["ge"] < _LEAST_SHOWN:
            return f"it should be greater than or equal to {problem['ctx']['ge']:.3g}"
        case "too_short":
            return f"at least {problem['ctx']['min_length']} needed"
        case "too_long":
            return f"at most {problem['ctx']['max_length']} allowed"
        case _:
            message: str = problem["msg"]
            return message.removeprefix("Value error, ").replace("Input", "it")


def _field(model: type[BaseModel], key: str | int) -> FieldInfo | None:
    return next((field for name, field in model.model_fields.items() if key in (field.alias, name)), None)


def flow(written: Any) -> str:
    """Write a part of a file as one line of YAML."""
    text: str = yaml.safe_dump(written, default_flow_style=True, sort_keys=False, allow_unicode=True, width=math.inf)
    return text.removesuffix("...\n").strip()


def _parts_with(whole: type[BaseModel], key: str) -> list[str]:
    """Return the keys of a whole file whose parts have this key."""
    return [
        field.alias or name
        for name, field in whole.model_fields.items()
        if any(_field(model, key) for model in _models_in(field.annotation))
    ]


def _requires(model: type[BaseModel], key: str) -> bool:
    return (field := _field(model, key)) is not None and field.is_required()


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Find the model in an annotation such as tuple[Model, ...] or Model | None."""
    return next(_models_in(annotation), None)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Find the models in an annotation such as tuple[Model, ...] or Model | Other."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    else:
        for part in get_args(annotation):
            yield from _models_in(part)


def _rivals(union: Any, discriminator: str) -> dict[str, type[BaseModel]]:
    """Return the models of a union by the words that choose them."""
    return {
        kind: model for model in get_args(union) for kind in get_args(model.model_fields[discriminator].annotation)
    }
