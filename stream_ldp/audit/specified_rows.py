"""Whether rows, and answers to rounds, are those of a client that is written from the specification.

All that a row depends on is compared at once: keyed words, what is held, questions, seeds, periods, and how it is
packed. Where two decisions share a word, or a word depends on something else than it should, a row differs from what
the specification makes of the same words. All decisions of a report are made of one word, so that their order does
not matter.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from itertools import islice, repeat
from math import gcd
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stream_ldp.audit.audited import Claim
from stream_ldp.audit.wire.notation import keyed, word_of, words_of
from stream_ldp.mechanisms.randomness import user_partition
from stream_ldp.mechanisms.randomness.entropy import WordEntropy
from stream_ldp.mechanisms.randomness.permanent import KeyedWords
from stream_ldp.steps import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.audit.wire.client import Held, Specified, SpecifiedClient
    from stream_ldp.audit.wire.sets import Sets
    from stream_ldp.collection import Collection
    from stream_ldp.collection.records import CollectionOfRecords

#: Secrets, those of each question, and most of all.
SECRETS = 64
_OF_EACH = 4
_MAX_SECRETS = 1_024

#: Most rows that are compared: so many take some seconds.
_MAX_ROWS = 4_096

#: Fresh words. All decisions of a call are made of one of them, so that their order does not matter. None is so large
#: that a uniform choice would pass it over.
WORDS = (0, 2**30 + 12_345, 2**31 - 1, 3 * 2**30 + 54_321, 2**32 - 2**24)

#: Times: 2023-11-14 22:13:20 UTC, and the last and the first millisecond of a day, and of an hour.
TIMES_MS = (1_700_000_000_000, 1_700_006_399_999, 1_700_006_400_000, 1_700_009_999_999, 1_700_010_000_000)

HOUR_MS = 3_600_000

#: Words of a key that are compared: blocks have 16, so that these are of three.
_KEYED = 41


class OneWord(WordEntropy):
    """A source in which every word is the same: decisions depend on their thresholds alone."""

    def __init__(self, word: int) -> None:
        self._word = word

    def words(self, n: int) -> NDArray[np.uint32]:
        """Return the word n times."""
        return np.full(n, self._word, dtype=np.uint32)


def secrets() -> list[bytes]:
    """Return the secrets of most audits' users."""
    return [hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(SECRETS)]


def secrets_of(client: SpecifiedClient) -> list[bytes]:
    """Return the secrets of an audit's users, some of whom are asked each question."""
    found: list[bytes] = []
    asked: Counter[int] = Counter()
    for number in range(_MAX_SECRETS):
        secret = hashlib.sha256(number.to_bytes(4, "big")).digest()
        branch = client.branch(secret)
        if number < SECRETS or asked[branch] < _OF_EACH:
            found.append(secret)
            asked[branch] += 1
    return found


def differences(
    collection: Collection, reports: Callable[..., NDArray[np.uint8]] | None, client: Specified
) -> Iterator[str]:
    """Yield where a collection is not what its file says, or its rows are not those of the specification.

    reports: makes the rows of kinds whose users report records; None for others.
    client: of the same file.
    """
    if collection.fingerprint != client.fingerprint:
        yield f"{collection.name}: its fingerprint is not the one that the specification makes of the file"
    yield from client.excesses()
    yield from keyed_differences()
    yield from turn_differences(collection, client)
    if reports is not None:
        yield from row_differences(cast("CollectionOfRecords", collection), reports, cast("SpecifiedClient", client))


def turn_differences(collection: Collection, client: Specified) -> Iterator[str]:
    """Yield where the turns are not those of the specification; nothing if they are."""
    for time_ms in (0, *TIMES_MS):
        first = time_ms // collection.turn_ms
        for number in range(first - 2, first + (collection.rotate or 1)):
            stated = [client.turns.has(secret, client.fingerprint, number) for secret in secrets()]
            if collection.has_turn(secrets(), number=number).tolist() != stated:
                yield f"the users who have turn {number} are not those of the specification"
                return


def times_of(client: SpecifiedClient) -> list[int]:
    """Return the times of an audit's reports, those around the beginning of a period among them."""
    if client.period_ms is None:
        return list(TIMES_MS)
    begin_ms = TIMES_MS[0] // client.period_ms * client.period_ms
    around = (-HOUR_MS, -1, 0, HOUR_MS - 1, client.period_ms)
    return [*TIMES_MS, *(begin_ms + each for each in around)]


