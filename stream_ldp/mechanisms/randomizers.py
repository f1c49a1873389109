"""The mechanisms for one value, or a set of values, and the keys by which a collection file writes them."""

from stream_ldp.mechanisms.bit_flip import BitFlipResponse, BitFlipSpec
from stream_ldp.mechanisms.bloom import BloomResponse, RapporSpec
from stream_ldp.mechanisms.channel import ChannelResponse, ChannelSpec
from stream_ldp.mechanisms.direct import DirectResponse
from stream_ldp.mechanisms.frequency_oracle import FrequencyOracle
from stream_ldp.mechanisms.hadamard import HadamardResponse, HadamardSpec
from stream_ldp.mechanisms.half_space import HalfSpaceResponse
from stream_ldp.mechanisms.local_hashing import HashingSpec, RepeatedHashingSpec
from stream_ldp.mechanisms.loloha import LolohaResponse
from stream_ldp.mechanisms.optimised_unary import OptimisedUnaryResponse
from stream_ldp.mechanisms.oracle_spec import OracleSpec
from stream_ldp.mechanisms.piecewise import PiecewiseResponse
from stream_ldp.mechanisms.randomizer import Randomizer
from stream_ldp.mechanisms.repeated import DirectSpec, RepeatedResponse
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.mechanisms.subset import SubsetResponse
from stream_ldp.mechanisms.unary import UnaryResponse

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
