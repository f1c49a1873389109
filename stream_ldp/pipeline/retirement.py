"""The end of a collection: the places on its log from which on no report counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Retirement:
    """Where the log of a retired collection ends for its workers.

    They are places, not a time: each worker that counts the log again, after whatever crash, decides alike.

    topic_id: id of the reports topic then. Of another one of its name, no report counts.
    ends: offset, in each of its partitions, of the first record that does not count. In one that has been added
        since, no record counts.
    """

    topic_id: str
    ends: tuple[int, ...]

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Read what `fields` writes; raises ValueError for anything else."""
        match fields:
            case {"topic": str(topic), "ends": [*ends]} if all(type(end) is int and end >= 0 for end in ends):
                return cls(topic_id=topic, ends=tuple(ends))
        raise ValueError("it is retired nowhere")

    @property
    def fields(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"topic": self.topic_id, "ends": list(self.ends)}

    def end(self, partition: int, *, topic_id: str) -> int:
        """Return the offset of the first record of a partition that does not count."""
        return self.ends[partition] if topic_id == self.topic_id and partition < len(self.ends) else 0
