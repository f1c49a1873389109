"""The source of counts: a partition of the reports topic, in the region whose brokers have it."""

from typing import NamedTuple


class Source(NamedTuple):
    """A source partition.

    region: name of the region; empty where the deployment has brokers in one place alone.
    partition: the partition of the region's reports topic.
    """

    region: str
    partition: int

    def __str__(self) -> str:
        return f"source partition {self.partition}{f' of region {self.region}' if self.region else ''}"


def place_in_key(source: Source) -> int | tuple[str, int]:
    """Return how record keys name a source: by its partition alone where there are no regions."""
    return (source.region, source.partition) if source.region else source.partition


def source_of(place: int | tuple[str, int]) -> Source:
    """Return the source that a record key names."""
    return Source("", place) if isinstance(place, int) else Source(*place)
