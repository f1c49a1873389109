"""This module writes how many there are of something."""

from __future__ import annotations

__all__ = ["quantity"]


def quantity(count: float, one: str, many: str | None = None) -> str:
    """Write a number with what it counts, rounded to a whole one.

    many: the plural of `one`, where it is not made by an s.

    Examples:
        >>> quantity(1, "report"), quantity(20_000, "report"), quantity(0, "batch", "batches")
        ('1 report', '20,000 reports', '0 batches')
    """
    written = f"{count:,.0f}"
    return f"{written} {one if written == '1' else many or f'{one}s'}"
