"""Collection files: what all kinds have in common, and how mistakes in them are located."""

from stream_ldp.collection.collection import (
    MAX_BITS,
    Collection,
    CollectionError,
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
)

__all__ = [
    "MAX_BITS",
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
]
