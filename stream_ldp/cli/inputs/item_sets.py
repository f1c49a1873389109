"""Read item sets from text, one user's set on each line."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from stream_ldp.cli.inputs.table import text_of
from stream_ldp.errors import DataError


def items_of(line: str) -> list[str]:
    """Read the items of a line: words between blanks, or, if it begins with a bracket, a JSON list of strings.

    Raises:
        DataError: it is neither; the message never repeats an item.
    """
    if line.lstrip().startswith("["):
        try:
            # A number is refused below, whatever it is; as an int, one of 5,000 digits would raise a ValueError here.
            items = json.loads(line, parse_int=float)
        except json.JSONDecodeError as error:
            raise DataError(f"not JSON: {error.msg} at column {error.colno}") from None
        except RecursionError:
            raise DataError('not a JSON list of strings, but lists within lists: expected ["item", ...]') from None
        if not all(isinstance(item, str) for item in items):
            raise DataError('not a JSON list of strings: expected ["item", ...]')
        return list(items)
    if "," in line:
        raise DataError("it has a comma, but the items of a line are separated by blanks")
    return line.split()


def named_sets(lines: Iterable[str], path: Path) -> Iterator[list[str]]:
    """Read the items of every line of a file.

    Raises:
        DataError: a line is not a set; the message names the line and never an item.
    """
    for number, line in enumerate(lines, start=1):
        try:
            yield items_of(line)
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None


def load_item_sets(path: Path, collection: Any) -> Any:
    """Read the sets of a file as a table of users, gzipped if its name ends in .gz; an empty line is an empty set.

    Raises:
        DataError: the file cannot be read or holds no sets, or an item is not one of the collection's; the message
            names the line and never an item.
    """
    encoded = []
    with text_of(path) as file:
        for items in named_sets(file, path):
            try:
                encoded.append(collection.encode(items))
            except DataError as error:
                raise DataError(f"{path}:{len(encoded) + 1}: {error}") from None
    if not encoded:
        raise DataError(f"{path}: empty; it needs a user's items on each line")
    return collection.table(encoded)
