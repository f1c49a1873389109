"""Every phase of every epoch has its window."""

from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.pipeline.schedule import Epochs, Schedule


@given(
    size_ms=st.integers(1, 10**7),
    phases=st.integers(1, 5),
    epochs=st.sampled_from(Epochs),
    epoch=st.integers(-(10**9), 10**9),
    data=st.data(),
)
def test_every_phase_is_asked_in_a_window_of_its_own_epoch(
    size_ms: int, phases: int, epochs: Epochs, epoch: int, data: st.DataObject
) -> None:
    schedule = Schedule(size_ms=size_ms, phases=phases, epochs=epochs)
    phase = data.draw(st.integers(1, phases))
    window_ms = schedule.window_of(epoch, phase)
    assert window_ms % size_ms == 0
    assert schedule.epoch_at(window_ms, phase) == epoch
    # The phases of an epoch follow each other.
    assert schedule.window_of(epoch, 1) + (phase - 1) * size_ms == window_ms
    asked = {other: schedule.epoch_at(window_ms, other) for other in range(1, phases + 1)}
    if epochs is Epochs.SEQUENTIAL:
        assert asked == {other: epoch if other == phase else None for other in asked}
        assert schedule.window_of(epoch, phases) + size_ms == schedule.window_of(epoch + 1, 1)
    else:
        assert asked == {other: epoch + phase - other for other in asked}
        assert schedule.window_of(epoch + 1, 1) == schedule.window_of(epoch, 1) + size_ms
