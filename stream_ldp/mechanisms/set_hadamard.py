"""Set Hadamard response: one report of a whole set, in which all items have the same probability of support."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.frequency_oracle import FrequencyOracle
from stream_ldp.mechanisms.hadamard import MAX_HASH_BITS, HadamardResponse, hash_of, hashes_of
from stream_ldp.mechanisms.odds import would_do
from stream_ldp.mechanisms.plausibility import PlausibilityTest
from stream_ldp.mechanisms.privacy_loss import PRECISION, likelihood_ratio, round_up
from stream_ldp.mechanisms.randomizer import OutputDistribution, checked_values, no_outputs
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy

#: Values and hash bits of an oracle whose sets and reports are all enumerated.
_SMALL_SIZE = 5
_SMALL_HASH_BITS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class SetHadamardResponse(FrequencyOracle):
    """An oracle that sends t random rows of the Sylvester-Hadamard matrix, and a hash that favours the user's items.

    There are g = 2^t hashes. Each hash of a set's items is sent with p = e^epsilon / (g - l + l e^epsilon), however
    many they are; of more than l hashes, l are drawn at random. The other hashes share the rest evenly, and a set
    with l hashes leaves the least to each of them. So the probabilities of two sets differ by a factor of at most
    e^epsilon. An item of a set of at most l is supported with probability p, an item outside with 1 / g. As no item
    is sampled, the variance grows with l instead of its square. It is the wheel mechanism (Wang et al., 2020, PVLDB
    13(8)) with arcs of one hash, and hashes from the rows of `HadamardResponse`, whose reports and counters it
    shares; for one value it is a `HadamardResponse`.

    Hashes are linear in the bits of an item's number, so that 1 / g is exact for sets of one and two items only. An
    item whose number is the exclusive or of three items of a set, such as 3 for 0, 1 and 2, is supported slightly
    more or less often. If all users hold the same set, the measured error of such an item's frequency was 0.06 (64
    items, l = 4, t = 3) and 0.1 (l = 7, t = 4). Among 1,024 items with l = 20 it was 0.001.

    size: number of values.
    slots: l.
    epsilon: of a whole set, in nats. The argument is an upper bound; the field is the realised loss, lower by
        rounding to 2^-32.
    hash_bits: t; 2^t must exceed l.
    kept: p in units of 2^-32.

    Raises:
        ParameterError: a parameter is out of its range, or no multiple of 2^-32 is a probability for the epsilon.
    """

    kind: ClassVar[str] = "set-hadamard"
    example: ClassVar[str] = "size=8,slots=2,epsilon=1,hash_bits=3"

    size: int
    slots: int
    epsilon: float
    hash_bits: int
    kept: int = field(init=False)
    code: HadamardResponse = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "code", HadamardResponse(size=self.size, epsilon=self.epsilon, hash_bits=self.hash_bits)
        )
        if not 1 <= self.slots < self._hashes:
            raise ParameterError(
                f"{self.hash_bits} bits of hash are for 1 to {self._hashes - 1} slots, got {self.slots}"
            )
        object.__setattr__(self, "kept", self._largest())
        object.__setattr__(self, "epsilon", self._loss_with(self.kept))

    @classmethod
    def for_set(cls, size: int, *, padding: int, epsilon: float) -> Iterable[Self]:
        """See `FrequencyOracle.for_set`: one oracle for each number of hash bits with at least 2 l hashes.

        With fewer hashes, a set that is larger than l leaves hardly a hash that is not one of its own.
        """
        return [
            cls(size=size, slots=padding, epsilon=epsilon, hash_bits=bits)
            for bits in range(1, MAX_HASH_BITS + 1)
            if 2 * padding <= 2**bits and padding > 1
        ]

    @property
    def title(self) -> str:
        """Name of the oracle in plans: its kind, and the number of signs that are sent."""
        return f"set Hadamard, {self.hash_bits} signs"

    @property
    def set_slots(self) -> int | None:
        """Number l of slots: of a set with more hashes, l are drawn."""
        return self.slots

    @property
    def parameters(self) -> list[int]:
        """The numbers of values and slots, t, and p."""
        return [self.size, self.slots, self.hash_bits, self.kept]

    @property
    def bits(self) -> int:
        """Bits of a report."""
        return self.code.bits

    @property
    def public_draws(self) -> int | None:
        """See `FrequencyOracle.public_draws`: the rows, one for each bit of the hash."""
        return self.hash_bits

    @property
    def counters(self) -> int:
        """Number of counters: a sum and a count for each row."""
        return self.code.counters

    @property
    def support(self) -> tuple[float, float]:
        """Probabilities (p, q) of support of an item that a set of at most l holds, and of any other item."""
        return self.kept / RESOLUTION, 1 / self._hashes

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """See `FrequencyOracle.perturb`: a value is reported as a set of one, a dummy as the empty set."""
        values = checked_values(values)
        held = values < self.size
        offsets = np.concatenate(([0], np.cumsum(held)))
        return self.perturb_sets(offsets, values[held], padding=self.slots, entropy=entropy)

    def perturb_sets(
        self,
        offsets: NDArray[np.int64],
        values: NDArray[np.int64],
        *,
        padding: int,  # noqa: ARG002
        entropy: Entropy,
    ) -> NDArray[np.uint8]:
        """See `FrequencyOracle.perturb_sets`; nothing is padded."""
        users = len(offsets) - 1
        rows = entropy.integers(np.full((self.hash_bits, users), self.code.rows))
        owner = np.repeat(np.arange(users), np.diff(offsets))
        hashes = hashes_of(values, (row[owner] for row in rows.astype(np.uint32)))
        # A user and one of their hashes make one number; marking the numbers sorts them and drops repetitions.
        marked = np.zeros(users * self._hashes, dtype=np.bool_)
        marked[owner * self._hashes + hashes] = True
        favoured = self._of_at_most_slots(np.flatnonzero(marked), users, entropy)
        sent = self._sent_hashes(favoured, users, entropy)
        return self.code.packed(rows, sent)

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return self.code.valid(rows)

    def add(self, rows: NDArray[np.uint8], *, to: NDArray[np.int64]) -> None:
        self.code.add(rows, to=to)

    def possible(self, sums: NDArray[np.int64], *, reports: NDArray[np.int64]) -> bool:
        return self.code.possible(sums, reports=reports)

    def supports(self, sums: NDArray[np.int64 | np.float64], *, reports: float) -> NDArray[np.float64]:
        return self.code.supports(sums, reports=reports)

    def supported(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.bool_]:
        return self.code.supported(rows, values)

    def codes(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `FrequencyOracle.codes`: the hash of each value."""
        return self.code.codes(rows, values)

    def scale(self, *, padding: int) -> int:  # noqa: ARG002
        """See `FrequencyOracle.scale`: 1, since a report is made of the whole set."""
        return 1

    def shown(self, sizes: NDArray[np.float64], *, padding: int) -> NDArray[np.float64]:
        """See `FrequencyOracle.shown`: of the hashes of a set, l are kept.

        With an item's own, s items have about 1 + (g - 1) (1 - (1 - 1 / g)^(s - 1)) of the g hashes. A set that has
        nearly all of them shows of no item that it holds it.
        """
        g, (p, q) = self._hashes, self.support
        hashes = 1.0 + (g - 1.0) * (1.0 - (1.0 - 1.0 / g) ** (sizes - 1.0))
        kept, other = np.minimum(1.0, padding / hashes), (1.0 - padding * p) / (g - padding)
        return np.maximum(kept * p + (1.0 - kept) * other - q, 0.0) / (p - q)

    def neutral_sums(self, reports: int) -> NDArray[np.int64]:
        return self.code.neutral_sums(reports)

    def plausibility(self, sums: NDArray[np.int64]) -> PlausibilityTest:
        """See `FrequencyOracle.plausibility`: test which rows were drawn."""
        return self.code.plausibility(sums)

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """See `FrequencyOracle.implausible`: test which rows were drawn."""
        return self.code.implausible(rows, counts)

    def stated(self) -> OutputDistribution:
        """See `FrequencyOracle.stated`: the inputs are sets of one value, and the empty set for a dummy."""
        return self.stated_sets([*((value,) for value in range(self.size)), ()], padding=self.slots)

    def stated_sets(self, sets: Sequence[Sequence[int]], *, padding: int) -> OutputDistribution:  # noqa: ARG002
        """See `FrequencyOracle.stated_sets`.

        Each of at most l hashes, drawn at random from those of the set, is sent with probability p, and all others
        with equal probability.
        """
        outputs = no_outputs(len(sets), self.bits)
        p, draws = Fraction(self.kept, RESOLUTION), list(self.code.every_draw())
        for row, held in zip(outputs, sets, strict=True):
            for indices in draws:
                own = {hash_of(value, indices) for value in held}
                taken = min(len(own), self.slots)
                other = (1 - taken * p) / (self._hashes - taken)
                for sent in range(self._hashes):
                    chance = other + (p - other) * Fraction(taken, len(own)) if sent in own else other
                    row[self.code.report(indices, sent)] = chance / len(draws)
        return outputs

    def small(self) -> Self:
        """See `FrequencyOracle.small`: at most five values and two hash bits, whose sets and rows take seconds."""
        if self.size <= _SMALL_SIZE and self.hash_bits <= _SMALL_HASH_BITS:
            return self
        hash_bits = min(self.hash_bits, _SMALL_HASH_BITS)
        return replace(
            self,
            size=min(self.size, _SMALL_SIZE),
            slots=min(self.slots, 2**hash_bits - 1),
            hash_bits=hash_bits,
        )

    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:
        return replace(self, size=size, slots=padding, epsilon=epsilon, hash_bits=_SMALL_HASH_BITS)

    @property
    def _hashes(self) -> int:
        return 1 << self.hash_bits

    def _of_at_most_slots(self, favoured: NDArray[np.int64], users: int, entropy: Entropy) -> NDArray[np.int64]:
        held = np.bincount(favoured >> self.hash_bits, minlength=users)
        return favoured[entropy.subsets(held, self.slots)]

    def _sent_hashes(self, favoured: NDArray[np.int64], users: int, entropy: Entropy) -> NDArray[np.int64]:
        owner, hashes = favoured >> self.hash_bits, favoured & (self._hashes - 1)
        held = np.bincount(owner, minlength=users)
        first = np.cumsum(held) - held
        favours = entropy.below(held * self.kept)
        drawn = entropy.integers(np.where(favours, held, self._hashes - held))
        # Other hashes are numbered in ascending order. Below the user's own hash at place i there are (hash - i) of
        # them. So other hash number n is above it if n >= hash - i, and it is n plus the number of own hashes below.
        # Its place i is its number among all own hashes, less that of its user's first.
        passed = hashes - np.arange(len(favoured)) <= (drawn - first)[owner]
        sent = drawn + np.bincount(owner[passed], minlength=users)
        sent[favours] = hashes[(first + drawn)[favours]]
        return sent

    def _largest(self) -> int:
        """Return the largest p whose loss is at most epsilon, in units of 2^-32."""
        with localcontext(PRECISION):
            odds = likelihood_ratio(self.epsilon)
            kept: int = int(RESOLUTION * odds / (self._hashes - self.slots + self.slots * odds))
        if not RESOLUTION // self._hashes < kept or not kept * self.slots < RESOLUTION:
            lowest, highest = map(self._loss_with, (RESOLUTION // self._hashes + 1, (RESOLUTION - 1) // self.slots))
            raise ParameterError(
                f"epsilon={self.epsilon} is beyond the resolution of 2^-32 with {self._hashes} hashes, "
                f"{self.slots} of them favoured: {would_do(lowest, highest)}"
            )
        return kept

    def _loss_with(self, kept: int) -> float:
        """Return the loss of a set with l hashes against one with another hash, never rounded down."""
        with localcontext(PRECISION):
            others = Decimal(RESOLUTION - self.slots * kept) / (self._hashes - self.slots)
            return round_up((kept / others).ln())
