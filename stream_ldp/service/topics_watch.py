"""Which topics of a collection have been deleted under its workers, and what to do about it."""

import logging
from collections.abc import Iterable, Mapping

from stream_ldp.pipeline.topic_identity import TopicIdentity

log = logging.getLogger(__name__)


class TopicsWatch:
    """The topics of a collection, and what has become of them.

    names: their names.
    problems: what is wrong with them, and the cures, as `look` has found it; empty if nothing is.
    """

    def __init__(self, *, follows: Iterable[str], others: Iterable[str], flags: str) -> None:
        """Watch some topics.

        follows: names of topics that a worker goes on with by itself if they are deleted and made again.
        others: names of topics that it does not find its places in again.
        flags: those by which a command finds the brokers and topics; see `Settings.flags`.
        """
        self._others = tuple(others)
        self.names = [*follows, *self._others]
        self.problems: list[str] = []
        self._flags = flags
        self._first: dict[str, str] = {}

    def look(self, found: Mapping[str, TopicIdentity]) -> None:
        """Compare the topics that there are with those that there were, and log what has changed."""
        for name, topic in found.items():
            self._first.setdefault(name, topic.id)
        problems = [
            f"topic {name} has been deleted: create it, and go on without what it held: "
            f"stream-ldp topics create COLLECTION.yaml {self._flags}"
            for name in self.names
            if name not in found
        ]
        problems += [
            f"topic {name} has been deleted and made again: restart the workers"
            for name in self._others
            if name in found and found[name].id != self._first[name]
        ]
        for problem in problems:
            if problem not in self.problems:
                log.error("%s", problem)
        if self.problems and not problems:
            log.warning("all topics are there again")
        self.problems = problems
