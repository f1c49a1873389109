"""What a report to a phase costs: the phase's epsilon once an epoch, or the permanent response that it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.ledger.reports import AttributeReport, PhaseReport, tag_of
from stream_ldp.sets.permanent import held_sign, sign_words

if TYPE_CHECKING:
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.rounds import Round


def charges(
    collection: ItemCollection, user: ItemSets, *, asked: Round, secret: bytes, tag_key: bytes | None
) -> tuple[PhaseReport]:
    """Describe a report of one user to a round, with the permanent response that it shows, if any.

    user: the set of the one user.
    secret: the user's, which determines the sign.
    tag_key: 32 bytes that only the user has; None where permanent responses are drawn afresh.
    """
    phase = collection.method.phases[asked.phase - 1]
    shown: tuple[AttributeReport, ...] = ()
    if phase.memoised is not None:
        sign = held_sign(collection, user, secret=secret)
        shown = (
            AttributeReport(
                collection=collection.name,
                attributes=("sign of the set",),
                responses=(collection.fingerprint.hex(),),
                mechanisms=(phase.memoised,),
                tags=None if tag_key is None else (tag_of(sign_words(collection, sign, key=tag_key)),),
                times=1,
            ),
        )
    report = PhaseReport(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        phase=asked.phase,
        epoch=asked.epoch,
        epsilon=phase.epsilon if phase.memoised is None else 0.0,
        shown=shown,
    )
    return (report,)
