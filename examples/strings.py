"""Strings that nobody lists: the most frequent words of simulated users are found without a dictionary."""

from random import choices

from stream_ldp import Reporter, SyncReporter, parse_collection
from stream_ldp.testing import kafka_in_memory

words = parse_collection("""
collection: words
mechanism: {kind: strings, epsilon: 4, k: 4}
string: {name: word, length: 4, alphabet: abcdefghijklmnopqrstuvwxyz}
window: {size: 60s}
""")
said = choices(["yeet", "rizz", "oof", "meh", "yo"], weights=[8, 6, 3, 2, 1], k=20_000)

with kafka_in_memory(words) as kafka:
    with SyncReporter(Reporter(words, settings=kafka.settings, clock=kafka.clock)) as reporter:
        reporter.report_many([{"word": word} for word in said], secrets=None)
    (answer,) = kafka.close_windows()

for cell in answer.cells():
    print(*cell.names, f"{cell.estimate:.3f} ± {cell.standard_error or 0:.3f}")
