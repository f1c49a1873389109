"""RR-LDP: one-hot code, permanent then instantaneous randomised response (Chu, Long and Liu, 2022, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.channel import BitChannel
from stream_ldp.mechanisms.privacy_loss import NotCovered, PrivacyLoss, Values
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy, threshold
from stream_ldp.mechanisms.rr_loss import rr_epsilon, rr_parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RRLDP"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RRLDP:
    """The mechanism's parameters; what it does to a record is asked of it.

    sizes: number of values of each attribute, each at least 2.
    f: chance that the permanent response (PRR, eq. 6) replaces a bit by a fair coin, in (0, 1).
    p, q: chance that the instantaneous response (IRR, eq. 7) sends 1 for a permanent bit of 0 and of 1, with
        0 <= p < q <= 1; both None sends the permanent response itself, as LoPub does (Ren et al., 2018).

    Probabilities are realised to 2^-32: f / 2, p and q are rounded to whole multiples of it, and `channel` and
    `epsilon` speak of the rounded ones.

    Raises:
        ParameterError: a parameter is out of its range, or one of p, q is given without the other.
    """

    sizes: tuple[int, ...]
    f: float
    p: float | None = None
    q: float | None = None

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 2:
            raise ParameterError(f"every attribute needs at least 2 values, got sizes {self.sizes}")
        if not 0.0 < self.f < 1.0 or not 0 < self.flip_threshold < RESOLUTION // 2:
            raise ParameterError(
                f"f must be between 0 (no privacy) and 1 (no information), both excluded, got {self.f}"
            )
        if (self.p is None) != (self.q is None):
            raise ParameterError("p and q belong together: give both, or neither for the permanent response alone")
        if self.p is not None and self.q is not None:
            if not 0.0 <= self.p <= 1.0 or not 0.0 <= self.q <= 1.0:
                raise ParameterError(f"p and q are probabilities, got p={self.p}, q={self.q}")
            if threshold(self.p) >= threshold(self.q):
                raise ParameterError(
                    f"p (chance to send 1 for a 0) must be below q (for a 1), got p={self.p}, q={self.q}"
                )

    @classmethod
    def with_epsilon(
        cls,
        *,
        sizes: tuple[int, ...],
        for_ever: float,
        per_report: float | None = None,
        neighbours: int | None = None,
    ) -> Self:
        """The mechanism that spends at most these epsilons on a record that does not change; see `rr_parameters`.

        for_ever, per_report: epsilon of all reports of one record and of one report, in nats. Without `per_report`
            there is no IRR, and the first report costs as much as all.
        neighbours: number of attributes in which two records may differ; None: all of them, any two records.

        Raises:
            ParameterError: no parameters spend that, or a size is out of its range.
        """
        f, p, q = rr_parameters(for_ever=for_ever, per_report=per_report, neighbours=_neighbours(neighbours, sizes))
        return cls(sizes=sizes, f=f, p=p, q=q)

    @property
    def bits(self) -> int:
        """Bits of a report: the sum of the sizes."""
        return sum(self.sizes)

    @property
    def flip_threshold(self) -> int:
        """P(the PRR inverts a bit) = f / 2, in units of 2^-32."""
        return threshold(self.f / 2)

    @property
    def flip(self) -> float:
        """The realised f / 2: P(PRR bit 1 | true 0) = P(PRR bit 0 | true 1)."""
        return self.flip_threshold / RESOLUTION

    @property
    def thresholds(self) -> tuple[int, int, int]:
        """(f / 2, p, q) in units of 2^-32: all that the parameters mean. Without an IRR, p is 0 and q is 1."""
        if self.p is None or self.q is None:
            return self.flip_threshold, 0, RESOLUTION
        return self.flip_threshold, threshold(self.p), threshold(self.q)

    @property
    def response(self) -> tuple[float, float]:
        """The realised (p, q) of the IRR; (0, 1) where there is none."""
        _, p, q = self.thresholds
        return p / RESOLUTION, q / RESOLUTION

    def channel(self) -> BitChannel:
        """The effective channel of a bit, eqs. 8 and 9."""
        p, q = self.response
        return BitChannel(
            one=(1 - self.flip) * q + self.flip * p,
            zero=self.flip * q + (1 - self.flip) * p,
        )

    def epsilon(self, *, neighbours: int | None = None, reports: float = 1) -> float:
        """Privacy loss in nats of `reports` reports (math.inf: for ever) of one record that does not change.

        neighbours: number of attributes in which two records may differ; None: all of them, any two records.

        Raises:
            ValueError: neighbours or reports is out of range.
        """
        return self.privacy_loss(neighbours=neighbours, reports=reports).epsilon

    def privacy_loss(
        self, *, neighbours: int | None = None, reports: float = 1, values: Values = Values.CONSTANT
    ) -> PrivacyLoss:
        """The privacy loss of `epsilon` with what it is a promise of.

        values: what is assumed of the user's record over these reports. Where it may change, one report is all
            that a formula covers: each new value draws a new permanent response, and the change itself shows.

        Raises:
            ValueError: neighbours or reports is out of range.
            NotCovered: more than one report of a record that may change.
        """
        neighbours = _neighbours(neighbours, self.sizes)
        if values is Values.CHANGING and reports != 1:
            raise NotCovered(
                "the formula for several reports holds only while the record does not change; when it may, ask for "
                "reports=1, or for a few reports stream_ldp.Enumeration.changing_epsilon"
            )
        return PrivacyLoss(
            epsilon=rr_epsilon(flip=self.flip, response=self.response, neighbours=neighbours, reports=reports),
            neighbours=neighbours,
            attributes=len(self.sizes),
            reports=reports,
            values=values,
        )

    def permanent(self, values: NDArray[np.integer], words: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """PRR bits, shape (n, bits), of `values`, shape (n, attributes), from words of shape (n, bits).

        Raises:
            ValueError: a value is not one of its attribute's.
        """
        # A true bit is kept unless its word falls below the flip threshold.
        return self._one_hot(values) ^ (words < np.uint32(self.flip_threshold))

    def instantaneous(self, bits: NDArray[np.bool_], entropy: Entropy) -> NDArray[np.bool_]:
        """Fresh IRR bits of PRR bits, shape (n, bits); the PRR bits themselves where there is no IRR."""
        if self.p is None or self.q is None:
            return bits
        _, p, q = self.thresholds
        # 64 bits, since a threshold of 2^32 (certainty) does not fit a word.
        words = entropy.words(bits.size).reshape(bits.shape).astype(np.uint64)
        return words < np.where(bits, np.uint64(q), np.uint64(p))

    def perturb(
        self,
        values: NDArray[np.integer],
        *,
        entropy: Entropy,
        permanent_words: NDArray[np.uint32] | None = None,
    ) -> NDArray[np.uint8]:
        """Reports of many users: packed rows, uint8, shape (n, ceil(bits / 8)).

        values: value indices, shape (n, attributes).
        permanent_words: each user's own PRR words, shape (n, bits), from `PermanentWords`. Without them the PRR
            is drawn fresh from `entropy`, which is right only for users who report once.

        Raises:
            ValueError: a value is not one of its attribute's, or the shapes do not agree.
        """
        values = np.asarray(values)
        if permanent_words is None:
            permanent_words = entropy.words(len(values) * self.bits).reshape(len(values), self.bits)
        bits = self.instantaneous(self.permanent(values, permanent_words), entropy)
        return np.packbits(bits, axis=1, bitorder="little")

    def _one_hot(self, values: NDArray[np.integer]) -> NDArray[np.bool_]:
        sizes = np.array(self.sizes)
        if values.ndim != 2 or values.shape[1] != len(sizes):
            raise ValueError(f"values must have shape (n, {len(sizes)}), got {values.shape}")
        if np.any(values < 0) or np.any(values >= sizes):
            column = int(np.flatnonzero(np.any((values < 0) | (values >= sizes), axis=0))[0])
            # The value itself stays out of the message: it is what the mechanism protects.
            raise ValueError(f"attribute {column} has a value outside 0..{sizes[column] - 1}")
        hot = np.zeros((len(values), self.bits), dtype=np.bool_)
        offsets = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        hot[np.arange(len(values))[:, None], values + offsets] = True
        return hot


def _neighbours(neighbours: int | None, sizes: tuple[int, ...]) -> int:
    neighbours = len(sizes) if neighbours is None else neighbours
    if not 1 <= neighbours <= len(sizes):
        raise ValueError(f"two records differ in 1 to {len(sizes)} attributes, got neighbours={neighbours}")
    return neighbours
