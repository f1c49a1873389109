"""Mechanisms: how values are perturbed on the user's side, and the probabilities by which the reports are decoded.

The tables at the end are the only lists of mechanisms: a new one is a file of its own and a line here.
"""

from typing import Annotated, get_args

from pydantic import Field

from stream_ldp.mechanisms.bit_flip import BitFlipResponse, BitFlipSpec
from stream_ldp.mechanisms.bloom import BloomCost, BloomResponse, RapporSpec
from stream_ldp.mechanisms.channel import ChannelResponse, ChannelSpec
from stream_ldp.mechanisms.direct import DirectResponse
from stream_ldp.mechanisms.frequency_oracle import BucketOracle, CohortOracle, FrequencyOracle
from stream_ldp.mechanisms.hadamard import HadamardResponse, HadamardSpec
from stream_ldp.mechanisms.half_space import HalfSpaceResponse
from stream_ldp.mechanisms.hashed_k_rr import HashedKRR, HashedKRRSpec
from stream_ldp.mechanisms.k_rr import KRR, KRRSpec
from stream_ldp.mechanisms.k_subset import KSubset, KSubsetSpec
from stream_ldp.mechanisms.local_hashing import HashingSpec, RepeatedHashingSpec
from stream_ldp.mechanisms.loloha import LolohaResponse, SignCost
from stream_ldp.mechanisms.mechanism import Mechanism, MechanismSpec
from stream_ldp.mechanisms.optimised_unary import OptimisedUnaryResponse
from stream_ldp.mechanisms.oracle_spec import OracleSpec
from stream_ldp.mechanisms.piecewise import PiecewiseResponse
from stream_ldp.mechanisms.plausibility import PlausibilityTest
from stream_ldp.mechanisms.privacy_loss import NotCovered, PrivacyLoss, Values
from stream_ldp.mechanisms.randomizer import AnswerCost, Randomizer, ValueRandomizer
from stream_ldp.mechanisms.randomness.entropy import (
    RESOLUTION,
    Entropy,
    GivenWords,
    OSEntropy,
    SeededEntropy,
    random_order,
    random_words,
)
from stream_ldp.mechanisms.randomness.permanent import PermanentWords
from stream_ldp.mechanisms.randomness.user_secret import SECRET_BYTES, new_secret
from stream_ldp.mechanisms.repeated import DirectSpec, RepeatedCost, RepeatedResponse
from stream_ldp.mechanisms.rr_ldp import RRLDP, RRLDPSpec
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.mechanisms.subset import SubsetResponse
from stream_ldp.mechanisms.support import Support
from stream_ldp.mechanisms.unary import UnaryResponse

__all__ = [
    "KRR",
    "MECHANISMS",
    "ORACLES",
    "ORACLE_SPECS",
    "RANDOMIZERS",
    "RESOLUTION",
    "RRLDP",
    "SECRET_BYTES",
    "AnswerCost",
    "AnyMechanismSpec",
    "BitFlipResponse",
    "BloomResponse",
    "BucketOracle",
    "ChannelResponse",
    "CohortOracle",
    "DirectResponse",
    "Entropy",
    "FrequencyOracle",
    "GivenWords",
    "HadamardResponse",
    "HalfSpaceResponse",
    "HashedKRR",
    "HashedKRRSpec",
    "KRRSpec",
    "KSubset",
    "KSubsetSpec",
    "LolohaResponse",
    "Mechanism",
    "MechanismSpec",
    "NotCovered",
    "OSEntropy",
    "OptimisedUnaryResponse",
    "OracleSpec",
    "PermanentWords",
    "PiecewiseResponse",
    "PlausibilityTest",
    "PrivacyLoss",
    "RRLDPSpec",
    "Randomizer",
    "RepeatedCost",
    "RepeatedResponse",
    "ReportCost",
    "SeededEntropy",
    "SetHadamardResponse",
    "SignCost",
    "SubsetResponse",
    "Support",
    "UnaryResponse",
    "ValueRandomizer",
    "Values",
    "new_secret",
    "random_order",
    "random_words",
]

_SPECS = RRLDPSpec | KRRSpec | KSubsetSpec | HashedKRRSpec

#: Every mechanism for records, as a collection file, an audit and an evaluation write it.
AnyMechanismSpec = Annotated[_SPECS, Field(discriminator="kind")]

#: What a report costs, as a ledger keeps it: such parameters, or the chances of a permanent response. The first that
#: fits is taken: to try all and compare how well they fit would take twice as long for each account of a ledger.
ReportCost = Annotated[
    AnyMechanismSpec | AnswerCost | BloomCost | RepeatedCost | SignCost, Field(union_mode="left_to_right")
]

#: The same mechanisms, by kind.
MECHANISMS: dict[str, type[MechanismSpec]] = {
    kind: spec for spec in get_args(_SPECS) for kind in get_args(spec.model_fields["kind"].annotation)
}

#: Every mechanism for one value, or a set of values, out of many. Of two with equal variance, the first is chosen.
ORACLES: tuple[type[FrequencyOracle], ...] = (
    DirectResponse,
    HadamardResponse,
    SetHadamardResponse,
    UnaryResponse,
    OptimisedUnaryResponse,
    SubsetResponse,
)

#: The same, those that are made to be repeated, the randomizers of numbers, and the one that is any table.
RANDOMIZERS: tuple[type[Randomizer], ...] = (
    *ORACLES,
    LolohaResponse,
    RepeatedResponse,
    PiecewiseResponse,
    HalfSpaceResponse,
    ChannelResponse,
    BloomResponse,
    BitFlipResponse,
)

#: The keys of oracles that have some of their own beside `epsilon`.
ORACLE_SPECS: tuple[type[OracleSpec], ...] = (
    DirectSpec,
    HadamardSpec,
    HashingSpec,
    RepeatedHashingSpec,
    RapporSpec,
    ChannelSpec,
    BitFlipSpec,
)
