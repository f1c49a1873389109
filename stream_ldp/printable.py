"""This module makes text of what others have written, so that a terminal shows it and does not obey it."""

from __future__ import annotations

import unicodedata

__all__ = ["printable", "printable_json"]


def printable(text: str) -> str:
    r"""Write characters that are not printed, such as those that a terminal obeys, as Python writes them.

    Whoever makes a string frequent, writes a topic or sends a file could else clear the screen of those who look at
    it, turn their text around, or begin a line that looks like one of ours.

    >>> printable("apple pie\x1b[2J\n")
    'apple pie\\x1b[2J\\n'
    """
    return "".join(each if _is_shown(each) else repr(each)[1:-1] for each in text)


def printable_json(text: str) -> str:
    r"""Write the same characters of a JSON text in the way of JSON, which every reader of it turns back.

    >>> printable_json('{"item": "\x9b2J"}\n')
    '{"item": "\\u009b2J"}\n'
    """
    # Between the strings of a valid text are no others than new lines.
    return "".join(each if _is_shown(each) or each == "\n" else _escaped(each) for each in text)


def _is_shown(character: str) -> bool:
    # Blanks that do not break are text, although Python does not print them.
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))
