"""This package runs a broker for a laptop and for the tests: Apache Kafka as a child process, without Docker.

`EmbeddedKafka` is the real thing: one KRaft node from its Maven Central jars. `EmbeddedMock` is librdkafka's
mock cluster, for the demo on a machine without Java. Both end with the process that started them, however
that process ends. They need a POSIX system.
"""

from stream_ldp.kafka.embedded.broker import EmbeddedBroker, EmbeddedBrokerError, MissingTool
from stream_ldp.kafka.embedded.mock import MOCK_NOTICE, EmbeddedMock
from stream_ldp.kafka.embedded.node import EmbeddedKafka

__all__ = ["MOCK_NOTICE", "EmbeddedBroker", "EmbeddedBrokerError", "EmbeddedKafka", "EmbeddedMock", "MissingTool"]
