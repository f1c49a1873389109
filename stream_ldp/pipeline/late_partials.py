"""What regions have sent for windows that were answered without them: counted, since it is in no final."""

from collections import Counter
from collections.abc import Mapping

from stream_ldp.pipeline.partials import Partial
from stream_ldp.pipeline.source import Source

#: Statistics that are remembered, so that a partial which replaces an earlier one counts what it adds alone.
_REMEMBERED = 10_000


class LatePartials:
    """The reports of late partials, by region: of each statistic and pane, as many as the furthest partial has."""

    def __init__(self) -> None:
        self._reports: dict[tuple[Source, int, tuple[str, ...], int], int] = {}
        self._late: Counter[str] = Counter()

    @property
    def reports(self) -> Mapping[str, int]:
        """Number of reports by region, in each statistic that counts them."""
        return self._late

    def expect(self, partial: Partial) -> None:
        """Take note of a partial that has come in time, of a pane for which others of its region are late."""
        self._remember(partial, int(partial.counts.reports))

    def add(self, late: Partial) -> None:
        """Take note of a late partial."""
        known = self._reports.get((late.source, late.pane_ms, late.of, late.segment), 0)
        reports = max(known, int(late.counts.reports))
        self._late[late.region] += reports - known
        self._remember(late, reports)

    def _remember(self, partial: Partial, reports: int) -> None:
        key = partial.source, partial.pane_ms, partial.of, partial.segment
        self._reports.pop(key, None)
        self._reports[key] = reports
        if len(self._reports) > _REMEMBERED:
            del self._reports[next(iter(self._reports))]
