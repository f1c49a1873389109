"""Synthetic records as a kind of collection has them: what the service, the clients and the commands need of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import BaseModel

    from stream_ldp.collection.synthesis import SynthesisSpec
    from stream_ldp.evaluation.trial import Measured
    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.merging import Merge
    from stream_ldp.pipeline.window_task import WindowTask


class WindowRecords(Protocol):
    """The records of one window, before they are made.

    spec: what the collection asks for.
    task: all that they are made of.
    estimated: about an estimate of the same window.
    final: a final of the window.
    are_due: whether they are made.
    """

    @property
    def spec(self) -> SynthesisSpec: ...

    @property
    def task(self) -> WindowTask[Any, Any]: ...

    @property
    def estimated(self) -> WindowTask[Any, Any]: ...

    @property
    def final(self) -> Answer: ...

    @property
    def are_due(self) -> bool: ...

    def chunks(self) -> Iterator[Any]:
        """Make them, and yield the messages that are published, in order; slow, as a solve is."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SyntheticRecords:
    """The functions of kinds whose windows may be answered with synthetic records, too.

    chunk: the class of the messages that hold them.
    of_window: takes the records of a window from a merge that still holds it, given a final of the window; None if
        the collection asks for none.
    make: makes records of a window.
    columns: names the values of records that were made, by attribute.
    measure: compares records with those of the users; see `stream_ldp.evaluation.trial.Measure`.
    """

    chunk: type[BaseModel]
    of_window: Callable[[Merge, Answer], WindowRecords | None]
    make: Callable[..., Any]
    columns: Callable[..., Any]
    measure: Callable[..., Iterator[Measured]]
