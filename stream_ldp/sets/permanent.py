"""What a user's secret determines of memoised reports: the row, the slot of each set, and the response to each sign.

If a client drew any of them anew, at every start or in every epoch, the noise of many reports would average out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.mechanisms.loloha import purpose_of_sign
from stream_ldp.mechanisms.randomness.permanent import KeyedWords

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets

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
