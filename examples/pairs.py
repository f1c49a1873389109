"""Keys with numbers: simulated users hold minutes for each feature that they use, and each reports one of them."""

from random import choice, random

from stream_ldp import Reporter, SyncReporter, parse_collection
from stream_ldp.testing import kafka_in_memory

features = parse_collection("""
collection: features
mechanism: {kind: pairs, epsilon: 2, padding: 2}
keys: {names: [search, maps, photos], range: [0, 60]}
window: {size: 5s}
""")
people = [{"search": choice([20, 40])} | ({"maps": 12} if random() < 0.4 else {}) for _ in range(20_000)]

with kafka_in_memory(features) as kafka:
    with SyncReporter(Reporter(features, settings=kafka.settings, clock=kafka.clock)) as reporter:
        reporter.report_many(people, secrets=None)
    (answer,) = kafka.close_windows()

for cell in answer.cells():
    print(*cell.labels.values(), f"{cell.estimate:.3f} ± {cell.standard_error or 0:.3f}")
