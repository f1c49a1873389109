"""Import what an extra of this package brings, and say which one where it is not installed."""

from importlib import import_module
from typing import Any

from stream_ldp.errors import StreamLDPError


class MissingExtra(StreamLDPError, ImportError):
    """A package is not installed that only an extra of this one brings; the message names the extra."""


def imported(module: str, *, extra: str) -> Any:
    """Import a module that an extra brings.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"this needs {package}, which is not installed\n  -> pip install 'stream-ldp[{extra}]'"
        ) from error
