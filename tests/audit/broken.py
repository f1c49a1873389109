"""Mechanisms and clients that break their promise, each in a way that a published one has or that is one slip away.

All of them state the parameters and the epsilon of the mechanism that they are made from, and do something else.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.mechanisms import (
    KRR,
    RESOLUTION,
    RRLDP,
    SECRET_BYTES,
    BitFlipResponse,
    BloomResponse,
    ChannelResponse,
    DirectResponse,
    HadamardResponse,
    HalfSpaceResponse,
    HashedKRR,
    KSubset,
    LolohaResponse,
    OptimisedUnaryResponse,
    PermanentWords,
    PiecewiseResponse,
    RepeatedResponse,
    SeededEntropy,
    SetHadamardResponse,
    SubsetResponse,
    UnaryResponse,
)
from stream_ldp.mechanisms.packing import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, FrequencyOracle
    from stream_ldp.mechanisms.loloha import Permanent
    from stream_ldp.mechanisms.mechanism import Symbols
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.phases import Inquiry, Method


class NeverClears(RRLDP):
    """Only ever sets bits, as pure-LDP 1.2.0's RAPPOR client: a true 1 stays 1, and a 0 rules the value out."""

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        return super().permanent(values, source) | one_hot(self, values)


class NeverClearsOneBit(RRLDP):
    """The same slip in the last bit of a report alone."""

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        bits = super().permanent(values, source)
        bits[:, -1] |= one_hot(self, values)[:, -1]
        return bits


class QuantisesF(RRLDP):
    """Decides with one byte of a word, so that f is a multiple of 1/128, and speaks of the f that was asked for."""

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        hot = one_hot(self, values)
        return hot ^ source.below(np.full(hot.shape, int(self.f * 128) * 2**24))


class SwapsPAndQ(RRLDP):
    """Sends 1 with chance p for a permanent 1 and with q for a 0, as the survey of Ye et al. (2018) prints it.

    It is as private as it says, since 0 and 1 only change their names; what is decoded from it is wrong.
    """

    def instantaneous(self, symbols: Symbols, entropy: Entropy) -> Symbols:
        return super().instantaneous(1 - symbols, entropy)


class SendsInTheClear(RRLDP):
    """Perturbs as it says and then sends the record itself."""

    def perturb(
        self,
        values: NDArray[np.integer],
        *,
        entropy: Entropy,
        permanent_words: NDArray[np.uint32] | None = None,
    ) -> NDArray[np.uint8]:
        super().perturb(values, entropy=entropy, permanent_words=permanent_words)
        return self.packed(one_hot(self, values))


class RedrawsPermanent(RRLDP):
    """Draws the permanent response anew in every report, whose noise averages out."""

    def perturb(
        self,
        values: NDArray[np.integer],
        *,
        entropy: Entropy,
        permanent_words: NDArray[np.uint32] | None = None,
    ) -> NDArray[np.uint8]:
        return super().perturb(values, entropy=entropy)


