"""Compare what was published with what had to be."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.kinds import solve
from stream_ldp.pipeline.answer import Answer, Status
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.statistics import ReportSums, RowCounts, Statistic
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.rounds import Round
from stream_ldp.strings.collection import StringCollection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.chaos.oracle import Expected


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
    # Of a window that has lost all of its reports, it may also be said that it is silent.
    called_for = {start for start in expected.final if len(expected.windows[start]) > expected.spare.get(start, 0)}
    problems += [f"window {start}: no final" for start in sorted(called_for - answered.keys())]
    extra = answered.keys() - expected.final
    problems += [f"window {start}: a final that nothing calls for" for start in sorted(extra)]
    offline = _offline(expected, collection, answered)
    for start, estimate in offline.items():
        reports, spare = answered[start].reports, expected.spare.get(start, 0)
        if not estimate.reports - spare <= reports <= estimate.reports:
            problems.append(f"window {start}: {reports} reports, expected {estimate.reports}")
        # A window that remembers earlier ones has of their lost reports what they have.
        elif not any(expected.spare.get(each) for each in _remembered(collection, start)) and not _same(
            answered[start], estimate
        ):
            problems.append(f"window {start}: the numbers are not those that are estimated offline")
    return problems + _differences_of_silence(answered, silent, collection=collection)


def differences_of_rounds(published: Iterable[Round], finals: Iterable[Answer], *, collection: Any) -> list[str]:
    """List what is wrong with the rounds of later phases: each follows from the final of the phase before alone."""
    asked = {(each.epoch, each.phase): each for each in published}
    follow = {
        (final.epoch, final.phase + 1): Round.of(collection, final.next_inquiry, epoch=final.epoch)
        for final in finals
        if isinstance(final, Ranking) and final.next_inquiry is not None
    }
    return [
        f"phase {phase} of epoch {epoch} asks otherwise than the final of the phase before says"
        for epoch, phase in sorted(asked.keys() | follow.keys())
        if asked.get((epoch, phase)) != follow.get((epoch, phase))
    ]


def _remembered(collection: Any, start: int) -> list[int]:
    """Return the beginnings of the windows whose reports a window counts, its own first."""
    return [start - age * collection.window.size_ms for age in range(_windows(collection, start))]


def _offline(expected: Expected, collection: Any, answered: Mapping[int, Answer]) -> dict[int, Answer]:
    """Compute the finals as the same estimator gives them without a stream, from the reports one by one.

    Where a window has other reports than it had to have, those that follow go on from what was published.
    """
    window = collection.window
    exact: dict[int, Answer] = {}
    answers: dict[int, Answer] = {}
    counts: dict[int, Statistic] = {}
    for start in sorted(answered.keys() & expected.windows.keys()):
        before = _before(collection, start, answers)
        rows = np.array([list(row) for row in expected.windows[start]], dtype=np.uint8)
        try:
            counts[start] = _counted(collection, rows, before)
            task: WindowTask[Any, Any] = WindowTask(
                series=collection.series[_phase(collection, start)],
                window_ms=start,
                final=True,
                windows=tuple(
                    ((window.memory or 1.0) ** age, _parts(counts, start - age * window.size_ms))
                    for age in range(_windows(collection, start))
                ),
                before=before,
            )
            exact[start] = answers[start] = solve(collection, task)
        except ValueError:
            # A phase whose phase before has no final that asks it: that is among the problems already.
            continue
        if answered[start].reports != exact[start].reports:
            answers[start] = answered[start]
    return exact


def _phase(collection: Any, start: int) -> int:
    """Return the number of the phase that a window asks, counted from 0; the only one of other collections."""
    if not isinstance(collection, ItemCollection):
        return 0
    return start // collection.window.size_ms % len(collection.method.phases)


def _before(collection: Any, start: int, answers: Mapping[int, Answer]) -> Any:
    """Return the answer from which that of a window goes on."""
    phase = _phase(collection, start)
    if phase > 0:
        return answers.get(start - collection.window.size_ms)
    # The first phase of an epoch goes on from the last of an earlier one, which is all of them for other collections.
    last = len(collection.series) - 1 if isinstance(collection, ItemCollection) else 0
    return next((answers[each] for each in sorted(answers, reverse=True) if _phase(collection, each) == last), None)


def _counted(collection: Any, rows: Any, before: Any) -> Statistic:
    if isinstance(collection, JointCollection):
        columns = collection.row_bits_of(collection.estimates[0].of)
        ours = np.unpackbits(rows, axis=1, count=collection.bits, bitorder="little")[:, columns]
        return RowCounts.of(np.packbits(ours, axis=1, bitorder="little"), bits=len(columns))
    if isinstance(collection, StringCollection):
        return RowCounts.of(rows, bits=collection.bits)
    if isinstance(collection, ItemCollection):
        asked = before.next_inquiry if isinstance(before, Ranking) else None
        oracle = collection.method.oracle(asked or collection.method.first())
        return ReportSums.of(reports=len(rows), values=oracle.sums(rows))
    return ReportSums.of(reports=len(rows), values=collection.questions.sums(rows))


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
    if (
        isinstance(streamed, Ranking)
        and isinstance(offline, Ranking)
        and (streamed.reports_per_phase, streamed.next_phase) != (offline.reports_per_phase, offline.next_phase)
    ):
        return False
    one, other = list(streamed.cells()), list(offline.cells())
    return [each.labels for each in one] == [each.labels for each in other] and bool(
        np.allclose([each.estimate for each in one], [each.estimate for each in other], rtol=0, atol=1e-9)
    )


def _differences_of_silence(answered: Mapping[int, Answer], silent: Sequence[Any], *, collection: Any) -> list[str]:
    """List what is wrong with the messages that nobody reported."""
    step, size = collection.window.pane_ms, collection.window.size_ms
    told = Counter(start for window in silent for start in range(window.start_ms, window.end_ms - size + 1, step))
    between = set[int]()
    # Epochs whose first phase nobody answers have no others, so that not every window of item sets has a message.
    if answered and not isinstance(collection, ItemCollection):
        between = set(range(min(answered), max(answered), step)) - set(answered)
    problems = [f"window {start}: silent, which is not said" for start in sorted(between - told.keys())]
    problems += [f"window {start}: its silence is said {times} times" for start, times in told.items() if times > 1]
    problems += [f"window {start}: called silent, with reports" for start in sorted(told.keys() & set(answered))]
    return problems
