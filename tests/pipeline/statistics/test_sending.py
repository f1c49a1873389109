"""What is worth sending: all that is small, and of what is large, what is news."""

from stream_ldp.pipeline.statistics.sending import PATIENCE, SMALL_BYTES, Sending


def looked(sending: Sending, reports: int, *, closing: bool = False) -> bool:
    """Look at a statistic with so many reports, and send it if it is due."""
    due = sending.is_due(reports, closing=closing)
    assert sending.is_due(reports, closing=closing) == due, "to ask changes nothing"
    if due:
        sending.note_sent(reports)
    else:
        sending.note_wait(reports)
    return due


def test_a_small_statistic_is_sent_whenever_it_has_changed() -> None:
    sending = Sending(SMALL_BYTES)
    assert [looked(sending, reports) for reports in (0, 1_000, 1_000, 1_001)] == [False, True, False, True]


def test_a_large_statistic_waits_for_a_tenth_more_reports_or_the_last_look() -> None:
    sending = Sending(SMALL_BYTES + 1)
    looks = ((1_000, False), (1_099, False), (1_100, False), (1_101, False), (1_101, True), (1_101, True))
    found = [looked(sending, reports, closing=closing) for reports, closing in looks]
    assert found == [True, False, True, False, True, False]


def test_a_large_statistic_does_not_wait_for_ever() -> None:
    """Of a window of a day to which one user a second reports, nobody would see the last hours."""
    sending = Sending(SMALL_BYTES + 1)
    assert looked(sending, 1_000)
    assert [looked(sending, 1_001) for _ in range(PATIENCE)] == [False] * (PATIENCE - 1) + [True]
    assert not any(looked(sending, 1_001) for _ in range(2 * PATIENCE)), "nothing has come"
    assert [looked(sending, 1_002) for _ in range(2)] == [False, False]
