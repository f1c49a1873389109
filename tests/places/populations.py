"""Users whose places are of unequal frequency, and who choose a region and an epsilon."""

from collections.abc import Iterator

import numpy as np

from tests.populations import ROWS, WINDOW, Setting


def settings(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield 16 places without regions, and 24 in four regions, which half of the users state."""
    places = [f"p{number}" for number in range(16)]
    numbers = np.minimum(rng.geometric(0.2, ROWS) - 1, 15)
    for epsilon in ("0.5", "1", "4"):
        text = f"{{{WINDOW}, mechanism: {{kind: places, epsilon: [{epsilon}]}}, places: [{', '.join(places)}]}}"
        lines = [[places[number], "everywhere", epsilon] for number in numbers.tolist()]
        yield Setting(f"16 places, epsilon {epsilon}", text, ["place", "region", "epsilon"], lines)
    towns = [[f"r{region}p{number}" for number in range(6)] for region in range(4)]
    tree = ", ".join(f"r{region}: [{', '.join(each)}]" for region, each in enumerate(towns))
    regions, numbers = rng.choice(4, ROWS, p=(0.4, 0.3, 0.2, 0.1)), np.minimum(rng.geometric(0.4, ROWS) - 1, 5)
    for one, other in (("0.5", "2"), ("1", "4")):
        stated = np.where(rng.random(ROWS) < 0.5, regions, -1)
        chosen = rng.random(ROWS) < 0.5
        lines = [
            [towns[region][number], "everywhere" if told < 0 else f"r{told}", other if more else one]
            for region, number, told, more in zip(
                regions.tolist(), numbers.tolist(), stated.tolist(), chosen.tolist(), strict=True
            )
        ]
        text = f"{{{WINDOW}, mechanism: {{kind: places, epsilon: [{one}, {other}]}}, places: {{{tree}}}}}"
        yield Setting(
            f"24 places of 4 regions, epsilons {one} and {other}", text, ["place", "region", "epsilon"], lines
        )
