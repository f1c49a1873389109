"""This module compares what was published with what had to be."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.kinds import solve
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.question import Question
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.strings.collection import StringCollection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.statistics import Statistic
    from tests.chaos.oracle import Expected

__all__ = ["differences_of_finals", "differences_of_letters", "late_places"]


def late_places(letters: Sequence[tuple[tuple[int, int], Reason]]) -> set[tuple[int, int]]:
    """Return the places of the batches whose dead letters say that they came late."""
    return {place for place, reason in letters if reason is Reason.LATE}


def differences_of_letters(letters: Sequence[tuple[tuple[int, int], Reason]], expected: Expected) -> list[str]:
    """List what is wrong with the dead letters, given as (place, reason).

    A letter may be there twice, since its writer may have died before it could commit, but with one reason.
    """
    told: dict[tuple[int, int], set[Reason]] = defaultdict(set)
    for place, reason in letters:
        told[place].add(reason)
    return [
        f"dead letter of {place}: {_reasons(told.get(place))}, expected {expected.rejected.get(place, 'none')}"
        for place in sorted(told.keys() | expected.rejected.keys())
        if told.get(place) != ({expected.rejected[place]} if place in expected.rejected else None)
        and not (place in expected.perhaps and told[place] == {expected.perhaps[place]})
    ]


def _reasons(reasons: set[Reason] | None) -> str:
    return " and ".join(sorted(reasons)) if reasons else "none"


def differences_of_finals(published: Sequence[Answer], expected: Expected, *, collection: Any) -> list[str]:
    """List what is wrong with the final answers on the log, in its order."""
    problems: list[str] = []
    finals: dict[tuple[int, int], Answer] = {}
    for each in published:
        place = each.window.start_ms, each.window.end_ms
        if place in finals:
            problems.append(
                f"window {place[0]}: published twice, with {'one' if each == finals[place] else 'another'} content"
            )
        else:
            finals[place] = each
    answered = {start: each for (start, _), each in finals.items() if each.status is Status.ANSWERED}
    silent = [each.window for each in finals.values() if each.status is Status.NO_REPORTS]
    problems += [f"window {start}: no final" for start in sorted(expected.final - answered.keys())]
    extra = answered.keys() - expected.final
    problems += [f"window {start}: a final that nothing calls for" for start in sorted(extra)]
    offline = _offline(expected, collection, sorted(answered.keys() & expected.windows.keys()))
    for start, estimate in offline.items():
        if answered[start].reports != estimate.reports:
            problems.append(f"window {start}: {answered[start].reports} reports, expected {estimate.reports}")
        elif not _same(answered[start], estimate):
            problems.append(f"window {start}: the numbers are not those that are estimated offline")
    window = collection.window
    problems += _differences_of_silence(sorted(answered), silent, step=window.pane_ms, size=window.size_ms)
    return problems


def _offline(expected: Expected, collection: Any, starts: Sequence[int]) -> dict[int, Answer]:
    """Compute the finals as the same estimator gives them without a stream, from the reports one by one."""
    window = collection.window
    counts = {
        start: _counted(collection, np.array([list(row) for row in expected.windows[start]], dtype=np.uint8))
        for start in starts
    }
    answers: dict[int, Answer] = {}
    before = None
    for start in starts:
        question: Question[Any, Any] = Question(
            series=collection.series[0],
            window_ms=start,
            final=True,
            windows=tuple(
                ((window.memory or 1.0) ** age, _parts(counts, start - age * window.size_ms))
                for age in range(_windows(collection, start))
            ),
            before=before,
        )
        before = solve(collection, question)
        answers[start] = before
    return answers


def _counted(collection: Any, rows: Any) -> Statistic:
    if isinstance(collection, JointCollection):
        columns = collection.row_bits_of(collection.estimates[0].of)
        ours = np.unpackbits(rows, axis=1, count=collection.bits, bitorder="little")[:, columns]
        return RowCounts.of(np.packbits(ours, axis=1, bitorder="little"), bits=len(columns))
    if isinstance(collection, StringCollection):
        return RowCounts.of(rows, bits=collection.bits)
    return ReportSums(reports=len(rows), values=collection.questions.sums(rows))


def _windows(collection: Any, start: int) -> int:
    """Count the windows that an answer is made of: those that it remembers, or those of its period until then."""
    window = collection.window
    if not collection.links_reports:
        return int(window.memory_windows)
    return int(start % collection.linked_ms // window.size_ms + 1)


def _parts(counts: Mapping[int, Statistic], start: int) -> tuple[Statistic, ...]:
    return (counts[start],) if start in counts else ()


def _same(streamed: Answer, offline: Answer) -> bool:
    if isinstance(streamed, Estimate) and isinstance(offline, Estimate):
        return streamed.linked == offline.linked and bool(
            np.allclose(streamed.joint(), offline.joint(), rtol=0, atol=1e-9)
        )
    one, other = list(streamed.cells()), list(offline.cells())
    return [each.labels for each in one] == [each.labels for each in other] and bool(
        np.allclose([each.estimate for each in one], [each.estimate for each in other], rtol=0, atol=1e-9)
    )


def _differences_of_silence(answered: Sequence[int], silent: Sequence[Any], *, step: int, size: int) -> list[str]:
    """List what is wrong with the messages that nobody reported; `step` is the time between two windows' starts."""
    told = Counter(start for window in silent for start in range(window.start_ms, window.end_ms - size + 1, step))
    between = set(range(answered[0], answered[-1], step)) - set(answered) if answered else set()
    problems = [f"window {start}: silent, which is not said" for start in sorted(between - told.keys())]
    problems += [f"window {start}: its silence is said {times} times" for start, times in told.items() if times > 1]
    problems += [f"window {start}: called silent, with reports" for start in sorted(told.keys() & set(answered))]
    return problems
