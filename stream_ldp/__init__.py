"""Live joint distributions and heavy hitters from locally private reports on Kafka."""
