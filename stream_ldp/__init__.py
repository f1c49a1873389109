"""Live joint distributions from locally private reports on Kafka."""
