"""LOLOHA: one sign of a value, perturbed once, permanently, and again for each report (Arcolezi et al., 2023)."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.direct import DirectResponse
from stream_ldp.mechanisms.hadamard import HadamardResponse
from stream_ldp.mechanisms.odds import loss_of, would_do
from stream_ldp.mechanisms.packing import unpack
from stream_ldp.mechanisms.privacy_loss import PRECISION, likelihood_ratio
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy
from stream_ldp.mechanisms.repeated import ShownThroughNoise, repeated_loss

#: Returns a source of decisions that its argument, and the user's secret, determine permanently.
Permanent = Callable[[bytes], Entropy]

# What permanent decisions are for; see `LolohaResponse.permanent`.
_ROW, _SET, _SIGN = b"row", b"set", b"sign"


def purpose_of_sign(sign: int) -> bytes:
    """Return what the words are for that decide the permanent response to a sign, 0 or 1."""
    return _SIGN + bytes([sign])


class SignCost(ShownThroughNoise):
    """The privacy loss of reports that show a permanent sign through fresh noise.

    permanent, fresh: chances that the permanent and the fresh response keep the sign.
    """

    kind: Literal["loloha"] = "loloha"
    permanent: int = Field(gt=RESOLUTION // 2, lt=RESOLUTION)
    fresh: int = Field(gt=RESOLUTION // 2, lt=RESOLUTION)

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one sign, in nats; see `repeated_loss`."""
        return repeated_loss(self.permanent, self.fresh, reports=reports)


