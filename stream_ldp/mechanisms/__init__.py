"""What happens to a record on the user's side. The decoder reads its probabilities from the same objects."""

from stream_ldp.mechanisms.channel import BitChannel
from stream_ldp.mechanisms.entropy import RESOLUTION, Entropy, OSEntropy, SeededEntropy
from stream_ldp.mechanisms.mechanism import Mechanism
from stream_ldp.mechanisms.permanent import SECRET_BYTES, PermanentWords, new_secret
from stream_ldp.mechanisms.privacy_loss import NotCovered, PrivacyLoss, Values
from stream_ldp.mechanisms.rr_ldp import RRLDP

__all__ = [
    "RESOLUTION",
    "RRLDP",
    "SECRET_BYTES",
    "BitChannel",
    "Entropy",
    "Mechanism",
    "NotCovered",
    "OSEntropy",
    "PermanentWords",
    "PrivacyLoss",
    "SeededEntropy",
    "Values",
    "new_secret",
]
