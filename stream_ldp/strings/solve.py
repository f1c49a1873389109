"""The solver of collections of strings: it answers a task of the pipeline with the ranking of a window."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms.simplex import on_simplex
from stream_ldp.pipeline.published import published_of_window
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.questions.answers import too_few
from stream_ldp.strings.answer import QuestionReports, RankedString, StringPrivacy, StringRanking
from stream_ldp.strings.plan import published
from stream_ldp.strings.recount import MAX_KEPT, Left, Recount
from stream_ldp.strings.temporal import filter_strings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_ldp.pipeline.window_series import WindowSeries
    from stream_ldp.pipeline.window_task import WindowTask
    from stream_ldp.strings.collection import StringCollection
    from stream_ldp.strings.method import FoundStrings
    from stream_ldp.strings.questions import StringAnswers, StringQuestion, StringQuestions

#: What the privacy of a user who reports more than once rests on.
ASSUMPTION = "any two strings; a user's string does not change, and every report repeats the same answer"


def solve(collection: StringCollection, task: WindowTask[WindowSeries, StringRanking]) -> StringRanking:
    """Solve a task about one window."""
    questions = collection.method.questions
    windows = [(weight, RowCounts.sum(parts, bits=questions.bits)) for weight, parts in task.counts(RowCounts)]
    _, current = windows[0]
    counts = current.counts.astype(np.int64)
    drawn = np.array([questions.draws(each.rows, each.counts.astype(np.int64)) for _, each in windows])
    few = too_few(drawn, collection)
    enough = [(weight, each.where(~few[each.rows[:, 0]])) for weight, each in windows]
    answers = _recounted(questions, [each for _, each in enough], before=task.scratch.left)
    found, alone, learnt = filter_strings(
        collection, task, [(weight, each) for (weight, _), each in zip(enough, answers, strict=True)]
    )
    task.scratch.left = tuple(
        Left(rows, each.recount.now) if each.recount is not None and each.recount.now else None
        for (_, rows), each in zip(enough, answers, strict=True)
    )
    plausibility = questions.plausibility(current.rows, counts, reports_per_user=collection.window.reports_per_user)
    return StringRanking(
        **task.head(collection),
        attribute=collection.string.name,
        method=collection.method.name,
        questions=tuple(
            QuestionReports(asked=each.title, reports=reports, withheld=withheld)
            for each, reports, withheld in zip(questions.questions, drawn[0].tolist(), few.tolist(), strict=True)
        ),
        candidates=0 if found is None else found.candidates,
        strings=None if found is None else _ranked(collection, found, alone),
        learnt=learnt,
        plausibility=plausibility,
        privacy=StringPrivacy(
            per_report=questions.epsilon,
            lifetime=questions.epsilon,
            assumption=ASSUMPTION,
            published=published_of_window(task, collection, published, plausibility=plausibility),
        ),
    )


def _recounted(
    questions: StringQuestions[StringQuestion],
    rows: Sequence[RowCounts],
    *,
    before: Sequence[Left | None] | None,
) -> list[StringAnswers]:
    """Take the rows of some windows apart, with what the solve before has counted of each."""

    def answers_of(rows: RowCounts) -> StringAnswers:
        return questions.answers(rows.rows, rows.counts.astype(np.int64))

    found = []
    for each, left in zip(rows, before or [None] * len(rows), strict=True):
        every = answers_of(each)
        fresh = None if left is None else each.since(left.rows)
        recount = Recount(
            fresh=every if fresh is None else answers_of(fresh),
            before={} if left is None or fresh is None else left.counted,
            most=MAX_KEPT // len(rows),
        )
        found.append(replace(every, recount=recount))
    return found


def _ranked(
    collection: StringCollection, found: FoundStrings, alone: Mapping[str, float]
) -> tuple[RankedString, ...]:
    rest = 1.0 - float(found.frequency.sum())
    projected = on_simplex(np.append(found.frequency, rest))
    return tuple(
        RankedString(
            rank=rank,
            string=name,
            raw=raw,
            standard_error=error,
            projected=min(shown, 1.0),
            expected_false=expected,
            alone=alone.get(name),
        )
        for rank, (name, raw, error, shown, expected) in enumerate(
            zip(
                map(collection.string.decode, found.symbols),
                found.frequency.tolist(),
                found.standard_error.tolist(),
                projected.tolist(),
                found.expected_false.tolist(),
                strict=False,  # the last of the projected is the share of all other strings
            ),
            start=1,
        )
    )
