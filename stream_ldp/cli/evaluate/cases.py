"""The collections that are compared: a collection file, with keys of it that vary."""

from __future__ import annotations

import contextlib
import copy
import json
import math
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.collection import Collection, CollectionError
from stream_ldp.collection.located import parse_document, parse_model
from stream_ldp.errors import ParameterError
from stream_ldp.kinds import kind_of_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream_ldp.evaluation.trial import Evaluation, KnownTable
    from stream_ldp.pipeline.kind import Kind

#: Most sets of attributes that are counted before some are drawn, and draws for each set that is wanted.
_ENUMERATED, _DRAWS = 20_000, 1_000

#: What joins the name of a group of estimates to the number of one of them.
_OF_GROUP = "-way-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ways:
    """Random sets of attributes, whose joint distributions take the place of a file's estimates.

    numbers: of attributes of a set.
    sets: number of sets of as many attributes.
    most_cells: most cells of a joint distribution.
    """

    numbers: Sequence[int]
    sets: int
    most_cells: int
    seed: int

    def drawn(self, sizes: Sequence[int]) -> dict[int, list[tuple[int, ...]]]:
        """Draw the sets, by their number of attributes, as ascending positions.

        Raises:
            ParameterError: there are no sets of as many attributes.
        """
        found = {}
        for ways in self.numbers:
            if not 0 < ways <= len(sizes):
                raise ParameterError(f"--ways {ways}: there are {len(sizes)} attributes")
            options = {"sets": self.sets, "most_cells": self.most_cells, "seed": self.seed}
            found[ways] = drawn_sets(sizes, ways=ways, **options)
            if not found[ways]:
                raise ParameterError(
                    f"no {ways} attributes have at most {self.most_cells:,} cells: give more --most-cells, or other "
                    "attributes"
                )
        return found


def drawn_sets(sizes: Sequence[int], *, ways: int, sets: int, most_cells: int, seed: int) -> list[tuple[int, ...]]:
    """Draw sets of so many attributes whose joint distributions have at most so many cells; all if there are fewer.

    Returns:
        Ascending positions, in their order; empty if no set has so few cells.
    """
    if math.comb(len(sizes), ways) <= _ENUMERATED:
        every = combinations(range(len(sizes)), ways)
        small = [of for of in every if math.prod(sizes[place] for place in of) <= most_cells]
        if len(small) <= sets:
            return small
    generator = np.random.default_rng(seed)
    found: set[tuple[int, ...]] = set()
    for _ in range(_DRAWS * sets):
        if len(found) == sets:
            break
        of = tuple(sorted(generator.choice(len(sizes), ways, replace=False).tolist()))
        if math.prod(sizes[place] for place in of) <= most_cells:
            found.add(of)
    return sorted(found)