@dataclass(frozen=True, kw_only=True, slots=True)
class SignResponse:
    """A response to a sign, 0 or 1: a permanent one, and a fresh response to that.

    epsilon: of one report, in nats. The argument is an upper bound; the field is the realised loss.
    lifetime: the same of all reports that show one permanent sign.
    permanent, fresh: the two responses.

    Raises:
        ParameterError: one report costs no less than all, or no multiples of 2^-32 are chances for the epsilons.
    """

    epsilon: float
    lifetime: float
    permanent: DirectResponse = field(init=False, repr=False)
    fresh: DirectResponse = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < self.lifetime < math.inf:
            raise ParameterError(
                f"one report has to cost less than the lifetime, got epsilon={self.epsilon} and "
                f"lifetime={self.lifetime}"
            )
        permanent = DirectResponse(size=2, epsilon=self.lifetime)
        fresh = DirectResponse(size=2, epsilon=_fresh_epsilon(permanent.kept, epsilon=self.epsilon))
        object.__setattr__(self, "permanent", permanent)
        object.__setattr__(self, "fresh", fresh)
        object.__setattr__(self, "epsilon", self.loss(reports=1))
        object.__setattr__(self, "lifetime", permanent.epsilon)

    @property
    def chances(self) -> list[int]:
        """The chances that the permanent and the fresh response keep the sign, in units of 2^-32."""
        return [self.permanent.kept, self.fresh.kept]

    @property
    def support(self) -> tuple[float, float]:
        """The probabilities that a sign is sent as it is, and as the other one."""
        return float(self.probability(0, 0)), float(self.probability(0, 1))

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports of one permanent sign; see `repeated_loss`."""
        return repeated_loss(*self.chances, reports=reports)

    def respond(self, values: NDArray[np.int64], *, entropy: Entropy) -> NDArray[np.int64]:
        """Perturb signs twice, both times afresh, int64, shape (n,)."""
        return self.fresh.respond(self.permanent.respond(values, entropy=entropy), entropy=entropy)

    def probability(self, value: int, named: int) -> Fraction:
        """Return P(`named` is sent | `value`)."""
        return sum(
            (self.permanent.probability(value, kept) * self.fresh.probability(kept, named) for kept in (0, 1)),
            start=Fraction(0),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class LolohaResponse(HadamardResponse):
    """An oracle that sends a random row of the Hadamard matrix, and a value's sign in it, perturbed twice.

    It is LOLOHA with two hashes (BiLOLOHA; Arcolezi, Pinzon, Palamidessi and Gambs, 2023), the hash being the sign in
    a row. A user keeps the row and the first perturbation of each of the two signs permanently, and perturbs the
    latter afresh for each report. So repeated reports of one sign lose no more than `lifetime`, and a value that
    changes has at most two signs to lose. Among many users each report is, by itself, a Hadamard response of one sign
    at `epsilon`, and is counted as such.

    size: number of values.
    epsilon: of one report, in nats. The argument is an upper bound; the field is the realised loss.
    lifetime: upper bound of the loss of all reports of a value that does not change, in nats.
    response: perturbs the sign, twice; it has the realised losses.

    Raises:
        ParameterError: size is out of its range, or the epsilons are not as `SignResponse` needs them.
    """

    kind: ClassVar[str] = "loloha"
    example: ClassVar[str] = "size=8,epsilon=1,lifetime=2"
    title: ClassVar[str] = "LOLOHA, a sign"

    lifetime: float
    hash_bits: int = field(init=False, default=1)
    response: SignResponse = field(init=False, repr=False)

    @classmethod
    def for_value(cls, size: int, *, epsilon: float) -> Iterable[Self]:  # noqa: ARG003
        """See `FrequencyOracle.for_value`: none, since a user who reports once is better served by others."""
        return []

    def small(self) -> Self:
        """See `FrequencyOracle.small`: half as many values."""
        return type(self)(size=max(2, self.size // 2), epsilon=self.epsilon, lifetime=self.lifetime)

    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:  # noqa: ARG002
        return type(self)(size=size, epsilon=epsilon, lifetime=self.lifetime)

    @property
    def cost(self) -> SignCost:
        permanent, fresh = self.response.chances
        return SignCost(permanent=permanent, fresh=fresh)

    def held_sign(self, values: NDArray[np.int64], *, padding: int, words: Permanent) -> int:
        """Return the sign of what one user's set reports permanently: of the slot drawn, in the user's row."""
        return int(self._drawn_permanently(values, padding=padding, words=words)[1][0])

    def permanent(self, values: NDArray[np.int64], *, padding: int, words: Permanent) -> NDArray[np.uint8]:
        """Make the permanent response of one user to a set: a packed row, uint8, shape (1, ceil(bits / 8)).

        The row is drawn from the words of "row"; a slot of the set, as `sampled` draws it, and the sign of a dummy
        from those of "set" and the values, ascending, u32 each; the response to the sign from those of "sign" and
        the sign, u8.

        values: of the user's set, distinct, int64, shape (held,).
        padding: l, number of slots that the set is padded to.
        words: the user's.
        """
        indices, signs = self._drawn_permanently(values, padding=padding, words=words)
        source = words(purpose_of_sign(int(signs[0])))
        return self.packed(indices, self.response.permanent.respond(signs, entropy=source))

    def refreshed(self, rows: NDArray[np.uint8], *, entropy: Entropy) -> NDArray[np.uint8]:
        """Perturb the signs of permanent responses afresh, packed rows, of the same shape."""
        *indices, signs = unpack(rows, self._widths)
        return self.packed(np.array(indices), self.response.fresh.respond(signs, entropy=entropy))

    def _drawn_permanently(
        self, values: NDArray[np.int64], *, padding: int, words: Permanent
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the index of the user's row, shape (1, 1), and the sign that the user has, shape (1,)."""
        values = np.sort(values)
        of_set = words(_SET + values.astype("<u4").tobytes())
        drawn = self.sampled(np.array([0, len(values)]), values, padding=padding, entropy=of_set)
        indices = self.drawn(1, entropy=words(_ROW))
        return indices, self.hashed(drawn, indices, entropy=of_set)

    def _perturbing(self) -> SignResponse:
        return SignResponse(epsilon=self.epsilon, lifetime=self.lifetime)


def _fresh_epsilon(permanent: int, *, epsilon: float) -> float:
    """Return the largest epsilon of a fresh response through which one report loses at most another, in nats.

    With R = e^epsilon and E the odds of the permanent response, its odds are (R E - 1) / (E - R).

    permanent: chance of the permanent response to keep the sign, in units of 2^-32.

    Raises:
        ParameterError: no multiple of 2^-32 is such a chance.
    """
    with localcontext(PRECISION):
        ratio, odds = likelihood_ratio(epsilon), Decimal(permanent) / (RESOLUTION - permanent)
        if ratio >= odds:
            raise ParameterError(f"epsilon={epsilon} is so near lifetime that their difference is below 2^-32")
        odds = (ratio * odds - 1) / (odds - ratio)
        kept = int((RESOLUTION * odds / (odds + 1)).to_integral_value(ROUND_FLOOR))
    if not RESOLUTION // 2 < kept < RESOLUTION:
        lowest, highest = (
            repeated_loss(permanent, each, reports=1) for each in (RESOLUTION // 2 + 1, RESOLUTION - 1)
        )
        raise ParameterError(f"epsilon={epsilon} is beyond the resolution of 2^-32: {would_do(lowest, highest)}")
    return loss_of(kept, outside=1)
