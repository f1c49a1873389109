"""Tests of what the plans of several kinds show alike."""

from __future__ import annotations

import io
from dataclasses import dataclass

from rich.console import Console

from stream_ldp.cli.displays.plan_text import error_documents, print_head


@dataclass(frozen=True, kw_only=True)
class _Plan:
    collection: str = "trips"
    fingerprint: str = "0f"
    bits: int = 9
    report_bytes: int = 2
    state_bytes: int = 4_000


def test_a_head_names_the_collection_and_what_a_report_and_a_window_take() -> None:
    out = io.StringIO()
    print_head(Console(file=out, width=200, highlight=False), _Plan())
    assert out.getvalue() == (
        "Collection trips, fingerprint 0f: 9 bits a report, 2 bytes with padding; 4.0 kB for each window and "
        "partition.\n"
    )


def test_errors_are_objects_that_say_what_their_numbers_are() -> None:
    assert error_documents([(10, 0.5)]) == [{"users": 10, "standard_error": 0.5}]
    assert error_documents([(10, 0.5)], population="reports", error="avd") == [{"reports": 10, "avd": 0.5}]
