"""The only rooms that know Kafka, Faust, asyncio, the clock and Prometheus."""
