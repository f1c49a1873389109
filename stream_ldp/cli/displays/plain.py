"""Make parts of a display out of text that others have written."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from stream_ldp.printable import printable


def plain(text: str, **form: Any) -> Text:
    """Make one line of text that is shown as it is, without markup, and with what a terminal would obey spelled out.

    form: the arguments of `rich.text.Text`.
    """
    return Text(printable(text), **form)
