"""This module makes text of strings that users have sent, so that a terminal shows them and does not obey them."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""Write characters that are not printed, such as those that a terminal obeys, as Python writes them.

    Enough users can make any string frequent, and with it clear the screen of whoever watches, or begin a line that
    looks like an answer.

    >>> printable("apple pie\x1b[2J\n")
    'apple pie\\x1b[2J\\n'
    """
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
