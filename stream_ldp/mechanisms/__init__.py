"""What happens to a record on the user's side. The decoder reads its probabilities from the same objects."""

from stream_ldp.mechanisms.channel import BitChannel
from stream_ldp.mechanisms.direct import DirectResponse
from stream_ldp.mechanisms.frequency_oracle import FrequencyOracle, frequencies, standard_errors
from stream_ldp.mechanisms.hadamard import HadamardResponse
from stream_ldp.mechanisms.mechanism import Mechanism
from stream_ldp.mechanisms.privacy_loss import NotCovered, PrivacyLoss, Values
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy, OSEntropy, SeededEntropy
from stream_ldp.mechanisms.randomness.permanent import SECRET_BYTES, PermanentWords, new_secret
from stream_ldp.mechanisms.randomness.uniform import uniform_integers
from stream_ldp.mechanisms.rr_ldp import RRLDP
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.mechanisms.unary import UnaryResponse

__all__ = [
    "RESOLUTION",
    "RRLDP",
    "SECRET_BYTES",
    "BitChannel",
    "DirectResponse",
    "Entropy",
    "FrequencyOracle",
    "HadamardResponse",
    "Mechanism",
    "NotCovered",
    "OSEntropy",
    "PermanentWords",
    "PrivacyLoss",
    "SeededEntropy",
    "SetHadamardResponse",
    "UnaryResponse",
    "Values",
    "frequencies",
    "new_secret",
    "standard_errors",
    "uniform_integers",
]
