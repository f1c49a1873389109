"""What a report to a phase costs: the phase's epsilon once an epoch, or the permanent response that it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.ledger.reports import AttributeReport, PhaseReport, tag_of
from stream_ldp.sets.permanent import held_sign, sign_words

if TYPE_CHECKING:
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets


def charges(
    collection: ItemCollection, user: ItemSets, *, phase: int, epoch: int, secret: bytes, tag_key: bytes | None
) -> PhaseReport:
    """Describe a report of one user to a phase of an epoch, with the permanent response that it shows, if any.

    user: the set of the one user.
    secret: the user's, which determines the sign.
    tag_key: 32 bytes that only the user has; None where permanent responses are drawn afresh.
    """
    asked_by = collection.method.phases[phase - 1]
    shown: tuple[AttributeReport, ...] = ()
    if asked_by.memoised is not None:
        sign = held_sign(collection, user, secret=secret)
        shown = (
            AttributeReport(
                collection=collection.name,
                attribute="sign of the set",
                responses=collection.fingerprint.hex(),
                mechanism=asked_by.memoised,
                tag=None if tag_key is None else tag_of(sign_words(collection, sign, key=tag_key)),
                times=1,
            ),
        )
    return PhaseReport(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        phase=phase,
        epoch=epoch,
        epsilon=asked_by.epsilon if asked_by.memoised is None else 0.0,
        shown=shown,
    )
