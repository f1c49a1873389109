"""This package is the worker: it counts reports, publishes answers, and alone uses Faust and Prometheus."""
