"""Views: each simulated user reports one pair of attributes, and the whole record is hidden."""

from random import choices

from stream_ldp import Reporter, SyncReporter, parse_collection
from stream_ldp.testing import kafka_in_memory

habits = parse_collection("""
collection: habits
mechanism: {kind: sampled, epsilon: 4, ask: pairs}
attributes:
  - {name: smokes, values: [no, yes]}
  - {name: sport, values: [never, weekly, daily]}
  - {name: health, values: [good, poor]}
estimates: [{name: smoking, of: [smokes, health]}]
window: {size: 60s}
""")
kinds_of_people = [("no", "daily", "good"), ("no", "weekly", "good"), ("yes", "never", "poor")]
people = choices(kinds_of_people, weights=[4, 4, 2], k=20_000)
records = [dict(zip(("smokes", "sport", "health"), person, strict=True)) for person in people]

with kafka_in_memory(habits) as kafka:
    with SyncReporter(Reporter(habits, settings=kafka.settings, clock=kafka.clock)) as reporter:
        reporter.report_many(records, secrets=None)
    (answer,) = kafka.close_windows()

print(answer.conditional("health", given="smokes"))
