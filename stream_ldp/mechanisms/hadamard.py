"""Hadamard response: one bit or a few of a value's Hadamard code, made and counted without the matrix."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import walsh
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.direct import DirectResponse
from stream_ldp.mechanisms.frequency_oracle import FrequencyOracle
from stream_ldp.mechanisms.oracle_spec import EpsilonSpec
from stream_ldp.mechanisms.packing import count, pack, unpack, unused_clear
from stream_ldp.mechanisms.plausibility import PlausibilityTest
from stream_ldp.mechanisms.randomizer import OutputDistribution, checked_values, no_outputs
from stream_ldp.mechanisms.randomness.entropy import Entropy
from stream_ldp.mechanisms.row_draws import check_draws, uneven_draws

#: Most values: 2 * 2^24 counters take 256 MiB.
MAX_SIZE = 2**24

#: Most hash bits: a report of t of them is counted 2^t - 1 times. 2^8 hashes are best at epsilon 5.5, and no worse
#: above it.
MAX_HASH_BITS = 8

#: Hash bits of an oracle that is enumerated with sets: each further bit makes 16 times as many reports.
_SMALL_HASH_BITS = 2


class CodeResponse(Protocol):
    """A response to one of the 2^t hashes, which sends a hash.

    epsilon: of one response, in nats, as realised.
    """

    @property
    def epsilon(self) -> float: ...

    @property
    def chances(self) -> list[int]:
        """The chances by which it is made, in units of 2^-32."""
        ...

    @property
    def support(self) -> tuple[float, float]:
        """The probabilities that a hash is sent as it is, and as any other one."""
        ...

    def respond(self, values: NDArray[np.int64], *, entropy: Entropy) -> NDArray[np.int64]:
        """Perturb hashes into those that are sent, int64, shape (n,)."""
        ...

    def probability(self, value: int, named: int) -> Fraction:
        """Return P(`named` is sent | `value`)."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class HadamardResponse(FrequencyOracle):
    """An oracle that sends t random rows of the Sylvester-Hadamard matrix, and a value's perturbed signs in them.

    Row j has the sign (-1)^popcount(j & v) for value v. With t = 1 this is the sampling SH of GFIM (Algorithms 2 and
    3). With more, the t signs are a hash of the value, from a universal family with 2^t hashes, and the hash is sent
    by direct response: optimised local hashing where 2^t is near e^epsilon + 1 (Wang, Blocki, Li and Jha, 2017,
    section 4.4). A dummy has a uniformly random hash.

    A report is t row indices of log2(rows) bits each and then the hash, whose bit i is for row i; 0 stands for +.
    The first `rows` counters are signed sums, one for each row. The product of some rows of a report is again a row.
    For each non-empty choice of its rows, a report adds the product of their signs as sent, +1 or -1, to the sum of
    that row. The other `rows` counters count how often each row was drawn, which is uniform whatever the values are.

    size: number of values.
    epsilon: in nats. The argument is an upper bound; the field is the realised loss, lower by rounding to 2^-32.
    hash_bits: t.
    response: perturbs the hash.

    Raises:
        ParameterError: size or hash_bits is out of its range, or no multiple of 2^-32 is a probability for the
            epsilon.
    """

    kind: ClassVar[str] = "hadamard"
    named: ClassVar[tuple[str, ...]] = ("hadamard", "s-hist")
    example: ClassVar[str] = "size=8,epsilon=1,hash_bits=1"

    size: int
    epsilon: float
    hash_bits: int = 1
    response: CodeResponse = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_SIZE:
            raise ParameterError(f"a Hadamard response is for 1 to {MAX_SIZE} values, got size={self.size}")
        if not 1 <= self.hash_bits <= MAX_HASH_BITS:
            raise ParameterError(f"a hash has 1 to {MAX_HASH_BITS} bits, got hash_bits={self.hash_bits}")
        object.__setattr__(self, "response", self._perturbing())
        object.__setattr__(self, "epsilon", self.response.epsilon)

    @classmethod
    def forms(cls, size: int, *, epsilon: float) -> Iterable[Self]:
        """See `FrequencyOracle.forms`: one sign."""
        return [cls(size=size, epsilon=epsilon, hash_bits=1)]

    @classmethod
    def for_value(cls, size: int, *, epsilon: float) -> Iterable[Self]:
        """See `FrequencyOracle.for_value`: one oracle for each number of hash bits."""
        return [cls(size=size, epsilon=epsilon, hash_bits=bits) for bits in range(1, MAX_HASH_BITS + 1)]

    @classmethod
    def for_set(cls, size: int, *, padding: int, epsilon: float) -> Iterable[Self]:  # noqa: ARG003
        """See `FrequencyOracle.for_set`: as `for_value`, since a dummy has a hash like any value."""
        return cls.for_value(size, epsilon=epsilon)

    @property
    def title(self) -> str:
        """Name of the oracle in plans: its kind, and the number of signs that are sent."""
        return "Hadamard, a sign" if self.hash_bits == 1 else f"Hadamard, {self.hash_bits} signs"

    @property
    def public_draws(self) -> int | None:
        """See `FrequencyOracle.public_draws`: the rows, one for each bit of the hash."""
        return self.hash_bits

    @property
    def rows(self) -> int:
        """Order of the matrix: the smallest power of two that is at least 2 and not below the size."""
        return 1 << self._index_bits

    @property
    def parameters(self) -> list[int]:
        """The number of values, t, and the chance to keep the hash."""
        return [self.size, self.hash_bits, *self.response.chances]

    @property
    def bits(self) -> int:
        """Bits of a report."""
        return sum(self._widths)

    @property
    def counters(self) -> int:
        """Number of counters: a sum and a count for each row."""
        return 2 * self.rows

    @property
    def support(self) -> tuple[float, float]:
        """See `FrequencyOracle.support`: a report supports the values that have its hash in its rows."""
        p, _ = self.response.support
        return p, 2.0**-self.hash_bits

    @property
    def blanket(self) -> Blanket | None:
        """See `Randomizer.blanket`: every hash with the same chance, whatever the rows.

        Two values have one hash in as large a share of the rows as there are hashes.
        """
        own, any_value = self.support
        return Blanket.of_support(own=own, any_value=any_value, both=any_value**2)

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        values = checked_values(values)
        indices = self.drawn(len(values), entropy=entropy)
        return self.packed(
            indices, self.response.respond(self.hashed(values, indices, entropy=entropy), entropy=entropy)
        )

    def drawn(self, users: int, *, entropy: Entropy) -> NDArray[np.int64]:
        """Draw the row indices of so many users, int64, shape (hash_bits, users)."""
        return entropy.integers(np.full((self.hash_bits, users), self.rows))

    def hashed(self, values: NDArray[np.int64], indices: NDArray[np.int64], *, entropy: Entropy) -> NDArray[np.int64]:
        """Return the hash of each value in its rows, and draw that of each dummy, int64, shape (n,)."""
        hashes = hashes_of(values, indices.astype(np.uint32)).astype(np.int64)
        dummies = np.flatnonzero(values >= self.size)
        hashes[dummies] = entropy.integers(np.full(len(dummies), 2**self.hash_bits))
        return hashes

    def packed(self, indices: NDArray[np.int64], sent: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Pack row indices, shape (hash_bits, n), and the hashes that are sent, shape (n,), into reports."""
        return pack([*indices, sent], self._widths)

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return unused_clear(rows, self.bits)

    def add(self, rows: NDArray[np.uint8], *, to: NDArray[np.int64]) -> None:
        """Add to the signed sum of each row, and then to how often each row was drawn."""
        *indices, hashes = unpack(rows, self._widths)
        # A row and its sign make one number, so that the exclusive or of several is their product with its sign.
        signed = [index | (hashes >> bit & 1) << self._index_bits for bit, index in enumerate(indices)]
        agreement, drawn = to[: self.rows], to[self.rows :]
        for index in indices:
            count(index, to=drawn)
        if len(rows) * 2**self.hash_bits < self.rows:
            # Few reports change few of very many sums.
            for product in _products(signed):
                np.add.at(agreement, product & (self.rows - 1), 1 - 2 * (product >> self._index_bits))
            return
        by_sign = np.zeros(2 * self.rows, dtype=np.int64)
        for product in _products(signed):
            by_sign += np.bincount(product, minlength=2 * self.rows)
        agreement += by_sign[: self.rows] - by_sign[self.rows :]

    def possible(self, sums: NDArray[np.int64], *, reports: NDArray[np.int64]) -> bool:
        """See `Randomizer.possible`: a report draws t rows, and adds 2^t - 1 signs to them and their products."""
        agreement, drawn, reports = sums[..., : self.rows], sums[..., self.rows :], reports[..., None]
        within = np.abs(agreement) <= (2**self.hash_bits - 1) * reports
        return bool((within & (drawn >= 0) & (drawn <= self.hash_bits * reports)).all())

    def supports(self, sums: NDArray[np.int64 | np.float64], *, reports: float) -> NDArray[np.float64]:
        # A report agrees with a value that it supports in the signs of all 2^t - 1 products; with any other value, in
        # 2^(t - 1) - 1 of them.
        agreement = sums[: self.rows].astype(np.float64)
        walsh.transform(agreement)
        supports: NDArray[np.float64] = (reports + agreement[: self.size]) / 2**self.hash_bits
        return supports

    def supported(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.bool_]:
        *_, hashes = unpack(rows, self._widths)
        supported: NDArray[np.bool_] = self.codes(rows, values) == hashes[:, None]
        return supported

    def codes(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `FrequencyOracle.codes`: the hash of each value in the row's Hadamard rows."""
        *indices, _ = unpack(rows, self._widths)
        codes = np.zeros((len(rows), len(values)), dtype=np.int64)
        for bit, index in enumerate(indices):
            codes |= (np.bitwise_count(index[:, None] & values) & np.int64(1)) << bit
        return codes

    def neutral_sums(self, reports: int) -> NDArray[np.int64]:  # noqa: ARG002
        """See `FrequencyOracle.neutral_sums`: every row has as many signs + as -."""
        return np.zeros(self.counters, dtype=np.int64)

    def plausibility(self, sums: NDArray[np.int64]) -> PlausibilityTest:
        """See `FrequencyOracle.plausibility`: test which rows were drawn."""
        return check_draws(self.draws(sums))

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """See `FrequencyOracle.implausible`: test which rows were drawn."""
        if not len(rows):
            return np.zeros(len(counts), dtype=np.bool_)
        return uneven_draws(np.unpackbits(rows, axis=1, count=self.index_bits, bitorder="little"), counts)

    def report(self, indices: Sequence[int], sent: int) -> int:
        """Return the report of these rows and this hash as a number."""
        fields = [*indices, sent]
        places = itertools.accumulate(self._widths[:-1], initial=0)
        return sum(field << place for field, place in zip(fields, places, strict=True))

    def every_draw(self) -> Iterator[tuple[int, ...]]:
        """Yield all row indices that a report may draw, each with the same probability."""
        return itertools.product(range(self.rows), repeat=self.hash_bits)

    def stated(self) -> OutputDistribution:
        outputs = no_outputs(self.inputs, self.bits)
        drawn = Fraction(1, self.rows**self.hash_bits)
        hashes = range(2**self.hash_bits)
        for indices, sent in itertools.product(self.every_draw(), hashes):
            report = self.report(indices, sent)
            for value in range(self.size):
                outputs[value, report] = drawn * self.response.probability(hash_of(value, indices), sent)
            outputs[self.size, report] = drawn / len(hashes)
        return outputs

    def small(self) -> Self:
        """See `FrequencyOracle.small`: half as many values, or with two values, one hash bit less."""
        if self.size > 2:
            return replace(self, size=self.size // 2)
        return replace(self, hash_bits=self.hash_bits - 1)

    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:  # noqa: ARG002
        return replace(self, size=size, epsilon=epsilon, hash_bits=min(self.hash_bits, _SMALL_HASH_BITS))

    def draws(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how often each row was drawn, int64, shape (rows,)."""
        return sums[self.rows :]

    def _perturbing(self) -> CodeResponse:
        """Make the response to a hash from the parameters."""
        return DirectResponse(size=2**self.hash_bits, epsilon=self.epsilon)

    @property
    def index_bits(self) -> int:
        """Number of bits, the first of a report, that are row indices."""
        return self.hash_bits * self._index_bits

    @property
    def _index_bits(self) -> int:
        return max(1, (self.size - 1).bit_length())

    @property
    def _widths(self) -> list[int]:
        return [self._index_bits] * self.hash_bits + [self.hash_bits]


class HadamardSpec(EpsilonSpec):
    """The questions by a Hadamard response.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    hash_bits: t, bits of a hash; 1 by default.
    """

    oracle: Literal["hadamard", "s-hist"]
    hash_bits: int | None = None

    def value_randomizer(self, size: int, *, of: str) -> HadamardResponse:  # noqa: ARG002
        bits = 1 if self.hash_bits is None else self.hash_bits
        return HadamardResponse(size=size, epsilon=self.epsilon, hash_bits=bits)


def hash_of(value: int, indices: Sequence[int]) -> int:
    """Return the signs of a value in these rows as a hash, whose bit i is for row i."""
    return sum(((index & value).bit_count() & 1) << bit for bit, index in enumerate(indices))


def hashes_of(values: NDArray[np.int64], indices: Iterable[NDArray[np.uint32]]) -> NDArray[np.uint8]:
    """Return the hash of each value, as `hash_of` does, uint8, shape (n,).

    values: shape (n,); of larger ones, the lowest 32 bits are hashed.
    indices: for each bit of a hash, at most eight, the row index for each value, shape (n,).
    """
    narrow = values.astype(np.uint32)
    hashes = np.zeros(len(values), dtype=np.uint8)
    for bit, index in enumerate(indices):
        # A count of bits is uint8 already; every wider type would take several times as long.
        hashes |= (np.bitwise_count(index & narrow) & np.uint8(1)) << np.uint8(bit)
    return hashes


def _products(signed: Sequence[NDArray[np.int64]]) -> Iterator[NDArray[np.int64]]:
    """Yield the product of each non-empty subset of the rows, in the order of a Gray code, with one factor a step."""
    product = np.zeros_like(signed[0])
    for step in range(1, 2 ** len(signed)):
        product ^= signed[(step & -step).bit_length() - 1]
        yield product
