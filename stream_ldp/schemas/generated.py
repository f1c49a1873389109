"""All contracts, as the code says them now."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from stream_ldp.printable import printable_json
from stream_ldp.schemas.asyncapi import asyncapi
from stream_ldp.schemas.collection_file import COLLECTION_FILE_VERSION, collection_file_schema
from stream_ldp.schemas.messages import MESSAGES, message_name, message_schema
from stream_ldp.schemas.openapi import admin_port, gateway, page

#: What generates each contract, by its name.
GENERATORS: dict[str, Callable[[], dict[str, Any]]] = {
    f"collection-v{COLLECTION_FILE_VERSION}": collection_file_schema,
    "asyncapi": asyncapi,
    "openapi-admin-port": admin_port,
    "openapi-gateway": gateway,
    "openapi-page": page,
    **{message_name(message): partial(message_schema, message) for message in MESSAGES},
}


def generated(name: str) -> str:
    """Return the text of a contract as it should be."""
    return printable_json(json.dumps(GENERATORS[name](), indent=2, ensure_ascii=False) + "\n")
