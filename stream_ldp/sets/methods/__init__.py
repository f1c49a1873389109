"""The heavy-hitter methods and their options."""

from typing import get_args

from stream_ldp.sets.methods.gfim import GfimSpec
from stream_ldp.sets.methods.ldpminer import LdpMinerSpec
from stream_ldp.sets.methods.loloha import LolohaSpec
from stream_ldp.sets.methods.svim import SvimSpec

__all__ = ["METHODS", "VOCABULARY", "AnyMethodSpec"]

AnyMethodSpec = GfimSpec | LdpMinerSpec | SvimSpec | LolohaSpec

#: The class of the options of each kind of method.
METHODS: dict[str, type[AnyMethodSpec]] = {
    kind: spec for spec in get_args(AnyMethodSpec) for kind in get_args(spec.model_fields["kind"].annotation)
}

#: The words of the field of answers that names the method.
VOCABULARY = {"Ranking.method": tuple(METHODS)}
