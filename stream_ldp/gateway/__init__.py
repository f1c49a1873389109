"""This package is the front door: it takes batches over HTTP from clients that do not speak Kafka."""
