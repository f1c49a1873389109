"""Heavy hitters: 20,000 simulated users hold sets of films, and each reports to one phase of an epoch."""

import asyncio
from random import choices

from stream_ldp import Reporter, parse_collection
from stream_ldp.testing import kafka_in_memory

films = parse_collection("""
collection: films
mechanism: {kind: svim, epsilon: 4, k: 3, set_size: 2}
items: {names: [alien, brazil, casablanca, dune, eraserhead, fargo, gravity, heat]}
window: {size: 60s}
""")


async def main() -> None:
    people = choices([{"alien", "brazil"}, {"alien", "dune"}, {"fargo"}], weights=[5, 3, 2], k=20_000)
    with kafka_in_memory(films) as kafka:
        async with Reporter(films, settings=kafka.settings, clock=kafka.clock, spread=False) as reporter:
            await reporter.report_many(people, secrets=None)
        ranking = next(each for each in kafka.close_windows() if each.complete)
    for cell in ranking.cells():
        print(*cell.names, f"{cell.estimate:.3f} ± {cell.standard_error or 0:.3f}")


if __name__ == "__main__":
    asyncio.run(main())
