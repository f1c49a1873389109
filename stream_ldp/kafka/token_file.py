"""Give aiokafka the OAuth token in a file, which its issuer replaces before it expires."""

import asyncio
from pathlib import Path

from aiokafka.abc import AbstractTokenProvider


class TokenFile(AbstractTokenProvider):  # type: ignore[misc]
    """A token file is read anew for each connection."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def token(self) -> str:
        """Return the token, without the white space around it; raises OSError if the file cannot be read."""
        return (await asyncio.to_thread(self._path.read_text, encoding="utf-8")).strip()
