"""Collection files: what all kinds have in common, and how mistakes in them are located."""

from stream_ldp.collection.collection import (
    MAX_BITS,
    MAX_LINKED_WINDOWS,
    Collection,
    Label,
    Name,
    Part,
    PositiveDuration,
    Prior,
    Sample,
    Series,
    Topics,
    Window,
    fingerprint_of,
    milliseconds,
    one_of,
    require_distinct,
    shown_duration,
)
from stream_ldp.collection.located import CollectionError

__all__ = [
    "MAX_BITS",
    "MAX_LINKED_WINDOWS",
    "Collection",
    "CollectionError",
    "Label",
    "Name",
    "Part",
    "PositiveDuration",
    "Prior",
    "Sample",
    "Series",
    "Topics",
    "Window",
    "fingerprint_of",
    "milliseconds",
    "one_of",
    "require_distinct",
    "shown_duration",
]
