"""Reports of item sets to one round: what a secret determines where its phase memoises, the report, and its cost.

If a client drew the row, the slot of a set or the response to a sign anew, at every start or in every epoch, the
noise of many reports would average out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.ledger.reports import AttributeReport, PhaseReport, tag_of
from stream_ldp.mechanisms.loloha import purpose_of_sign
from stream_ldp.mechanisms.randomness.permanent import KeyedWords
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.rounds import Round

_PERSON = b"stream-ldp lol 1"  # BLAKE2b's 16-byte domain separation


def permanent_words(collection: ItemCollection, *, key: bytes) -> Callable[[bytes], KeyedWords]:
    """Return the sources of all that is permanent in the reports that are made with a key, the user's secret.

    They are those of `KeyedWords` with person "stream-ldp lol 1" and the data fingerprint || what they are for; see
    `LolohaResponse.permanent`.
    """
    fingerprint = collection.fingerprint

    def words(purpose: bytes) -> KeyedWords:
        return KeyedWords(key, person=_PERSON, data=fingerprint + purpose)

    return words


def held_sign(collection: ItemCollection, user: ItemSets, *, secret: bytes) -> int:
    """Return the sign of the set of one user of a collection whose first phase memoises."""
    inquiry, oracle = collection.method.first(), collection.method.memoising
    if oracle is None:
        raise TypeError(f"{collection.method.name} has no permanent sign")
    return oracle.held_sign(user.items, padding=inquiry.padding, words=permanent_words(collection, key=secret))


def sign_words(collection: ItemCollection, sign: int, *, key: bytes) -> KeyedWords:
    """Return the words that decide the permanent response to a sign."""
    return permanent_words(collection, key=key)(purpose_of_sign(sign))


def reports(
    collection: ItemCollection,
    table: ItemSets,
    *,
    asked: Round,
    secrets: Sequence[bytes] | None,
    memoises: bool,
    time_ms: int,  # noqa: ARG001  other kinds need it
    entropy: Entropy,
) -> NDArray[np.uint8]:
    """Perturb the sets of users whom a round asks; see `stream_ldp.pipeline.kind.Reports`."""
    kept = secrets if memoises and collection.method.phases[asked.phase - 1].memoised is not None else None
    permanent = None if kept is None else [permanent_words(collection, key=secret) for secret in kept]
    return respond(collection.method, asked.inquiry, table, entropy=entropy, permanent=permanent)


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
