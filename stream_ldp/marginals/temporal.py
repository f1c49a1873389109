"""What previous windows contribute to the frequencies and means of a sampled collection.

A user is permanently asked one question and repeats the answer, so all of the noise of a user who returns is
permanent, and only new users say anything new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.filtering.filtered import filter_window, returning_share

if TYPE_CHECKING:
    from stream_ldp.filtering.filtered import FilteredEstimate
    from stream_ldp.marginals.answer import Frequencies, Marginals, Numbers, Outputs
    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.pipeline.window_series import WindowSeries
    from stream_ldp.pipeline.window_task import WindowTask


def filtered_estimate(
    collection: SampledCollection,
    task: WindowTask[WindowSeries, Marginals],
    found: Frequencies | Numbers | Outputs,
    *,
    attribute: str,
    reports: float,
) -> FilteredEstimate | None:
    """Estimate the frequencies of an attribute, or its mean, with previous windows.

    found: what the window alone says.
    reports: number of answers about the attribute in the window.

    Returns:
        The estimates, of the frequencies in the order of `values`, or of the mean. None where nothing can be learnt,
        see `returning_share`, or the candidates are only those that stand out in this window.
    """
    returning = returning_share(collection, collection.prior)
    if returning is None or found.measured is None:
        return None
    estimates, errors, spread = found.measured
    return filter_window(
        _before(task, attribute, found),
        estimates,
        errors,
        returning=returning,
        reports=reports,
        elapsed=task.elapsed(collection.window.size_ms),
        forgotten=task.forgotten(collection.window),
        final=task.final,
        spread=spread,
    )


def _before(
    task: WindowTask[WindowSeries, Marginals], attribute: str, found: Frequencies | Numbers | Outputs
) -> FilteredEstimate | None:
    """Find the previous final's estimates of the same values; a worker may have had other candidates then."""
    before = task.earlier
    if before is None:
        return None
    earlier = next((each.estimate for each in before.attributes if each.attribute == attribute), None)
    return earlier.learnt if earlier is not None and earlier.subject == found.subject else None
