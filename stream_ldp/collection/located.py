"""A file in YAML becomes a model, or a list of problems: where each is, what is wrong, what would be right."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from stream_ldp.errors import StreamLDPError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "NAME_PATTERN",
    "CollectionError",
    "Misplaced",
    "Model",
    "parse_document",
    "parse_model",
    "place_of",
    "read_text",
    "suggestion",
]

Model = TypeVar("Model", bound=BaseModel)

#: A collection's name becomes part of topic names and of record keys.
NAME_PATTERN = r"^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$"


class Misplaced(StreamLDPError, ValueError):
    """A problem that only a larger part shows, with the place of the smaller part that is wrong."""

    def __init__(self, message: str, *place: str | int) -> None:
        super().__init__(message)
        self.place = place


class CollectionError(StreamLDPError, ValueError):
    """A collection file that cannot be used; one line of text for each problem, with its place."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def read_text(path: str | Path) -> str:
    """The text of a file.

    Raises:
        CollectionError: it cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CollectionError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise CollectionError([f"{path}: not UTF-8 text: {error.reason} at byte {error.start}"]) from error


def parse_document(text: str, *, source: str) -> tuple[yaml.MappingNode, dict[str, Any]]:
    """YAML text as nodes, which know their places, and as plain data; `source` names it in problems.

    Raises:
        CollectionError: it is not YAML, not a mapping, or gives a key twice.
    """
    try:
        # The base loader keeps every scalar a string: `values: [no, yes]` is two answers, not two booleans.
        root = yaml.compose(text, Loader=yaml.BaseLoader)
        document = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  (the base loader makes only strings)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        raise CollectionError([f"{place}: not YAML: {error.problem or error.context}"]) from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position].split("\n")
        place = f"{source}:{len(before)}:{len(before[-1]) + 1}"
        raise CollectionError([f"{place}: not YAML: character U+{error.character:04X} is not allowed"]) from error
    if not isinstance(root, yaml.MappingNode):
        place = f"{source}:1:1" if root is None else _at(source, root)
        raise CollectionError([f"{place}: expected keys such as `collection:` and `window:`"])
    if repeated := [f"{_at(source, key)}: key {key.value!r} is given twice" for key in _repeated_keys(root)]:
        raise CollectionError(repeated)
    return root, document


def parse_model(model: type[Model], root: yaml.MappingNode, document: Mapping[str, Any], *, source: str) -> Model:
    """The model that a document describes.

    Raises:
        CollectionError: something in it is wrong.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        for problem in error.errors():
            cause = problem.get("ctx", {}).get("error")
            if isinstance(cause, ValueError) and not isinstance(cause, StreamLDPError):
                # No fault of the file: pydantic takes every ValueError for one, that of a mistake of ours too.
                raise cause from None
        raise CollectionError([_explained(problem, model, root, source) for problem in _causes(error)]) from error


def suggestion(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    """What may have been meant."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def place_of(root: yaml.Node, path: Sequence[str | int], *, source: str) -> str:
    """Where in the text the value at `path` is, or what of it there is."""
    node = root
    for step in path:
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == step), node)
    return _at(source, node)


def _at(source: str, node: yaml.Node) -> str:
    return f"{source}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _repeated_keys(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Keys that a mapping holds twice: YAML itself would silently keep the last."""
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


def _causes(error: ValidationError) -> list[Any]:
    """The problems, without those that only follow: a list is too short since pydantic left out its bad items."""
    problems = error.errors()
    return [
        problem
        for problem in problems
        if problem["type"] != "too_short"
        or not any(len(other["loc"]) > len(problem["loc"]) and _within(other, problem) for other in problems)
    ]


def _within(inner: Any, outer: Any) -> bool:
    return bool(inner["loc"][: len(outer["loc"])] == outer["loc"])


def _explained(problem: Any, model: type[BaseModel], root: yaml.Node, source: str) -> str:
    """One line for one validation problem: where, what is wrong, what would be right."""
    error = problem.get("ctx", {}).get("error")
    path: tuple[str | int, ...] = problem["loc"] + (error.place if isinstance(error, Misplaced) else ())
    node: yaml.Node = root
    given: list[str] = []
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = {key.value: (key, value) for key, value in node.value}
            given = list(found)
            if step not in found:
                break
            node = found[step][0] if problem["type"] == "extra_forbidden" and step == path[-1] else found[step][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
    return f"{_at(source, node)}: {'.'.join(map(str, path)) or 'collection'}: {_advice(problem, model, given)}"


def _advice(problem: Any, model: type[BaseModel], given: Sequence[str]) -> str:
    """What is wrong, and what would be right; `given` are the keys of the mapping that it is about."""
    path, value = problem["loc"], problem["input"]
    match problem["type"]:
        case "missing":
            return "this key is required"
        case "extra_forbidden":
            known = [key for key in _keys(model, path[:-1]) if key not in given]
            return f"unknown key{suggestion(str(path[-1]), known)}"
        case "model_type":
            return f"expected keys such as {' and '.join(f'`{key}:`' for key in _keys(model, path)[:2])}"
        case "tuple_type":
            return "expected a list, such as [no, yes]"
        case "string_type" | "string_unicode":
            return "expected text"
        case "float_parsing":
            return f"{value!r} is not a number"
        case "literal_error":
            return f"expected {problem['ctx']['expected']}, got {value!r}"
        case "string_pattern_mismatch" if problem["ctx"]["pattern"] == NAME_PATTERN:
            return "use at most 63 lower-case letters, digits, - and _, with a letter or digit at both ends"
        case "string_pattern_mismatch":
            return "control characters, such as a tab or a new line, are not allowed"
        case "too_short":
            return f"at least {problem['ctx']['min_length']} needed"
        case _:
            message: str = problem["msg"]
            return message.removeprefix("Value error, ").replace("Input", "it")


def _keys(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The keys of the mapping at `path`."""
    for step in path:
        if isinstance(step, str):
            model = _model_in(_field(model, step)) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _field(model: type[BaseModel], key: str) -> Any:
    found = [field for name, field in model.model_fields.items() if key in (field.alias, name)]
    return found[0].annotation if found else None


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation such as tuple[Model, ...] or Model | None speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
