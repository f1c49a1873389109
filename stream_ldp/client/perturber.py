"""Make the reports of a collection's users, whatever its kind: noisy rows, what they cost, and their batches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from stream_ldp.client.batcher import batch_of
from stream_ldp.kinds import kind_of
from stream_ldp.mechanisms import OSEntropy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.collection import Collection
    from stream_ldp.collection.turns import Turn
    from stream_ldp.ledger.ledger_file import PrivacyLedger
    from stream_ldp.ledger.reports import AttributeReport, PhaseReport
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.pipeline.kind import RoundMessage
    from stream_ldp.pipeline.wire import Batch


class Perturber:
    """A perturber makes the reports of one collection, as its kind makes them.

    Tables of users are those of the collection's `table`. A round that reports answer is given as `asked`, where the
    kind has rounds.
    """

    def __init__(self, collection: Any, *, entropy: Entropy) -> None:
        self._collection: Collection = collection
        self._kind = kind_of(collection)
        self._entropy = entropy

    def rows(
        self,
        table: Any,
        *,
        secrets: Sequence[bytes] | None,
        memoises: bool,
        time_ms: int,
        asked: RoundMessage | None = None,
    ) -> NDArray[np.uint8]:
        """Make the rows of a batch, one of each user; see `stream_ldp.pipeline.kind.Reports`."""
        reports = self._kind.reports if asked is None else partial(self._kind.reports, asked=asked)
        return reports(
            self._collection, table, secrets=secrets, memoises=memoises, time_ms=time_ms, entropy=self._entropy
        )

    def charges(
        self, table: Any, *, secret: bytes, ledger: PrivacyLedger, asked: RoundMessage | None = None
    ) -> tuple[AttributeReport | PhaseReport, ...]:
        """Describe what reports of one user show, for the user's ledger.

        table: what the user holds, a row for each report.
        """
        charges = self._kind.charges if asked is None else partial(self._kind.charges, asked=asked)
        return charges(self._collection, table, secret=secret, tag_key=ledger.tag_key)

    def turn(self, time_ms: int, *, asked: RoundMessage | None = None) -> Turn | None:
        """Return the turn of the users who report now; None where users take no turns."""
        number = time_ms // self._collection.turn_ms if asked is None else asked.epoch
        return self._collection.turn(number)

    def batch(self, rows: NDArray[np.uint8], *, asked: RoundMessage, time_ms: int) -> Batch:
        """Make the batch of rows that answer a round."""
        # Ids never come from a seed; see `Reporter`.
        return batch_of(
            rows,
            fingerprint=asked.fingerprint,
            time_ms=time_ms,
            window=self._collection.window,
            entropy=OSEntropy(),
        )
