"""The mechanisms for records, as a collection file, an audit and an evaluation write them."""

from typing import Annotated, get_args

from pydantic import Field

from stream_ldp.mechanisms.hashed_k_rr import HashedKRRSpec
from stream_ldp.mechanisms.k_rr import KRRSpec
from stream_ldp.mechanisms.k_subset import KSubsetSpec
from stream_ldp.mechanisms.mechanism import MechanismSpec
from stream_ldp.mechanisms.rr_ldp import RRLDPSpec

_SPECS = RRLDPSpec | KRRSpec | KSubsetSpec | HashedKRRSpec

#: The parameters of any of them.
AnyMechanismSpec = Annotated[_SPECS, Field(discriminator="kind")]

#: The same mechanisms, by kind.
MECHANISMS: dict[str, type[MechanismSpec]] = {
    kind: spec for spec in get_args(_SPECS) for kind in get_args(spec.model_fields["kind"].annotation)
}
