"""What any collection file says, and where in the file a mistake is."""

from stream_ldp.collection.collection import (
    MAX_BITS,
    Collection,
    CollectionError,
    Label,
    Name,
    Part,
    PositiveDuration,
    Series,
    Topics,
    Window,
    fingerprint_of,
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
    "Series",
    "Topics",
    "Window",
    "fingerprint_of",
    "require_distinct",
]
