"""This module starts the command line, and says what to install where only the client is."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from stream_ldp.cli import main as command_line  # noqa: PLC0415
    except ModuleNotFoundError as error:
        sys.exit(f"the commands need {error.name}, which is not installed\n  -> pip install 'stream-ldp[worker]'")
    command_line()


if __name__ == "__main__":
    main()
