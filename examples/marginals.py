"""Frequencies and means: each simulated user reports one attribute, drawn once, at the full epsilon."""

from random import choices, gauss

from stream_ldp import Reporter, SyncReporter, parse_collection
from stream_ldp.testing import kafka_in_memory

habits = parse_collection("""
collection: habits
mechanism: {kind: sampled, epsilon: 2}
attributes:
  - {name: diet, values: [meat, fish, plants]}
  - {name: sleep, range: [0, 24]}
window: {size: 60s}
""")
diets = choices(["meat", "fish", "plants"], weights=[6, 1, 3], k=20_000)
people = [{"diet": diet, "sleep": gauss(7.5, 1.0)} for diet in diets]

with kafka_in_memory(habits) as kafka:
    with SyncReporter(Reporter(habits, settings=kafka.settings, clock=kafka.clock)) as reporter:
        reporter.report_many(people, secrets=None)
    (answer,) = kafka.close_windows()

for cell in answer.cells():
    if cell.names:  # The points of a number's distribution have none.
        print(*cell.names, f"{cell.estimate:.3f} ± {cell.standard_error or 0:.3f}")