class KeepsTooOften(KRR):
    """Sends each other value only half as often as it states."""

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        kept = RESOLUTION - (np.array(self.sizes) - 1) * (np.array(self.runs) // 2)
        shifts = source.shifts(
            np.broadcast_to(kept, values.shape), np.broadcast_to(np.array(self.sizes) - 1, values.shape)
        )
        symbols: Symbols = (values + shifts) % np.array(self.sizes)
        return symbols


class SendsWhatItNames(KRR):
    """Sends the permanent response itself, without the noise that each report should have."""

    def instantaneous(self, symbols: Symbols, entropy: Entropy) -> Symbols:
        return symbols


class TellsWhichOfItsValues(BitFlipResponse):
    """Inverts no bit of a value that is sampled, and those of others as it states."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        rows = super().perturb(values, entropy=entropy)
        own = np.packbits(np.asarray(values)[:, None] == np.arange(self.size), axis=1, bitorder="little")
        return rows | own


class SendsTheNamedBucket(HashedKRR):
    """Leaves the noise of each report out, so that a report costs as much as all, and a change shows at once."""

    def instantaneous(self, symbols: Symbols, entropy: Entropy) -> Symbols:
        super().instantaneous(symbols, entropy)
        return symbols


class NamesEachValueAnew(HashedKRR):
    """Draws another response for values of one bucket, which the ledger charges as one."""

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        shifts = self._shifts(len(values), source)
        cohorts = shifts[:, self._firsts]
        buckets = np.array(self.response.sizes)
        drawn = np.take_along_axis(shifts, self._firsts + 1 + values % buckets, axis=1)
        named: Symbols = cohorts * buckets + (self._bucketed(values, cohorts) + drawn) % buckets
        return named


class HoldsTooOften(KSubset):
    """Leaves the user's own value out only half as often as it states."""

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        others = np.array(self.sizes) - np.array(self.members)
        return source.holding(
            values,
            sizes=np.array(self.sizes),
            members=np.array(self.members),
            kept=RESOLUTION - others * (np.array(self.runs) // 2),
        )


class NeverPairsItsFirstTwo(KSubset):
    """In place of the set of values 0 and 1, it sends that of 0 and 2: sets of one member are as they should be."""

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        symbols = super().permanent(values, source)
        sets: Symbols = np.where(symbols == 0b011, 0b101, symbols)
        return sets


class IgnoresSecret(PermanentWords):
    """All users share their permanent words."""

    def words(self, secret: bytes, values: Sequence[int]) -> NDArray[np.uint32]:
        return super().words(bytes(SECRET_BYTES), values)


class IgnoresValue(PermanentWords):
    """All values of a user share their permanent words: the difference of two responses is that of the values."""

    def words(self, secret: bytes, values: Sequence[int]) -> NDArray[np.uint32]:
        return super().words(secret, [0] * len(values))


class IgnoresAttribute(PermanentWords):
    """Equal values of different attributes share their permanent words."""

    def __init__(
        self,
        *,
        collection: str,
        attributes: Sequence[tuple[str, Sequence[str]]],
        noise: Sequence[list[Any]],
        counts: Sequence[int],
    ) -> None:
        super().__init__(collection=collection, attributes=attributes, noise=noise, counts=counts)
        self._contexts = self._contexts[:1] * len(attributes)


class IgnoresBit(PermanentWords):
    """All bits of a value share one permanent word: either all of them are inverted or none is."""

    def words(self, secret: bytes, values: Sequence[int]) -> NDArray[np.uint32]:
        words = super().words(secret, values)
        firsts = np.cumsum([0, *self._counts[:-1]])
        return np.repeat(words[firsts], self._counts)


class RepeatsABlock(PermanentWords):
    """Forgets the number of the block: the words of an attribute repeat every 16 bits."""

    def words(self, secret: bytes, values: Sequence[int]) -> NDArray[np.uint32]:
        words = super().words(secret, values)
        starts = np.cumsum([0, *self._counts[:-1]])
        places = [start + np.arange(count) % 16 for start, count in zip(starts, self._counts, strict=True)]
        repeated: NDArray[np.uint32] = words[np.concatenate(places)]
        return repeated


class CoarseWords(PermanentWords):
    """Has words of 8 bits, moved to the top of 32."""

    def words(self, secret: bytes, values: Sequence[int]) -> NDArray[np.uint32]:
        return super().words(secret, values) & np.uint32(0xFF000000)


def reused_generator() -> Entropy:
    """A generator that begins with the same seed in every process."""
    return SeededEntropy(7)


class FavoursARow(HadamardResponse):
    """Draws only rows with the sign + for the true value, as far as it can: the row tells the value."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        rows = HadamardResponse.perturb(self, values, entropy=entropy)
        *indices, hashes = unpack(rows, self._widths)
        lowest = np.asarray(values) & -np.asarray(values)
        plus = [np.where(np.bitwise_count(index & values) & 1, index ^ lowest, index) for index in indices]
        return pack([*plus, hashes], self._widths)


class DrawsRowsUnevenly(HadamardResponse):
    """Never draws an odd row: as private as it says, but what differs in the first bit alone is never told apart."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        rows = HadamardResponse.perturb(self, np.asarray(values) & ~1, entropy=entropy)
        return rows & np.where(np.arange(rows.shape[1]) == 0, 254, 255).astype(np.uint8)


class TakesRawWords(HadamardResponse):
    """Takes a random word itself: nobody can enumerate what it makes of it."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        entropy.words(len(values))  # type: ignore[attr-defined]  # that is the point
        return HadamardResponse.perturb(self, values, entropy=entropy)


class SendsTheNextValue(DirectResponse):
    """Instead of another value always sends the next one: the others are ruled out."""

    def respond(self, values: NDArray[np.int64], *, entropy: Entropy) -> NDArray[np.int64]:
        sent = DirectResponse.respond(self, values, entropy=entropy)
        return np.where(sent == values, values, (values + 1) % self.counters)


class SpendsEpsilonOnEachBit(UnaryResponse):
    """Keeps each of two bits that differ with all of epsilon."""

    def __post_init__(self) -> None:
        UnaryResponse.__post_init__(self)
        object.__setattr__(self, "response", DirectResponse(size=2, epsilon=self.epsilon))


class KeepsItsOwnBit(OptimisedUnaryResponse):
    """Sends the bit of the user's own value more often than a fair coin would."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        own = np.asarray(values)[:, None] == np.arange(self.size)
        sent = entropy.responses(own, zero=RESOLUTION - self.response.kept, one=3 * RESOLUTION // 4)
        return np.packbits(sent, axis=1, bitorder="little")


class _WithoutPadding:
    """Draws one of the values that a set has, however few: a value is drawn more often than in 1 of l slots."""

    size: int

    def sampled(
        self, offsets: NDArray[np.int64], values: NDArray[np.int64], *, padding: int, entropy: Entropy
    ) -> NDArray[np.int64]:
        held = np.diff(offsets)
        return _drawn(self.size, offsets, values, entropy.integers(np.maximum(held, 1)))


class _FirstValue:
    """A biased sampler: the first slot, always."""

    size: int

    def sampled(
        self, offsets: NDArray[np.int64], values: NDArray[np.int64], *, padding: int, entropy: Entropy
    ) -> NDArray[np.int64]:
        return _drawn(self.size, offsets, values, np.zeros(len(offsets) - 1, dtype=np.int64))


class DirectWithoutPadding(_WithoutPadding, DirectResponse):
    """A direct response to it."""


class HadamardWithoutPadding(_WithoutPadding, HadamardResponse):
    """A Hadamard response to it."""


class DirectOfTheFirstValue(_FirstValue, DirectResponse):
    """A direct response to it."""


class HadamardOfTheFirstValue(_FirstValue, HadamardResponse):
    """A Hadamard response to it."""


def _drawn(
    size: int, offsets: NDArray[np.int64], values: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    held = np.diff(offsets)
    with_dummy = np.append(values, size)
    return np.where(held > 0, with_dummy[np.minimum(offsets[:-1] + places, len(values))], size)


def one_hot(mechanism: RRLDP, values: NDArray[np.integer]) -> NDArray[np.uint8]:
    values = np.asarray(values)
    columns = [values[:, [place]] == np.arange(size) for place, size in enumerate(mechanism.sizes)]
    return np.concatenate(columns, axis=1).astype(np.uint8)


def respond_without_padding(
    method: Method, inquiry: Inquiry, sets: ItemSets, *, entropy: Entropy
) -> NDArray[np.uint8]:
    """Draws one of the items that a set has, however few: an item is drawn more often than in 1 of l slots."""
    held = _restricted(method, inquiry, sets)
    places = entropy.integers(np.maximum(held.sizes, 1))
    return _perturbed(method.oracle(inquiry), held, places, entropy)


def respond_with_the_first_item(
    method: Method, inquiry: Inquiry, sets: ItemSets, *, entropy: Entropy
) -> NDArray[np.uint8]:
    """A biased sampler: the first slot, always."""
    held = _restricted(method, inquiry, sets)
    return _perturbed(method.oracle(inquiry), held, np.zeros(len(held), dtype=np.int64), entropy)


def _restricted(method: Method, inquiry: Inquiry, sets: ItemSets) -> ItemSets:
    everything = np.arange(method.domain)
    return sets.restricted(everything if inquiry.candidates is None else inquiry.candidates, domain=method.domain)


def _perturbed(
    oracle: FrequencyOracle, held: ItemSets, places: NDArray[np.integer], entropy: Entropy
) -> NDArray[np.uint8]:
    items = np.append(held.items, oracle.size)
    values = np.where(held.sizes > 0, items[held.offsets[:-1] + places], oracle.size)
    return oracle.perturb(values, entropy=entropy)


class KeepsAllHashes(SetHadamardResponse):
    """Does not cut large sets to l hashes: the others are left less than the least share."""

    def _of_at_most_slots(self, favoured: NDArray[np.int64], users: int, entropy: Entropy) -> NDArray[np.int64]:
        SetHadamardResponse._of_at_most_slots(self, favoured, users, entropy)
        return favoured


class KeepsAHashTooMany(SetHadamardResponse):
    """Cuts sets to l + 1 hashes where l > 3, so that a set with so many never sends another one."""

    def _of_at_most_slots(self, favoured: NDArray[np.int64], users: int, entropy: Entropy) -> NDArray[np.int64]:
        held = np.bincount(favoured // 2**self.hash_bits, minlength=users)
        return favoured[entropy.subsets(held, self.slots + (self.slots > 3))]


class FavoursOneHash(SetHadamardResponse):
    """A broken twin that always sends the first of a set's hashes."""

    def _sent_hashes(self, favoured: NDArray[np.int64], users: int, entropy: Entropy) -> NDArray[np.int64]:
        owner, hashes = np.divmod(favoured, 2**self.hash_bits)
        sent = SetHadamardResponse._sent_hashes(self, favoured, users, entropy)
        first = np.searchsorted(owner, np.arange(users))
        own = np.isin(np.arange(users) * 2**self.hash_bits + sent, favoured)
        sent[own] = hashes[first[own]]
        return sent


class AnswersForAHigherEpsilon(SetHadamardResponse):
    """Keeps the hashes of a set as if it might spend one nat more."""

    def _sent_hashes(self, favoured: NDArray[np.int64], users: int, entropy: Entropy) -> NDArray[np.int64]:
        return self._spendthrift._sent_hashes(favoured, users, entropy)

    @cached_property
    def _spendthrift(self) -> SetHadamardResponse:
        return SetHadamardResponse(
            size=self.size, slots=self.slots, epsilon=self.epsilon + 1, hash_bits=self.hash_bits
        )


class SendsDummiesPlainly(HadamardResponse):
    """Sends zeros for a dummy, which means nothing to the decoder: an empty set is told from any other."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        rows = HadamardResponse.perturb(self, values, entropy=entropy)
        rows[values >= self.size] = 0
        return rows


class SendsThePermanentSign(LolohaResponse):
    """Sends the permanent response without fresh noise: one report costs as much as all are to."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        indices = self.drawn(len(values), entropy=entropy)
        signs = self.hashed(np.asarray(values), indices, entropy=entropy)
        return self.packed(indices, self.response.permanent.respond(signs, entropy=entropy))


class RefreshesNothing(LolohaResponse):
    """Repeats its permanent response as it is: the first report costs as much as all."""

    def refreshed(self, rows: NDArray[np.uint8], *, entropy: Entropy) -> NDArray[np.uint8]:
        return rows


class SendsTheSignItself(LolohaResponse):
    """Sends the sign of the set through fresh noise alone, which averages out."""

    def permanent(self, values: NDArray[np.int64], *, padding: int, words: Permanent) -> NDArray[np.uint8]:
        indices, signs = self._drawn_permanently(values, padding=padding, words=words)
        return self.packed(indices, signs)


class RedrawsThePermanentSign(LolohaResponse):
    """Draws the permanent response in every epoch anew, so that the noise of many reports averages out."""

    def permanent(self, values: NDArray[np.int64], *, padding: int, words: Permanent) -> NDArray[np.uint8]:
        return super().permanent(values, padding=padding, words=_anew(words, b"sign"))


class RedrawsTheSlot(LolohaResponse):
    """Draws the slot of a set in every epoch anew, so that many reports show which signs the set has."""

    def permanent(self, values: NDArray[np.int64], *, padding: int, words: Permanent) -> NDArray[np.uint8]:
        return super().permanent(values, padding=padding, words=_anew(words, b"set"))


class SharesTheNoiseOfSigns(LolohaResponse):
    """Flips both signs or neither: that a set has changed shows in every second report."""

    def permanent(self, values: NDArray[np.int64], *, padding: int, words: Permanent) -> NDArray[np.uint8]:
        return super().permanent(
            values,
            padding=padding,
            words=lambda purpose: words(b"sign" if purpose.startswith(b"sign") else purpose),
        )


def _anew(words: Permanent, what: bytes) -> Permanent:
    """Return sources that are permanent but for one purpose, for which every use has words of its own."""
    return lambda purpose: words(purpose + next(_USES).to_bytes(8, "big") if purpose.startswith(what) else purpose)


_USES = itertools.count()


class DrawsOthersWithTheirOwn(SubsetResponse):
    """Draws all members from all values once the user's own is in: with repetitions, it has fewer members."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        chosen = np.zeros((len(values), self.size), dtype=np.bool_)
        users = np.arange(len(values))
        own = entropy.below(np.broadcast_to(np.uint32(self.kept), np.shape(values)))
        chosen[users[own], values[own]] = True
        for _ in range(self.members):
            chosen[users, entropy.integers(np.full(len(values), self.size))] = True
        return np.packbits(chosen, axis=1, bitorder="little")


class SpendsEpsilonTwice(BloomResponse):
    """Keeps bits as if all reports might cost twice as much."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        spendthrift = BloomResponse(
            size=self.size, hashes=self.hashes, lifetime=2 * self.lifetime, p=self.p, q=self.q
        )
        return spendthrift.perturb(values, entropy=entropy)


class ForgetsTheSecondNoise(BloomResponse):
    """Sends what should stay permanent, and claims the epsilon of one report."""

    def instantaneous(self, rows: NDArray[np.uint8], *, entropy: Entropy) -> NDArray[np.uint8]:
        return rows


class ShiftsItsEnds(ChannelResponse):
    """Ends each output one word too late, so that a probability is off by 2^-32."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        ends = np.cumsum(np.array(self.table), axis=1)[values]
        ends[:, :-1] += 1
        return pack([entropy.outcomes(ends)], [self.bits])


class RepeatsThePermanentAnswer(RepeatedResponse):
    """Sends what it remembers as it is, so that one report loses as much as all."""

    def instantaneous(self, rows: NDArray[np.uint8], *, entropy: Entropy) -> NDArray[np.uint8]:
        return rows


class SharesThePlateau(PiecewiseResponse):
    """Draws the outcomes outside the plateau from all outcomes, as if those inside were no likelier for it."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        inside = entropy.below(np.broadcast_to(np.uint32(self.kept), np.shape(values)))
        near = values + entropy.integers(np.full(len(values), self.width))
        anywhere = entropy.integers(np.full(len(values), self.counters))
        return pack([np.where(inside, near, anywhere)], [self.bits])


class AnswersForTooMuch(HalfSpaceResponse):
    """Keeps the side of its signs as if it might spend one nat more."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        spendthrift = HalfSpaceResponse(dimensions=self.dimensions, epsilon=self.epsilon + 1)
        return spendthrift.perturb(values, entropy=entropy)


class _Ties(HalfSpaceResponse):
    """Draws with e^epsilon / (1 + e^epsilon) from the near side, otherwise from the far one, uniformly in each."""

    def near_side(self, agreeing: NDArray[np.int64]) -> NDArray[np.bool_]:
        raise NotImplementedError

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        odds = np.exp(self.epsilon)
        near = entropy.below(np.full(len(values), round(RESOLUTION * odds / (1 + odds))))
        sent = []
        for value, side in zip(np.asarray(values).tolist(), near.tolist(), strict=True):
            vectors = np.arange(self.inputs)
            differing = np.bitwise_count(vectors ^ value).astype(np.int64)
            agreeing = self.dimensions - differing if side else differing
            possible = vectors[self.near_side(agreeing)]
            sent.append(possible[entropy.integers(np.array([len(possible)]))[0]])
        return pack([np.array(sent, dtype=np.int64)], [self.bits])


class SendsTiesFromBothSides(_Ties):
    """Duchi, Jordan and Wainwright's rule: t* . v >= 0 or t* . v <= 0, which costs ln(1 + e^epsilon) if d is even."""

    def near_side(self, agreeing: NDArray[np.int64]) -> NDArray[np.bool_]:
        return 2 * agreeing >= self.dimensions


class NeverSendsTies(_Ties):
    """The rule as the survey of Ye et al. (2018) prints it: a tie rules its input out, and all hiding with it."""

    def near_side(self, agreeing: NDArray[np.int64]) -> NDArray[np.bool_]:
        return 2 * agreeing > self.dimensions
