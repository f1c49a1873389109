"""The heavy-hitter methods and their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from pydantic import Field

from stream_ldp.collection import Part
from stream_ldp.collection.located import parse_values
from stream_ldp.sets.methods.gfim import GfimSpec
from stream_ldp.sets.methods.ldpminer import LdpMinerSpec
from stream_ldp.sets.methods.loloha import LolohaSpec
from stream_ldp.sets.methods.svim import SvimSpec

__all__ = ["METHODS", "AnyMethodSpec", "parse_spec"]

AnyMethodSpec = GfimSpec | LdpMinerSpec | SvimSpec | LolohaSpec

#: The class of the options of each kind of method.
METHODS: dict[str, type[AnyMethodSpec]] = {
    kind: spec for spec in get_args(AnyMethodSpec) for kind in get_args(spec.model_fields["kind"].annotation)
}


class _Document(Part):
    """A part of a collection file that holds a method alone."""

    mechanism: AnyMethodSpec = Field(discriminator="kind")


def parse_spec(options: Mapping[str, object]) -> AnyMethodSpec:
    """Parse the kind and the options of a method, given by name.

    Raises:
        ParameterError: an option is out of range, missing, or not one of this method; the message says what is right.
    """
    return parse_values(_Document, {"mechanism": options}).mechanism
