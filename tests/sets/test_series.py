"""The series of phases: which reports each of them counts, and which answer it follows."""

from dataclasses import dataclass, field

from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.sets.series import PhaseSeries, round_statistic

FIRST, SECOND = (
    PhaseSeries(number=number, item_phases=2, size_ms=10_000, stride=2, every_ms=2_000) for number in (1, 2)
)


@dataclass(frozen=True)
class Asking:
    """An answer that asks, or that does not."""

    next_fingerprint: bytes | None
    epoch: int = 3
    window: WindowBounds = field(default_factory=lambda: WindowBounds(start_ms=60_000, end_ms=70_000))


def test_a_first_phase_counts_what_it_is_named_after_whatever_was_answered() -> None:
    assert FIRST.statistic(None) == FIRST.statistic(Asking(b"\x01")) == ("phase-1",)


def test_a_later_phase_counts_only_reports_to_what_the_answer_before_it_asked() -> None:
    """Reports to a forged round of the same phase have another name."""
    assert SECOND.statistic(Asking(b"\x01")) == round_statistic(SECOND, b"\x01") == ("phase-2", "01")
    assert round_statistic(SECOND, b"\x02") != SECOND.statistic(Asking(b"\x01"))


def test_a_later_phase_counts_nothing_where_nothing_was_asked() -> None:
    assert SECOND.statistic(None) is None
    assert SECOND.statistic(Asking(None)) is None


def test_a_later_phase_counts_nothing_after_an_answer_to_another_window_than_that_of_its_epoch() -> None:
    """The windows had another length, or somebody has forged it: the phase would be asked in no window."""
    assert SECOND.statistic(Asking(b"\x01", epoch=4)) is None
    assert SECOND.statistic(Asking(b"\x01", window=WindowBounds(start_ms=50_000, end_ms=60_000))) is None


def test_a_phase_follows_the_one_before_of_the_same_epoch_a_window_earlier() -> None:
    assert SECOND.follows(30_000) == ("phase-1", 20_000)


def test_the_first_phase_follows_the_latest_result() -> None:
    assert FIRST.follows(30_000) == ("phase-2", None)
