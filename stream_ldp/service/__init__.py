"""The worker: reports in, answers out, and whether it is well. The only room that runs Faust and feeds Prometheus."""
