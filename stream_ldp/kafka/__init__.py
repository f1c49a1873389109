"""This package holds all that the clients, the service and the commands do with a Kafka cluster."""
