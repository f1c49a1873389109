"""Text of others, written so that a terminal shows it and does not obey it, and so that nothing of it is hidden."""

import re

#: First and last code points of what leaves no mark on a screen, or turns the direction of text: two texts that
#: differ in such characters alone look alike. Ranges of ignorable ones include those that Unicode has set aside.
_UNSEEN_RANGES = (
    # Cc: controls, which a terminal may obey.
    *((0x00, 0x1F), (0x7F, 0x9F)),
    # White_Space of Unicode 17, but U+0020: blanks that look like it, or like nothing, and ends of lines.
    *((0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F)),
    (0x3000, 0x3000),
    # Default_Ignorable_Code_Point of Unicode 17: fillers, joiners, selectors, tags, marks of direction.
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
    # Blank as well, though no property says so: Braille without a dot, fillers and controls of other scripts.
    *((0x2800, 0x2800), (0xFFF9, 0xFFFB), (0x13430, 0x13442), (0x16FE4, 0x16FE4), (0x1D159, 0x1D159)),
)

#: The same as the inner part of a class of a regular expression. Python, Rust and ECMA-262 agree on no escape beyond
#: U+FFFF, so that characters there stand for themselves.
UNSEEN = "".join(
    "-".join(rf"\u{each:04x}" if each <= 0xFFFF else chr(each) for each in sorted({first, last}))
    for first, last in _UNSEEN_RANGES
)

_AN_UNSEEN = re.compile(f"[{UNSEEN}]")


def printable(text: str) -> str:
    r"""Write characters that are not seen, such as those that a terminal obeys, as Python writes them.

    An attacker who makes a string frequent, writes a topic or sends a file could otherwise clear a reader's screen or
    turn the text around. A line could begin like one of ours, and one string could look like another.

    >>> printable("apple pie\x1b[2J\n")
    'apple pie\\x1b[2J\\n'
    """
    return "".join(each if _is_shown(each) else each.encode("unicode-escape").decode("ascii") for each in text)


def printable_json(text: str) -> str:
    r"""Write the same characters of a JSON text in the way of JSON, which every reader of it turns back.

    >>> printable_json('{"item": "\x9b2J"}\n')
    '{"item": "\\u009b2J"}\n'
    """
    # Between the strings of a valid text are no others than new lines.
    return "".join(each if _is_shown(each) or each == "\n" else _escaped(each) for each in text)


def _is_shown(character: str) -> bool:
    return character.isprintable() and _AN_UNSEEN.match(character) is None


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))
