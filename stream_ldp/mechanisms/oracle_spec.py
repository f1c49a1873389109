"""How one value out of many is perturbed, as a collection file writes it: an oracle and its keys.

An oracle without keys of its own needs no spec. Of others, the spec stands beside the oracle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from stream_ldp.collection import Part
from stream_ldp.collection.located import Misplaced

if TYPE_CHECKING:
    from stream_ldp.mechanisms.frequency_oracle import BucketOracle, CohortOracle
    from stream_ldp.mechanisms.randomizer import ValueRandomizer

#: Most cohorts of an attribute: each has sums of its own.
MAX_COHORTS = 2**12

Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=False, description="nats that an answer may cost")]
Cohorts = Annotated[int | None, Field(ge=1, le=MAX_COHORTS)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Hashing:
    """How values are hashed before they are perturbed, by another hash in each cohort.

    oracle: perturbs the bucket of a value, or its buckets by several hashes.
    hashes: number of hashes of a value.
    cohorts: number of cohorts of an attribute; None where the file does not say.
    """

    oracle: BucketOracle
    hashes: int = 1
    cohorts: int | None = None


class OracleSpec(Part, ABC):
    """The keys of an oracle in a collection file, and what they make."""

    @property
    @abstractmethod
    def given_epsilon(self) -> float:
        """Nats that an answer may cost.

        Raises:
            ParameterError: the file does not give them, and they depend on the attribute.
        """

    def value_randomizer(self, size: int, *, of: str) -> ValueRandomizer | None:  # noqa: ARG002
        """Return what perturbs one of `size` values of a list; None where these are hashed, as any text is.

        of: the attribute, for messages.

        Raises:
            ParameterError: the oracle is not for so many values, or the epsilon is beyond the resolution.
        """
        return None

    @property
    def hashing(self) -> Hashing | None:
        """How values are hashed; None where it is as for any oracle.

        Raises:
            ParameterError: the epsilon is beyond the resolution.
        """
        return None

    def flipped(self, size: int) -> CohortOracle | None:  # noqa: ARG002
        """Return what answers about the values of a cohort, of `size` in all; None where users report their own.

        Raises:
            ParameterError: the epsilon is beyond the resolution.
        """
        return None

    @property
    def rounds_permanently(self) -> bool:
        """Whether a number is rounded to an end of its range by a threshold that each user keeps."""
        return False

    def require_askable(self, *, numbers: bool, texts: bool) -> None:
        """Check that all attributes can be asked about.

        numbers, texts: whether there are ranges of numbers, and texts that are in no list, beside values.

        Raises:
            ParameterError: they cannot.
        """


class EpsilonSpec(OracleSpec):
    """The keys of an oracle of a given epsilon.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    """

    epsilon: Epsilon

    @property
    def given_epsilon(self) -> float:
        return self.epsilon


def require_less_per_report(per_report: float, *, epsilon: float) -> None:
    """Require that one report costs less than all of a lifetime, in nats.

    Raises:
        Misplaced: it costs as much, or more.
    """
    if per_report >= epsilon:
        raise Misplaced(
            f"one report may cost less than all: {per_report} is not below epsilon, {epsilon}", "per_report"
        )
