"""What an application imports: `Reporter` sends perturbed records, `Subscriber` receives estimates."""

from stream_ldp.client.errors import DeliveryError, MissingTopic, NotAnEstimate
from stream_ldp.client.reporter import Reporter
from stream_ldp.client.secret import SecretError, load_or_create_secret
from stream_ldp.client.subscriber import Subscriber

__all__ = [
    "DeliveryError",
    "MissingTopic",
    "NotAnEstimate",
    "Reporter",
    "SecretError",
    "Subscriber",
    "load_or_create_secret",
]
