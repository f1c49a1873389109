"""The regions of a deployment, as its settings name them."""

import re

from stream_ldp.collection import milliseconds

#: Longest name of a region, in characters: it is in the key of each of its partials.
MAX_REGION = 32
#: Most regions: each has time series of its own in the metrics of every collection.
MAX_REGIONS = 32


def checked_region(name: str) -> str:
    """Return the name of a region.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(rf"[a-zA-Z0-9][a-zA-Z0-9-]{{0,{MAX_REGION - 1}}}", name):
        raise ValueError(
            f"{name!r} is no name of a region: 1 to {MAX_REGION} letters, digits and hyphens, the first no hyphen"
        )
    return name


def waits_of(regions: str) -> dict[str, float | None]:
    """Return the seconds that windows wait for each region, by its name; None for as long as it takes.

    >>> waits_of("eu, us=5m")
    {'eu': None, 'us': 300.0}

    Raises:
        ValueError: it is no list of regions, or names one twice.
    """
    found: dict[str, float | None] = {}
    for entry in filter(None, map(str.strip, regions.split(","))):
        name, given, wait = map(str.strip, entry.partition("="))
        if checked_region(name) in found:
            raise ValueError(f"region {name!r} is named twice")
        found[name] = milliseconds(wait) / 1_000 if given else None
        if found[name] == 0:
            raise ValueError(
                f"region {name!r} is waited for 0 s: give it longer, or leave the time out to wait for it"
            )
    if len(found) > MAX_REGIONS:
        raise ValueError(f"{len(found)} regions, at most {MAX_REGIONS}")
    return found
