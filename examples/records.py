"""Joint distributions: 20,000 simulated users report two attributes, perturbed by two-stage RR-LDP."""

from random import choices

from stream_ldp import Reporter, SyncReporter, parse_collection
from stream_ldp.testing import kafka_in_memory

survey = parse_collection("""
collection: survey
mechanism: {kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}
attributes:
  - {name: smokes, values: [no, yes]}
  - {name: health, values: [good, fair, poor]}
window: {size: 60s}
estimates: [{name: smoking, of: [smokes, health]}]
""")
kinds_of_people = [("no", "good"), ("no", "fair"), ("yes", "fair"), ("yes", "poor")]
people = choices(kinds_of_people, weights=[5, 2, 2, 1], k=20_000)

with kafka_in_memory(survey) as kafka:
    with SyncReporter(Reporter(survey, settings=kafka.settings, clock=kafka.clock)) as reporter:
        reporter.report_many([{"smokes": smokes, "health": health} for smokes, health in people], secrets=None)
    (answer,) = kafka.close_windows()

print(answer.marginal("health"))
print(answer.conditional("health", given="smokes"))
