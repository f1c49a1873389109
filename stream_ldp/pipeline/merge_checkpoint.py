"""The places on the logs from which a merge can be rebuilt: no earlier record is needed for what is still open."""

import hashlib
import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from stream_ldp.collection import Collection
from stream_ldp.pipeline.windows import FIRST_MS, LAST_MS

#: Bytes of the digest of a collection's file, which two versions of one file have in common by chance alone.
_DIGEST_BYTES = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeCheckpoint:
    """The state of a merge that a commit keeps. An older one is as right; from it more is read.

    answers: offset, in the answers topic, of the first final answer that the next ones depend on.
    partials: offset, in the collection's partition of the partials topic, of the first record that is needed.
    forgotten_before_ms: start of the first pane that an undecided or later window needs; event time in milliseconds.
        Of earlier panes some partials may come after `partials` and others before.
    regions: names of the regions that it waits for; a single empty one where there are none.
    answers_end: offset behind the last of these finals; a topic that ends before has lost some.
    """

    answers: int
    partials: int
    forgotten_before_ms: int
    regions: tuple[str, ...] = ("",)
    answers_end: int = 0

    def metadata(self, collection: Collection) -> str:
        """Encode what the offsets do not say as the metadata of a commit."""
        fields = {
            "forgotten_before_ms": self.forgotten_before_ms,
            "answers_end": self.answers_end,
            "collection": file_digest(collection),
        }
        return json.dumps(fields if self.regions == ("",) else {**fields, "regions": self.regions})

    @classmethod
    def parse(
        cls,
        *,
        answers: int,
        partials: int,
        metadata: str,
        collection: Collection,
        regions: Sequence[str] = ("",),
    ) -> Self | None:
        """Decode a commit; None if the collection's file or the regions have changed, or another release has made it.

        What a new series, another memory or a region that is new needs may have been forgotten.
        """
        try:
            fields = dict(json.loads(metadata))
            if fields["collection"] != file_digest(collection) or fields.get("regions", [""]) != list(regions):
                return None
            forgotten_before_ms = operator.index(fields["forgotten_before_ms"])
            answers_end = operator.index(fields["answers_end"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if not FIRST_MS <= forgotten_before_ms <= LAST_MS:
            return None
        return cls(
            answers=answers,
            partials=partials,
            forgotten_before_ms=forgotten_before_ms,
            regions=tuple(regions),
            answers_end=answers_end,
        )


def file_digest(collection: Collection) -> str:
    """Return a digest of the collection's file, in hexadecimal."""
    document = json.dumps(collection.document, sort_keys=True)
    return hashlib.blake2b(document.encode(), digest_size=_DIGEST_BYTES).hexdigest()