def row_differences(
    collection: CollectionOfRecords, reports: Callable[..., NDArray[np.uint8]], client: SpecifiedClient
) -> Iterator[str]:
    """Yield where rows are not those of the specification, the first of each sort; nothing if they are.

    reports: makes the rows; see `stream_ldp.pipeline.kind.Reports`.
    """
    held = client.held()
    table = collection.table([collection.encode(each) for each in held])
    pairs = [(secret, place) for secret in secrets_of(client) for place in range(len(held))]
    cases = [(word, time_ms) for word in WORDS for time_ms in times_of(client)]
    share = max(1, len(pairs) * len(cases) // _MAX_ROWS)
    # A step that shares a divisor with the number of records would leave some of them out for a secret.
    while gcd(share, len(held)) > 1:
        share += 1
    for sort, is_known, memoises in (
        ("that repeats what is permanent", True, True),
        ("whose noise is all fresh", True, False),
        ("of a user without a secret", False, True),
    ):
        for number, (word, time_ms) in enumerate(steps(cases, f"rows {sort}")):
            # The decisions of the others are those of one source, and hardly depend on who makes them.
            part = pairs[number % share :: share if is_known and memoises else share * SECRETS // 4 + 1]
            made = reports(
                collection,
                table[[place for _, place in part]],
                secrets=[secret for secret, _ in part] if is_known else None,
                memoises=memoises,
                time_ms=time_ms,
                entropy=OneWord(word),
            )
            stated = (
                client.whole_row(
                    secret if is_known else None,
                    held[place],
                    time_ms=time_ms,
                    words=repeat(word),
                    memoises=memoises,
                )
                for secret, place in part
            )
            wrong = _wrong([place for _, place in part], made, ((row,) for row in stated))
            if wrong:
                yield (
                    f"a row {sort} is not that of the specification, for {len(wrong)} of {len(part)} users at "
                    f"{time_ms} ms, one of whom holds {_shown(held[wrong[0]])}"
                )
                break


def round_differences(
    collection: Any,
    reports: Callable[..., NDArray[Any]],
    rounds: Iterable[Any],
    client: Sets,
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
            given = None if asked.phase == 1 else asked_by(asked)
            wrong = _wrong(held, made, (client.fresh_rows(asked.phase, given, items, repeat(word)) for items in held))
            if wrong:
                yield (
                    f"phase {asked.phase}, padding {asked.padding}: a row is not that of the specification, for "
                    f"{len(wrong)} of {len(held)} users, one of whom holds {len(wrong[0])} items"
                )
                break


def asked_by(asked: Any) -> dict[str, Any]:
    """Return what a client reads of a round."""
    named = asked.candidates
    return {
        "epoch": asked.epoch,
        "phase": asked.phase,
        "candidates": named and [list(each) if isinstance(each, tuple) else each for each in named],
        "padding": asked.padding,
        "missing": asked.missing,
    }


def _wrong(held: Sequence[Any], made: NDArray[np.uint8], stated: Iterable[Container[bytes]]) -> list[Any]:
    """Return what those users hold whose row is none of those that the specification makes of the same words."""
    return [each for each, row, rows in zip(held, made, stated, strict=True) if row.tobytes() not in rows]


def keyed_differences() -> Iterator[str]:
    """Yield where words of a key are not those of the specification, or where two of them are always the same."""
    secrets = [bytes([number]) * 32 for number in range(SECRETS)]
    for epoch in (-1, 0, 2**40):
        made = user_partition.partition_words(secrets, fingerprint=bytes(16), epoch=epoch)
        data = bytes(16) + epoch.to_bytes(8, "little", signed=True)
        if made.tolist() != [word_of(keyed(secret, "stream-ldp grp 1", data, 4)) for secret in secrets]:
            yield "partition_words: the words that decide who is asked are not those of the specification"
            break
    seen: dict[bytes, str] = {}
    for person in ("stream-ldp ans 1", "stream-ldp lol 1"):
        for data in (b"", b"row", bytes(16), bytes(15) + b"\1", bytes(17)):
            made = np.array([KeyedWords(each, person=person.encode(), data=data).words(_KEYED) for each in secrets])
            if made.tolist() != [list(islice(words_of(each, person, data), _KEYED)) for each in secrets]:
                yield f"KeyedWords: the words of {person!r} are not those of the specification"
                return
            for word in range(_KEYED):
                what = f"word {word} of {person!r}, {data!r}"
                if seen.setdefault(made[:, word].tobytes(), what) != what:
                    yield f"KeyedWords: {what} is {seen[made[:, word].tobytes()]} for every user"
                    return


def _shown(held: Held) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in held.items())[:100]


#: Cycles of turns that are played, one after another, before and after each of the times of the audit.
_CYCLES = 3


def w_event_claims(collection: Collection, claims: Sequence[Claim], *, claimed: float) -> Iterator[Claim]:
    """Yield what any w consecutive windows, or epochs, show of a user whose values change in any way.

    Given the secret, which turns are a user's is certain, and depends on no value. So the reports of w windows are
    independent given the values, and lose the sum over the turns among them. How many there are is played for many
    secrets, over every w windows around some times; what one costs was enumerated before.

    claims: what was enumerated of the reports of one window, or epoch.
    claimed: what the collection claims of w windows, in nats.
    """
    if collection.rotate is None:
        return
    of_one = [claim for claim in claims if claim.about.get("reports") in (1, "epoch")] or list(claims)
    every, most = collection.rotate, 0
    for time_ms in (0, *TIMES_MS):
        first = time_ms // collection.turn_ms - every
        turns = np.array([collection.has_turn(secrets(), number=first + each) for each in range(_CYCLES * every)])
        windows = np.lib.stride_tricks.sliding_window_view(turns, every, axis=0).sum(axis=-1)
        most = max(most, int(windows.max()))
    yield Claim(
        about={"windows": every, "turns": most, "changes": "any"},
        claimed=claimed,
        enumerated=most * max((claim.enumerated for claim in of_one), default=math.inf),
        allowed=claimed,
    )
