"""The names of the consumer groups under one prefix, which keeps deployments on the same cluster apart."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from stream_ldp.collection.located import NAME_PATTERN

#: Hexadecimal digits by which the groups of different collections differ: two that had the same would share the
#: partitions of partials, and each would miss what the other reads. With 64 bits, no two of a million sets have.
DIGITS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupNames:
    """The names of the groups of workers, and of those without members that only keep commits.

    No two of them are the same, whatever the prefix and the collection: neither has a dot.
    """

    prefix: str

    @property
    def ingest(self) -> str:
        """Name the group of all workers that count, whatever they count."""
        # As with `merges`, no collection's name begins with an underscore.
        return f"{self.prefix}._ingest"

    def merged(self, collection: str) -> str:
        """Name the group whose commits are the places from which a collection's windows can be rebuilt."""
        return f"{self.prefix}.{collection}.merged"

    def released(self, collection: str) -> str:
        """Name the group whose commits say what of a collection has been released from quarantine."""
        return f"{self.prefix}.{collection}.released"

    def of(self, collection: str) -> tuple[str, ...]:
        """Name all groups that belong to one collection."""
        return self.merged(collection), self.released(collection)

    def merge(self, collections: Iterable[str]) -> str:
        """Name the group of the workers that merge these collections.

        Workers of the same collections share the merging; those of other collections read the partials on their own.
        """
        served = hashlib.sha256("\n".join(sorted(collections)).encode()).hexdigest()[:DIGITS]
        return f"{self.merges}.{served}"

    @property
    def merge_registered(self) -> str:
        """Name the group of the workers that merge all collections of the registry, whichever those are."""
        return f"{self.merges}.registered"

    @property
    def merges(self) -> str:
        """What the names of all groups of `merge` begin with, up to a dot."""
        # No collection's name begins with an underscore: with the rule for all of these groups, the workers of one
        # collection could otherwise commit for one that is called so.
        return f"{self.prefix}._merge"

    def is_of_a_collection(self, group: str) -> bool:
        """Decide whether a group belongs to one collection, whichever that is."""
        prefix, _, rest = group.partition(".")
        collection, _, _ = rest.partition(".")
        return (
            prefix == self.prefix
            and re.fullmatch(NAME_PATTERN, collection) is not None
            and group in self.of(collection)
        )
