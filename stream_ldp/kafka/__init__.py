"""Everything that is said to a Kafka cluster or asked of one, whoever says it."""
