"""Itemsets: each of 50,000 simulated users holds groceries, and reports to one phase of an epoch."""

import asyncio
from random import choices

from stream_ldp import Reporter, parse_collection
from stream_ldp.testing import kafka_in_memory

baskets = parse_collection("""
collection: baskets
mechanism: {kind: svim, epsilon: 4, k: 5, set_size: 3}
itemsets: {k: 2, sizes: [2]}
items: {names: [beer, bread, butter, chips, milk, tea]}
window: {size: 60s}
""")


async def main() -> None:
    held = [{"bread", "butter"}, {"beer", "chips"}, {"milk", "tea"}]
    people = choices(held, weights=[5, 3, 2], k=50_000)
    with kafka_in_memory(baskets) as kafka:
        async with Reporter(baskets, settings=kafka.settings, clock=kafka.clock, spread=False) as reporter:
            await reporter.report_many(people, secrets=None)
        answers = kafka.close_windows()
    for answer in filter(lambda answer: answer.complete, answers):
        for cell in answer.cells():
            print(*cell.names, f"{cell.estimate:.3f} ± {cell.standard_error or 0:.3f}")


if __name__ == "__main__":
    asyncio.run(main())
