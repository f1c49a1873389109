"""Places: simulated users choose how exactly they say where they are, and how strongly that is hidden."""

from random import choice, choices

from stream_ldp import Reporter, SyncReporter, parse_collection
from stream_ldp.testing import kafka_in_memory

visits = parse_collection("""
collection: visits
mechanism: {kind: places, epsilon: [1, 2]}
places:
  north: {oslo: [centre, west], bergen: [bryggen, nordnes]}
  south: [rome, milan]
window: {size: 60s}
""")
places = choices(["centre", "bryggen", "rome"], weights=[3, 1, 6], k=20_000)
people = [{"place": place, "region": "everywhere", "epsilon": choice([1, 2])} for place in places]

with kafka_in_memory(visits) as kafka:
    with SyncReporter(Reporter(visits, settings=kafka.settings, clock=kafka.clock)) as reporter:
        reporter.report_many(people, secrets=None)
    (answer,) = kafka.close_windows()

for cell in answer.cells():
    print(*cell.names, f"{cell.estimate:,.0f} ± {cell.standard_error or 0:,.0f} users")
