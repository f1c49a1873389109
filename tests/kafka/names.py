"""The first parts of names that settings accept, and names of collections, for laws about both."""

import re
from functools import cache

from hypothesis import strategies as st

from stream_ldp.collection.located import NAME_PATTERN
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import SettingsError


@cache
def is_prefix(part: str) -> bool:
    """Decide whether settings accept this as the first part of the names of topics and groups."""
    try:
        Settings.load(topic_prefix=part, group=part)
    except SettingsError:
        return False
    return True


def is_collection(name: str) -> bool:
    """Decide whether a collection may be called so."""
    return re.fullmatch(NAME_PATTERN, name) is not None


#: Words that names have at other places.
_WORDS = st.sampled_from(
    ["merge", "_merge", "merged", "ingest", "partials", "collections", "reports", "dead-letters"]
)


def _parts(alphabet: str) -> st.SearchStrategy[str]:
    return st.lists(_WORDS | st.text(alphabet, max_size=3), min_size=1, max_size=3).map("".join)


#: They come to be alike, so that those of two deployments may be mistaken for each other, if any may.
prefixes = _parts("ab.-_").filter(is_prefix)
collections = _parts("ab-_").filter(is_collection)
