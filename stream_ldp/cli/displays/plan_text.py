"""This module has what the plans of several kinds show alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rich.filesize import decimal

from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

__all__ = ["FixedSizePlan", "error_documents", "print_head"]


class FixedSizePlan(Protocol):
    """A plan of a collection whose windows take the same memory, however many users report.

    bits, report_bytes: size of one report.
    state_bytes: memory of a window, for each source partition.
    """

    @property
    def collection(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def bits(self) -> int: ...

    @property
    def report_bytes(self) -> int: ...

    @property
    def state_bytes(self) -> int: ...


def print_head(console: Console, planned: FixedSizePlan) -> None:
    """Print what a plan is of, and what a report and a window of it take."""
    console.print(
        f"Collection {planned.collection}, fingerprint {planned.fingerprint}: {planned.bits} bits a report, "
        f"{quantity(planned.report_bytes, 'byte')} with padding; {decimal(planned.state_bytes)} for each window "
        "and partition.",
        markup=False,
    )


def error_documents(
    errors: Iterable[tuple[int, float]], *, population: str = "users", error: str = "standard_error"
) -> list[dict[str, float]]:
    """Return the errors to expect as plain data, an object for each size of the population.

    errors: pairs of a size and the error.
    population, error: what both are called.
    """
    return [{population: size, error: value} for size, value in errors]
