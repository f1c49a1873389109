"""What previous windows contribute to the shares of users at each place.

A user whose place and choices do not change always repeats one answer, so only new users say anything new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.filtering.filtered import filter_window, returning_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.filtering.filtered import FilteredEstimate
    from stream_ldp.pipeline.window_series import WindowSeries
    from stream_ldp.pipeline.window_task import WindowTask
    from stream_ldp.places.answer import PlaceCounts
    from stream_ldp.places.collection import PlaceCollection


def filtered_shares(
    collection: PlaceCollection,
    task: WindowTask[WindowSeries, PlaceCounts],
    counts: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> FilteredEstimate | None:
    """Estimate the share of the users who are at each place with previous windows.

    counts: unbiased, of the window alone, shape (places,).
    errors: their standard errors, about the users who have reported.

    Returns:
        The shares, in the order of the places. None where nothing can be learnt, see `returning_share`, or nobody has
        reported.
    """
    returning, reports = returning_share(collection, collection.prior), task.reports
    if returning is None or not reports:
        return None
    shares, noise = counts / reports, errors / reports
    # The errors of counts are about the users who have reported, those of shares about all users.
    of_all, users = np.clip(shares, 0.0, 1.0), reports / collection.window.reports_per_user
    of_shares = np.sqrt(noise**2 + of_all * (1.0 - of_all) / users)
    return filter_window(
        None if task.earlier is None else task.earlier.learnt,
        shares,
        of_shares,
        returning=returning,
        reports=users,
        elapsed=task.elapsed(collection.window.size_ms),
        forgotten=task.forgotten(collection.window),
        final=task.final,
    )
