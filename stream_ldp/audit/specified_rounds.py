"""Whether the answers to a collection's rounds are those of a client that is written from the specification.

All decisions of a report are made of one word, so that their order does not matter.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

from stream_ldp.audit.specified_rows import WORDS, OneWord

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream_ldp.audit.wire.notation import Words


class AnswersRounds(Protocol):
    """A client that answers rounds, written from the specification."""

    def held(self, padding: int) -> Sequence[tuple[int, ...]]:
        """List what the users of an audit hold, where a set has so many slots."""
        ...

    def fresh_rows(
        self, phase: int, asked: Mapping[str, Any] | None, items: Sequence[int], words: Words
    ) -> Collection[bytes]:
        """Return the rows that a report made of these fresh words may be.

        asked: what the client reads of a round; None for that of the first phase.
        """
        ...


def round_differences(
    collection: Any,
    reports: Callable[..., NDArray[Any]],
    rounds: Iterable[Any],
    client: AnswersRounds,
) -> Iterator[str]:
    """Yield where answers made afresh are not those of the specification, the first of each round.

    reports: makes them; see `stream_ldp.pipeline.kind.Reports`.
    rounds: of the collection.
    client: of the same file.
    """
    for asked in rounds:
        held = client.held(asked.padding)
        table = collection.table(held)
        for word in WORDS:
            made = reports(
                collection,
                table,
                asked=asked,
                secrets=None,
                memoises=False,
                time_ms=asked.start_ms,
                entropy=OneWord(word),
            )
            given = None if asked.candidates is None else asked_by(asked)
            wrong = [
                items
                for items, row in zip(held, made, strict=True)
                if row.tobytes() not in client.fresh_rows(asked.phase, given, items, repeat(word))
            ]
            if wrong:
                yield (
                    f"phase {asked.phase}, padding {asked.padding}: a row is not that of the specification, for "
                    f"{len(wrong)} of {len(held)} users, one of whom holds {len(wrong[0])} items"
                )
                break


def asked_by(asked: Any) -> dict[str, Any]:
    """Return what a client reads of a round."""
    return {
        "epoch": asked.epoch,
        "phase": asked.phase,
        "candidates": [list(each) if isinstance(each, tuple) else each for each in asked.candidates or ()],
        "padding": asked.padding,
    }
