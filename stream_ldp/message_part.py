"""The base of all messages and of their parts, whatever they are about."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

#: JSON has no word for the others.
Finite = Annotated[float, Field(allow_inf_nan=False)]


class MessagePart(BaseModel):
    """A message, or a part of one; parts can be given as objects that have their fields as attributes."""

    # A later release may add fields; this one must still read its messages.
    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True, defer_build=True)
