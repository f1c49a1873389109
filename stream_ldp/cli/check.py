"""This command checks collection files."""

import json
from typing import Annotated, Any

import typer

from stream_ldp.cli.arguments import CollectionFiles
from stream_ldp.cli.echo import echo, echo_json
from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import same_names
from stream_ldp.cli.timing import solve_times
from stream_ldp.collection import Collection, CollectionError, shown_duration
from stream_ldp.kinds import kind_of, load_collection
from stream_ldp.pipeline.counting_load import counting_loads, too_much
from stream_ldp.pipeline.solve_time import MAX_VALUES, too_slow

#: Reports of a window for which the load of a collection, and the solves of a large one, are worked out.
REPORTS = 100_000


def check(
    files: CollectionFiles,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array, an object for each file.")] = False,
) -> None:
    """Print a line for each correct file, and exit with status 1 if anything is wrong.

    With --json, each file has `ok`, `collection`, `fingerprint`, `summary` and `warnings`, or `problems` with their
    places. Warnings say what solves are too slow for, which is measured if an estimate is large, and what counting
    takes too much of.
    """
    problems: list[str] = []
    correct: dict[str, Collection] = {}
    found: list[dict[str, Any]] = []
    for file in files:
        try:
            collection = load_collection(file)
        except CollectionError as error:
            problems += error.problems
            found.append({"file": str(file), "ok": False, "problems": error.problems})
            continue
        correct[str(file)] = collection
        warnings = [*_too_rare(collection), *_too_slow(collection)]
        layout = kind_of(collection).layout(collection)
        warnings += too_much(counting_loads(collection, layout, populations=[REPORTS]))
        found.append(
            {
                "file": str(file),
                "ok": True,
                "collection": collection.name,
                "fingerprint": collection.fingerprint.hex(),
                "summary": _summary(collection),
                "warnings": warnings,
            }
        )
        if not as_json:
            echo(f"{file}: ok: {_summary(collection)}")
            for sentence in warnings:
                echo(f"{file}: warning: {sentence}", err=True)
    if twice := same_names(correct):
        problems.append(twice)
    if as_json:
        echo_json(json.dumps(found, ensure_ascii=False, indent=2))
    if problems:
        fail("\n".join(problems))


def _too_rare(collection: Collection) -> list[str]:
    """Say which series have so few provisional answers that a window may be over before its second."""
    size_ms = collection.window.size_ms
    return [
        f"{series.name}: `every`, {shown_duration(series.every_ms)}, is longer than a window, "
        f"{shown_duration(size_ms)}: few windows have more than one provisional answer"
        for series in collection.series
        if series.every_ms > size_ms
    ]


def _too_slow(collection: Collection) -> list[str]:
    """Say what the solves of a large estimate are too slow for on this machine."""
    if not kind_of(collection).is_large(collection):
        return []
    if times := solve_times(collection, populations=[REPORTS]):
        return list(too_slow(collection, times))
    return [
        "how long a solve takes is not measured: it may grow with the cube of the values of an attribute, and one "
        f"has more than {MAX_VALUES:,}"
    ]


def _summary(collection: Collection) -> str:
    window = collection.window
    kind = "windows" if window.pane_ms == window.size_ms else f"windows every {window.pane_ms / 1_000:g} s,"
    return (
        f"collection {collection.name}, fingerprint {collection.fingerprint.hex()}, "
        f"{kind_of(collection).summary(collection)}, {kind} of {window.size_ms / 1_000:g} s"
    )
