"""The base of all messages and of their parts, whatever they are about."""

from collections.abc import Sized
from typing import Annotated, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

#: JSON has no word for the others.
Finite = Annotated[float, Field(allow_inf_nan=False)]


class MessagePart(BaseModel):
    """A message, or a part of one; parts can be given as objects that have their fields as attributes.

    is_state: whether only the solve of a later window reads it: it is no part of the text of the message that has it.
    """

    is_state: ClassVar[bool] = False

    # A later release may add fields; this one must still read its messages.
    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True, defer_build=True)

    def _require_as_many(self, what: str, *fields: Sized) -> Self:
        """Return it if all of these fields have as many entries."""
        lengths = sorted(set(map(len, fields)))
        if len(lengths) > 1:
            raise ValueError(f"{what} differ in number: {lengths}")
        return self


class SolverState(MessagePart):
    """A part that only the solve of a later window reads."""

    is_state = True


StateT = TypeVar("StateT", bound=SolverState)

#: The field of a message that has such a part, or None; see `stream_ldp.pipeline.solver_state`.
StateField = Annotated[StateT | None, SkipJsonSchema(), Field(exclude=True)]
