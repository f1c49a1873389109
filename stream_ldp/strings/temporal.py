"""The prior of strings from previous windows: which may be frequent, and how frequent they were.

A window tries the strings that it finds itself and those that previous windows have found. The evidence of all
windows about a string is combined, including the window whose noise has chosen it, and shrunk towards the prior of
all candidates when it is reported: the posterior of its share then does not depend on how it was chosen. A user
always repeats one answer, so all of the noise of a user who returns is permanent, and only new users say anything
new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.collection import AUTO_PERIOD
from stream_ldp.filtering.filtered import filter_window, places_among, returning_share
from stream_ldp.strings.answer import FilteredStrings, StringRanking
from stream_ldp.strings.method import MIN_SCORE, Supports, select_reported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream_ldp.pipeline.window_series import WindowSeries
    from stream_ldp.pipeline.window_task import WindowTask
    from stream_ldp.strings.collection import StringCollection
    from stream_ldp.strings.method import FoundStrings, Windows

#: Strings that are remembered for each one that is asked for.
_KEPT = 2

#: Standard errors above 0 of a string that is remembered. A string that nobody has falls below sooner or later.
_MIN_SCORE = MIN_SCORE / 2


class FilteredRanking(NamedTuple):
    """The strings of a window, with the prior of previous windows.

    found: None if a question that this takes has no answers.
    alone: frequencies of the window alone of the strings that previous windows have found, by their name.
    learnt: None if nothing can be learnt.
    """

    found: FoundStrings | None
    alone: Mapping[str, float]
    learnt: FilteredStrings | None


def filter_strings(
    collection: StringCollection, task: WindowTask[WindowSeries, StringRanking], windows: Windows
) -> FilteredRanking:
    """Find the most frequent strings of a window, with previous windows as their prior.

    windows: the answers of the window, and of remembered ones, with their weights.
    """
    method, k = collection.method, collection.mechanism_spec.k
    returning = returning_share(collection, collection.prior)
    if returning is None:
        return FilteredRanking(method.find(windows, k=k), {}, None)
    past = None if task.earlier is None else task.earlier.learnt
    tried = method.candidates(windows, k=k)
    if tried is None:
        return FilteredRanking(None, {}, past)
    names = [collection.string.decode(symbol) for symbol in tried.symbols]
    others = sorted(set(() if past is None else past.strings) - set(names))
    encoded = np.array([collection.string.encode(other) for other in others], dtype=np.int64)
    encoded = encoded.reshape(-1, collection.string.length)
    symbols = np.concatenate([tried.symbols, encoded])
    names += others
    supports = Supports.joined([tried.supports, method.supports(windows, encoded)])
    places = places_among(names, () if past is None else past.strings)
    elapsed = 1 if past is None else max(1, (task.window_ms - past.start_ms) // collection.window.size_ms)
    shares = filter_window(
        None if past is None else past.shares,
        supports.frequency,
        supports.standard_error,
        returning=returning,
        reports=float(np.mean(supports.reports)) if names else float(task.reports),
        elapsed=elapsed,
        forgotten=elapsed if collection.window.period_ms == AUTO_PERIOD else 1,
        final=task.final,
        places=places,
        prior=tried.prior,
    )
    estimate, error = np.array(shares.estimate), np.array(shares.standard_error)
    measured = np.flatnonzero(places >= 0)
    alone = tried.prior.drawn(supports.frequency[measured], supports.standard_error[measured]).mean
    kept = _best(estimate, error, most=_KEPT * k)
    return FilteredRanking(
        select_reported(
            symbols,
            supports.known(measured, estimate[measured], error[measured]),
            prior=tried.prior,
            candidates=tried.tried + len(others),
            k=k,
            again=places >= 0,
        ),
        dict(zip([names[number] for number in measured.tolist()], alone.tolist(), strict=True)),
        FilteredStrings(
            strings=tuple(names[number] for number in kept.tolist()),
            shares=shares.taken(kept),
            found=tuple(names[number] for number in kept.tolist() if places[number] < 0) if task.final else (),
            start_ms=task.window_ms,
        ),
    )


def _best(estimate: NDArray[np.float64], error: NDArray[np.float64], *, most: int) -> NDArray[np.intp]:
    """Return the numbers of the strings that are remembered, ascending."""
    best = np.argsort(-estimate, kind="stable")[:most]
    return np.sort(best[estimate[best] >= _MIN_SCORE * error[best]])
