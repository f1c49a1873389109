"""How strings are asked about, as a collection file writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from stream_ldp.collection import Part
from stream_ldp.strings.ngrams import RapporUnknown
from stream_ldp.strings.pem import Pem

if TYPE_CHECKING:
    from stream_ldp.strings.attribute import StringAttribute
    from stream_ldp.strings.method import StringMethod

#: Most strings that a ranking may have: a solver keeps twice as many beginnings.
MAX_K = 512

#: Every method that finds strings, by its name in a collection file.
METHODS: dict[str, type[StringMethod]] = {each.name: each for each in (Pem, RapporUnknown)}

VOCABULARY = {"StringRanking.method": tuple(METHODS)}


class StringSpec(Part):
    """The method of a collection of strings as its file writes it.

    kind: `strings`.
    epsilon: privacy loss, in nats, that a report may cost, for any two strings.
    method: finds the strings.
    k: the most strings of a ranking; it changes nothing for clients.
    """

    kind: Literal["strings"]
    epsilon: float = Field(gt=0, allow_inf_nan=False, description="nats that a report may cost")
    method: Literal["pem", "rappor-unknown"] = "pem"
    k: int = Field(default=32, ge=1, le=MAX_K)

    def made(self, attribute: StringAttribute) -> StringMethod:
        """Return the method for strings.

        Raises:
            ParameterError: the epsilon is beyond the resolution, or the method is not for such strings.
        """
        return METHODS[self.method].of(attribute, epsilon=self.epsilon)
