"""Content types: one constant a sort of record, with the version that is in the value as well."""

from stream_ldp.pipeline import content_type
from stream_ldp.pipeline.content_type import BATCH, DEAD_LETTER, PARTIAL, REGISTRATION, content_type_of
from stream_ldp.schemas.messages import MESSAGES
from tests.toy import Share


def test_every_sort_of_record_has_a_content_type_of_its_own() -> None:
    found = [BATCH, DEAD_LETTER, PARTIAL, REGISTRATION, *map(content_type_of, MESSAGES)]
    assert len(set(found)) == len(found)
    for ((name, value),) in found:
        assert name == content_type.CONTENT_TYPE
        assert value.startswith(b"application/vnd.sldp.")
        assert value.endswith(b";v=1")


def test_a_message_names_its_schema_and_its_version() -> None:
    assert [content_type_of(message)[0][1].decode() for message in MESSAGES] == [
        f"application/vnd.sldp.{message.__name__.lower()}+json;v={version}" for message, version in MESSAGES.items()
    ]


def test_a_message_without_a_version_has_the_first() -> None:
    assert content_type_of(Share)[0][1].endswith(b"share+json;v=1")