def group_of(series: str) -> str:
    """Return the name under which an estimate of `Ways` is scored with those of as many attributes."""
    ways, joined, _ = series.partition(_OF_GROUP)
    return f"{ways}-way" if joined else series


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A collection that is evaluated.

    varied: the values of the keys that vary.
    evaluation: that of its kind.
    """

    varied: dict[str, Any]
    collection: Collection
    evaluation: Evaluation


def read_varied(options: Sequence[str]) -> dict[str, list[Any]]:
    """Read options KEY=VALUE,... whose values are YAML.

    Raises:
        ParameterError: one is not of this form, or a key or a value is given twice.
    """
    found: dict[str, list[Any]] = {}
    for option in options:
        key, equals, text = option.partition("=")
        if not key or not equals:
            raise ParameterError(f"--vary {option}: expected a key and its values, such as mechanism.epsilon=1,2,4")
        if key in found:
            raise ParameterError(f"--vary {key} is given twice: give all of its values at once")
        try:
            _, document = parse_document(f"values: [{text}]", source=f"--vary {option}")
        except CollectionError:
            document = {}
        values = document.get("values")
        if list(document) != ["values"] or not isinstance(values, list) or not values:
            raise ParameterError(
                f"--vary {option}: expected values of YAML with commas between them; quote one that holds a comma"
            )
        if any(value in values[:place] for place, value in enumerate(values)):
            raise ParameterError(f"--vary {option}: a value is given twice")
        found[key] = values
    return found


def cases(
    text: str,
    *,
    source: str,
    varied: Mapping[str, Sequence[Any]],
    table: KnownTable,
    ways: Ways | None = None,
    returning: float | None = None,
    label: str | None = None,
) -> Iterator[Case]:
    """Make the collection of each combination of values, the last key varying fastest.

    text: of a collection file, which may leave out its name, its window, and what `Evaluation.complete` fills in.
    source: what error messages call the text.
    returning: share of the users of a window who return, which windows that learn from each other state.
    label: the attribute that is predicted from synthetic records, of whose estimates nothing is asked; None to
        measure the estimates.

    Raises:
        CollectionError: one of the collections is wrong.
        ParameterError: a key is not in the file, and cannot be; or there are no joint distributions.
        DataError: the table does not hold what is left to it.
    """
    root, document = parse_document(text, source=source)
    attributes = document.get("attributes")
    if isinstance(attributes, list):
        document["attributes"] = [
            {"name": attribute} if isinstance(attribute, str) else attribute for attribute in attributes
        ]
    for values in product(*varied.values()):
        combination = dict(zip(varied, values, strict=True))
        found = copy.deepcopy(document)
        for key, value in combination.items():
            put(found, key, copy.deepcopy(value))
        shown = {key: plain(value) for key, value in combination.items()}
        try:
            kind = kind_of_document(root, found, source=source)
            if label is not None:
                put(found, "synthesis.records", 1, unless_there=True)
                put(found, "estimates.0.of", _names(found, table)[:1], unless_there=True)
                # Records make another kind of some collections; of those without, the message below says more.
                with contextlib.suppress(CollectionError):
                    kind = kind_of_document(root, found, source=source)
            if kind.evaluation.asked is None and (ways is not None or label is not None):
                raise ParameterError(
                    f"--ways and --label are for joint distributions, and this is a collection of {kind.name}"
                )
            put(found, "collection", "evaluation", unless_there=True)
            put(found, "window.size", "1m", unless_there=True)
            if label is not None:
                kind.evaluation.predicting(found, label)
            if returning is not None and _can_learn(found):
                put(found, "window.returning", returning, unless_there=True)
            if ways is not None:
                _put_ways(kind, root, found, source=source, ways=ways, table=table)
            kind.evaluation.complete(found, table)
            collection: Collection = parse_model(kind.collection, root, found, source=source)
        except CollectionError as error:
            where = ", ".join(f"{key}={json.dumps(value)}" for key, value in shown.items())
            raise CollectionError([*([f"with {where}:"] if shown else []), *error.problems]) from error
        if returning is not None:
            shown["returning"] = returning
        yield Case(varied=shown, collection=collection, evaluation=kind.evaluation)


def _names(document: Mapping[str, Any], table: KnownTable) -> list[str]:
    """List the attributes of a document: those of the table if it has none."""
    given = document.get("attributes", [{"name": name} for name in table.columns])
    parts = given if isinstance(given, list) else []
    return [part["name"] for part in parts if isinstance(part, dict) and "name" in part]


def _can_learn(document: Mapping[str, Any]) -> bool:
    """Decide whether a window may state who returns: not if windows share reports, or these are linked."""
    window = document["window"]
    return not ({"hop", "memory"} & set(window) if isinstance(window, dict) else window) and not {
        "linked",
        "rotate",
    } & set(document)


def _put_ways(
    kind: Kind[Any, Any, Any], root: Any, document: dict[str, Any], *, source: str, ways: Ways, table: KnownTable
) -> None:
    """Put random sets of attributes in the place of the estimates, all in the form of the first of these."""
    given = document.get("estimates")
    first = given[0] if isinstance(given, list) and given and isinstance(given[0], dict) else {}
    form = {key: value for key, value in first.items() if key not in ("name", "of", "among")}
    document["estimates"] = [form | {"name": "ways", "of": _names(document, table)[:1]}]
    kind.evaluation.complete(document, table)
    whole: Any = parse_model(kind.collection, root, document, source=source)
    names = [attribute.name for attribute in whole.attributes]
    document["estimates"] = [
        form | {"name": f"{number}{_OF_GROUP}{place}", "of": [names[each] for each in of]}
        for number, drawn in ways.drawn(whole.record_sizes).items()
        for place, of in enumerate(drawn, start=1)
    ]


def put(document: dict[str, Any], key: str, value: Any, *, unless_there: bool = False) -> None:
    """Set a key such as `estimates.0.method`, and make the mappings and lists around it that are not there yet.

    unless_there: leave a value that is there as it is.

    Raises:
        ParameterError: a part of the key is in no mapping, or beyond the end of a list.
    """
    part: Any = document
    *around, last = key.split(".")
    for place, step in enumerate(around):
        child = _get(part, step, key)
        if child is None:
            child = [] if [*around, last][place + 1].isdigit() else {}
            _put(part, step, child)
        part = child
    if _get(part, last, key) is None or not unless_there:
        _put(part, last, value)


def _get(part: Any, step: str, key: str) -> Any:
    if isinstance(part, dict):
        return part.get(step)
    if isinstance(part, list) and step.isdigit() and int(step) <= len(part):
        return part[int(step)] if int(step) < len(part) else None
    what = f"a list of {len(part)}, counted from 0" if isinstance(part, list) else "a value without keys"
    raise ParameterError(f"{key}: {step!r} is sought in {what}")


def _put(part: Any, step: str, value: Any) -> None:
    if isinstance(part, dict):
        part[step] = value
    else:
        part[int(step) : int(step) + 1] = [value]


def plain(value: Any) -> Any:
    """Return a value of YAML, in which all is text, with its numbers as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    try:
        return json.loads(value, parse_constant=str) if value not in ("true", "false", "null") else value
    except ValueError:
        return value
