"""Whether `perturb` sends what its parts draw, and a client's permanent words are all different.

Epsilon of records is enumerated from the two stages of a mechanism, one symbol after another. That is the epsilon of
the reports only if `perturb`, from the record to the packed row, sends just what the stages draw: for one user and
for several in a call, with permanent words and without. The reports of a small mechanism are enumerated for that.
Those of the mechanism itself, which may be too wide, are compared draw for draw with what its stages make of the same
words.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.audit.comparison import Outputs, compared, independent
from stream_ldp.audit.enumerate import distribution, played
from stream_ldp.audit.enumeration import Enumeration, realised_reports, stated_reports
from stream_ldp.mechanisms import SECRET_BYTES, GivenWords, SeededEntropy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, Mechanism, PermanentWords

#: Users of the calls that are compared draw for draw, and the number of calls of each kind.
_USERS = (1, 2, 100)
_CALLS = 8

#: Secrets whose words are compared, and the most values of an attribute whose words are.
_SECRETS = 64
_VALUES = 64


def record_differences(mechanism: Mechanism, words: PermanentWords, *, realised: Enumeration) -> Iterator[str]:
    """Yield where the code does not do what is stated, and how, in words; nothing if it does.

    mechanism: the mechanism of a client, at full width.
    words: the client's permanent words.
    realised: the symbols of the mechanism, or of a small one, as their code draws them; see `Enumeration.realised`.

    Raises:
        UnknownDistribution: the probabilities cannot be found.
    """
    small = mechanism.small()
    for check in (
        _of_stages(mechanism if _width(realised) == mechanism.sizes else small, realised),
        _of_one_user(small),
        _of_memoised_users(small),
        _of_several_users(_of_two_values(small, attributes=1)),
        _of_several_memoised_users(_of_two_values(small, attributes=2)),
        _at_full_width(mechanism),
        _of_words(mechanism, words),
        _of_shared_responses(mechanism),
    ):
        # The first of each kind says where; others follow from it.
        yield from itertools.islice(check, 1)


def _of_stages(mechanism: Mechanism, realised: Enumeration) -> Iterator[str]:
    """Compare each symbol's two stages with those that are stated."""
    stated = Enumeration.stated(mechanism)
    for attribute, (found, wanted) in enumerate(zip(realised.attributes, stated.attributes, strict=True)):
        for symbol, (one, other) in enumerate(zip(found, wanted, strict=True)):
            place = f"symbol {symbol} of attribute {attribute}"
            if (one.inputs, one.stages.permanent) != (other.inputs, other.stages.permanent):
                yield f"{_name(mechanism)}.permanent, {place}: it is not drawn with the stated probabilities"
            if one.stages.response != other.stages.response:
                yield f"{_name(mechanism)}.instantaneous, {place}: it is not drawn with the stated probabilities"


def _of_one_user(small: Mechanism) -> Iterator[str]:
    realised = realised_reports(small)
    for record, stated in stated_reports(small).items():
        what = f"{_name(small)}.perturb, one user, record {record}, no permanent words"
        yield from compared(what, realised[record], stated)


def _of_memoised_users(small: Mechanism) -> Iterator[str]:
    """Compare the reports given each permanent response, whose words are given too."""
    for record in itertools.product(*map(range, small.sizes)):
        for symbols, words in _permanent_responses(small, record):
            found = _distribution(small, [record], [words])
            place = f"one user, record {record}, permanent response {symbols}"
            yield from compared(f"{_name(small)}.perturb, {place}", found, _responses(small, symbols))


def _of_several_users(small: Mechanism) -> Iterator[str]:
    alone = stated_reports(small)
    for records in itertools.product(itertools.product(*map(range, small.sizes)), repeat=2):
        found = _distribution(small, records, None)
        stated = independent([alone[record] for record in records])
        what = f"{_name(small)}.perturb, two users in a call, records {records}, no permanent words"
        yield from compared(what, found, stated)


def _of_several_memoised_users(small: Mechanism) -> Iterator[str]:
    every = list(itertools.product(*map(range, small.sizes)))
    for records in [(every[0], every[-1]), (every[-1], every[-1])]:
        first, second = (_permanent_responses(small, record) for record in records)
        for one, other in zip(first, [*second[1:], second[0]], strict=True):
            found = _distribution(small, records, [one[1], other[1]])
            stated = independent([_responses(small, one[0]), _responses(small, other[0])])
            place = f"two users in a call, records {records}, permanent responses {one[0]} and {other[0]}"
            yield from compared(f"{_name(small)}.perturb, {place}", found, stated)


def _at_full_width(mechanism: Mechanism) -> Iterator[str]:
    """Compare what `perturb` sends with what the stages make of the same words."""
    for users, call in itertools.product(_USERS, range(_CALLS)):
        values = (np.arange(users)[:, None] + call) % np.array(mechanism.sizes)
        words = SeededEntropy(call).words(users * sum(mechanism.words)).reshape(users, -1)
        for given in (None, words):
            entropy = SeededEntropy(call)
            source = entropy if given is None else GivenWords(given)
            symbols = mechanism.instantaneous(mechanism.permanent(values, source), entropy)
            sent = mechanism.perturb(values, entropy=SeededEntropy(call), permanent_words=given)
            if not np.array_equal(sent, mechanism.packed(symbols)):
                how = "with" if given is not None else "without"
                yield (
                    f"{_name(mechanism)}.perturb, {users} users in a call, {how} permanent words: it does not send "
                    "what `permanent` and then `instantaneous` draw from the same words"
                )


