"""This module reads the lists of names and numbers that evaluations are given."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeVar

from stream_ldp.cli.failure import fail
from stream_ldp.collection.located import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["distinct", "known_names", "numbers", "ordered"]

Number = TypeVar("Number", int, float)


def ordered(values: Iterable[str]) -> list[str]:
    """Return each value once, in the order of integers if all values are, otherwise in that of text."""
    found = sorted(set(values))
    with contextlib.suppress(ValueError):  # raised for a value that is not an integer: the order of text stays
        found = sorted(found, key=int)
    return found


def distinct(listed: str, what: str) -> list[str]:
    """Split names at commas, or end the command because one comes twice."""
    names = listed.split(",")
    for name in names:
        if names.count(name) > 1:
            fail(f"{what} {name!r} is given twice in {listed}: give it once", code=2)
    return names


def known_names(listed: str, known: Sequence[str], what: str) -> list[str]:
    """Split names at commas, or end the command because one is not known, or comes twice."""
    names = distinct(listed, what)
    for name in names:
        if name not in known:
            article = "an" if what[0] in "aeiou" else "a"
            fail(f"{name!r} is not {article} {what}{suggestion(name, list(known))}", code=2)
    return names


def numbers(listed: str, kind: type[Number], option: str) -> list[Number]:
    """Split numbers at commas, or end the command because a word is no number, or one comes twice."""
    try:
        found = [kind(word) for word in listed.split(",")]
    except ValueError:
        wanted = "whole numbers" if kind is int else "numbers"
        fail(f"{option} is {listed!r}: expected {wanted}, separated by commas", code=2)
    if len(set(found)) < len(found):
        fail(f"{option} is {listed!r}: give each number once", code=2)
    return found
