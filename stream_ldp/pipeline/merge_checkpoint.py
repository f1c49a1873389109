"""The places on the logs from which a merge can be rebuilt: no earlier record is needed for what is still open."""

from __future__ import annotations

import hashlib
import json
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from stream_ldp.pipeline.windows import FIRST_MS, LAST_MS

if TYPE_CHECKING:
    from stream_ldp.collection import Collection

#: Bytes of the digest of a collection's file, which two versions of one file have in common by chance alone.
_DIGEST_BYTES = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeCheckpoint:
    """The state of a merge that a commit keeps. An older one is as right; from it more is read.

    answers: offset, in the answers topic, of the first final answer that the next ones depend on.
    partials: offset, in the collection's partition of the partials topic, of the first record that is needed.
    forgotten_before_ms: start of the first pane that an undecided or later window needs; event time in milliseconds.
        Of earlier panes some partials may come after `partials` and others before.
    """

    answers: int
    partials: int
    forgotten_before_ms: int

    def metadata(self, collection: Collection) -> str:
        """Encode what the offsets do not say as the metadata of a commit."""
        return json.dumps({"forgotten_before_ms": self.forgotten_before_ms, "collection": file_digest(collection)})

    @classmethod
    def parse(cls, *, answers: int, partials: int, metadata: str, collection: Collection) -> Self | None:
        """Decode a commit; None if the collection's file has changed since, or if another release has made it.

        What a new series or another memory needs may have been forgotten.
        """
        try:
            fields = dict(json.loads(metadata))
            if fields["collection"] != file_digest(collection):
                return None
            forgotten_before_ms = operator.index(fields["forgotten_before_ms"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if not FIRST_MS <= forgotten_before_ms <= LAST_MS:
            return None
        return cls(answers=answers, partials=partials, forgotten_before_ms=forgotten_before_ms)


def file_digest(collection: Collection) -> str:
    """Return a digest of the collection's file, in hexadecimal."""
    document = json.dumps(collection.document, sort_keys=True)
    return hashlib.blake2b(document.encode(), digest_size=_DIGEST_BYTES).hexdigest()