def _of_words(mechanism: Mechanism, words: PermanentWords) -> Iterator[str]:
    """Require that words repeat for the same value, and for nothing else.

    That two of 64 secrets' words for different things are equal by chance has the probability 2^-2048.
    """
    secrets = [bytes([number]) * SECRET_BYTES for number in range(_SECRETS)]
    # Values that are hashed have the words of their attribute.
    values = range(min(max(mechanism.sizes), _VALUES) if mechanism.keyed_by_value else 1)
    records = np.array([[min(value, size - 1) for size in mechanism.sizes] for value in values])
    # For each record, shape (secrets, words).
    drawn = [words.words_of(secrets, np.repeat(record[None], _SECRETS, axis=0)) for record in records]
    again = [words.words(secrets[-1], record.tolist()) for record in records]
    last = [size - 1 for size in mechanism.sizes]
    if not mechanism.keyed_by_value and (words.words(secrets[-1], last) != again[0]).any():
        yield f"{type(words).__name__}: hashed values of one attribute have different words"
    if any((one != each[-1]).any() for one, each in zip(again, drawn, strict=True)):
        yield f"{type(words).__name__}: the same value of the same user does not get the same words again"
    seen: dict[bytes, str] = {}
    for record, each in zip(records.tolist(), drawn, strict=True):
        places = itertools.count()
        for attribute, count in enumerate(mechanism.words):
            for number, place in zip(range(count), places, strict=False):
                column = each[:, place].tobytes()
                what = f"word {number} of value {record[attribute]} of attribute {attribute}"
                if seen.setdefault(column, what) != what:
                    yield f"{type(words).__name__}: {seen[column]} and {what} are the same for every user"
                if len(set(each[:, place].tolist())) == 1:
                    yield f"{type(words).__name__}: all users have the same {what}"
    everything = np.concatenate([each.ravel() for each in drawn])
    if constant := [bit for bit in range(32) if len(np.unique(everything >> np.uint32(bit) & np.uint32(1))) == 1]:
        yield f"{type(words).__name__}: bit {constant[0]} of a word is always the same"


def _of_shared_responses(mechanism: Mechanism) -> Iterator[str]:
    """Require that values share a permanent response just where the ledger charges them as one."""
    users = max(_USERS)
    words = SeededEntropy(0).words(users * sum(mechanism.words)).reshape(users, -1)
    seen: list[dict[int, NDArray[np.integer[Any]]]] = [{} for _ in range(users)]
    if mechanism.keyed_by_value or len(mechanism.symbol_sizes) != len(mechanism.sizes):
        return
    for value in range(max(mechanism.sizes)):
        values = np.minimum(np.full((users, len(mechanism.sizes)), value), np.array(mechanism.sizes) - 1)
        symbols, shown = mechanism.permanent(values, GivenWords(words)), mechanism.shown(values, words)
        for user in range(users):
            for attribute in range(len(mechanism.sizes)):
                key = attribute * max(mechanism.symbol_sizes) + int(shown[user, attribute])
                symbol = symbols[user, attribute]
                if seen[user].setdefault(key, symbol) != symbol:
                    yield (
                        f"{_name(mechanism)}.permanent, attribute {attribute}: two values that are charged as one "
                        "have different permanent responses"
                    )
                    return


def _distribution(
    mechanism: Mechanism, records: Sequence[Sequence[int]], words: Sequence[NDArray[np.uint32]] | None
) -> Outputs:
    given = None if words is None else np.stack(words)

    def rows(entropy: Entropy) -> bytes:
        return mechanism.perturb(np.array(records), entropy=entropy, permanent_words=given).tobytes()

    return distribution(rows)


def _permanent_responses(
    mechanism: Mechanism, record: Sequence[int]
) -> list[tuple[tuple[int, ...], NDArray[np.uint32]]]:
    """Return the permanent responses to a record that are possible, each with words that make it."""

    def permanent(source: Entropy) -> tuple[int, ...]:
        symbols: NDArray[np.integer[Any]] = mechanism.permanent(np.array([record]), source)
        return tuple(symbols[0].tolist())

    return played(permanent)


def _responses(mechanism: Mechanism, permanent: Sequence[int]) -> Outputs:
    """Return P(report | permanent symbols) as the mechanism states it."""
    stages = [symbol.stages for symbols in mechanism.stated() for symbol in symbols]
    rows = [each.response[symbol] for each, symbol in zip(stages, permanent, strict=True)]
    outputs: Outputs = {}
    for sent in itertools.product(*(range(len(row)) for row in rows)):
        chance = math.prod((row[each] for row, each in zip(rows, sent, strict=True)), start=Fraction(1))
        if chance:
            outputs[mechanism.packed(np.array([sent])).tobytes()] = chance
    return outputs


def _of_two_values(mechanism: Mechanism, *, attributes: int) -> Mechanism:
    sizes = (2,) * min(attributes, len(mechanism.sizes))
    return replace(mechanism, sizes=sizes)  # type: ignore[type-var]  # every mechanism is a dataclass


def _width(enumeration: Enumeration) -> tuple[int, ...]:
    return tuple(len(symbols[0].inputs) for symbols in enumeration.attributes)


def _name(mechanism: Mechanism) -> str:
    return type(mechanism).__name__
