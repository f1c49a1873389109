"""The values of an attribute: in a list, in bins of numbers, and those for what is missing or not among them."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise
from numbers import Rational, Real
from typing import Annotated, Any

from pydantic import PlainSerializer, WithJsonSchema

from stream_ldp.collection.located import Misplaced
from stream_ldp.errors import DataError

#: The most values that a message lists.
_SHOWN = 20

#: A text that is a number, for every client (docs/wire.md, section 1); `float` takes others.
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


class MissingValue(DataError):
    """A record lacks a value, and its attribute has none for what is missing."""

    def __init__(self, attribute: str, *, held: Any) -> None:
        """Say it of an attribute.

        held: what stands in place of the value: None, NaN or an empty text.
        """
        what = "" if held is None or held == "" else " (it is NaN)"
        super().__init__(f"attribute {attribute!r}: the value is missing{what}")
        self.attribute = attribute


def fill_in_values(data: Any) -> Any:
    """Complete what a file says of an attribute: bins become values, and `missing` and `other` join them.

    data: as the file has it; returned as it is if it is not of the right form, which the model then says.

    Raises:
        Misplaced: the bins are no bins, or stand beside other values.
    """
    if not isinstance(data, dict):
        return data
    values, bins = data.get("values"), data.get("bins")
    if bins is not None:
        # Of a text, such as 16 is in YAML, each digit would be taken for an edge.
        if not isinstance(bins, list | tuple):
            raise Misplaced(_NO_BINS, "bins")
        try:
            # YAML writes infinity as .inf, which is text here.
            edges = [float(edge.replace(".inf", "inf") if isinstance(edge, str) else edge) for edge in bins]
            labels = labels_of_bins(edges)
        except (TypeError, ValueError) as error:
            raise Misplaced(str(error) if isinstance(error, DataError) else _NO_BINS, "bins") from error
        if values is not None and list(values)[: len(labels)] != labels:
            raise Misplaced("an attribute has either values or bins", "bins")
        values, data = labels, data | {"bins": edges}
    for label in (data.get("missing"), data.get("other")):
        if isinstance(label, str) and isinstance(values, list | tuple) and label not in values:
            values = [*values, label]
    if bins is not None and values is not None and len(values) == 1:
        raise Misplaced("two numbers bound a single bin: give three or more, such as [0, 18, 65, 120]", "bins")
    return data if values is None else data | {"values": values}


#: An edge of a bin. In a file it may be infinite, which YAML writes as .inf.
Edge = Annotated[
    float,
    PlainSerializer(lambda edge: edge if math.isfinite(edge) else _number(edge), when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}, mode="validation"),
]


def labels_of_bins(edges: Sequence[float]) -> list[str]:
    """Name the bins between numbers, such as [0,18) and [18,120]; the last holds its upper end as well.

    edges: ascending; the first may be -inf and the last inf.

    >>> labels_of_bins([0, 18, 65.5, 120])
    ['[0,18)', '[18,65.5)', '[65.5,120]']

    Raises:
        DataError: they are not ascending, or there are not two of them.
    """
    if len(edges) < 2 or any(not low < high for low, high in pairwise(edges)):
        raise DataError(_NO_BINS)
    names = [_number(edge) for edge in edges]
    return [
        f"{'(' if math.isinf(edges[place]) else '['}{names[place]},{names[place + 1]}"
        f"{']' if place == len(edges) - 2 and math.isfinite(edges[-1]) else ')'}"
        for place in range(len(edges) - 1)
    ]


def is_bin(value: str) -> bool:
    """Return whether a value is the name of a bin, as `labels_of_bins` writes it."""
    return re.fullmatch(r"[\[(][^,]+,[^,]+[)\]]", value) is not None


def clipped(number: float, *, least: float, largest: float, clip: bool, attribute: str) -> float:
    """Return a number of a range, or the nearest in it.

    clip: whether a number beyond the range is taken for the nearest in it.

    Raises:
        DataError: it is beyond the range without `clip`. The message never repeats it.
    """
    if clip:
        number = min(max(number, least), largest)
    if not least <= number <= largest:
        raise DataError(
            f"attribute {attribute!r}: the given number is not from {_number(least)} to {_number(largest)}"
        )
    return number


def bin_of(number: float, edges: Sequence[float], *, attribute: str, clip: bool = False) -> int:
    """Return the number of the bin that holds a number.

    clip: whether the first and the last bin hold what is beyond them, too.

    Raises:
        DataError: none does. The message never repeats the number.
    """
    number = clipped(number, least=edges[0], largest=edges[-1], clip=clip, attribute=attribute)
    return min(bisect_right(edges, number), len(edges) - 1) - 1


def encode_value(
    value: Any,
    values: Sequence[str],
    *,
    attribute: str,
    bins: Sequence[float] | None = None,
    missing: str | None = None,
    other: str | None = None,
    clip: bool = False,
) -> int:
    """Return the number of a value among those that an attribute may have.

    value: text, or a number, which stands for its text or for the bin that holds it; None, NaN or an empty text if it
        is missing.
    bins: edges of the bins, which are the first of the values; None if they are no bins.
    missing: the value that stands for what is missing; None if nothing may be.
    other: the value that stands for anything outside the list; None to refuse such a value.
    clip: see `bin_of`.

    Raises:
        MissingValue: it is missing.
        DataError: it is not in the list. The message never repeats it.
    """
    text = text_of(value, what=f"attribute {attribute!r}: the given value")
    if text is None:
        if missing is None:
            raise MissingValue(attribute, held=value)
        text = missing
    try:
        if bins is None or text in values:
            return index_of(text, values, attribute=attribute)
        return bin_of(number_of(text, attribute=attribute), bins, attribute=attribute, clip=clip)
    except DataError:
        if other is None:
            raise
        return index_of(other, values, attribute=attribute)


def number_of(text: str, *, attribute: str) -> float:
    """Read a decimal; one beyond all doubles is an infinity.

    Raises:
        DataError: the text is none, as `inf`, `1_000` and ` 5` are. The message never repeats it.
    """
    if _DECIMAL.fullmatch(text) is None:
        raise DataError(f"attribute {attribute!r}: the given value is not a number")
    return float(text)


def text_of(value: Any, *, what: str) -> str | None:
    """Return a value as text, as docs/wire.md says in section 1; a missing value is None.

    what: the value, as a message calls it.

    Raises:
        DataError: it holds others, as bytes and lists do, or is too long a number. The message never repeats it.
    """
    if isinstance(value, str):
        return str(value) or None
    if isinstance(value, Iterable):
        raise DataError(f"{what} is not text, and not a number")
    if value is None or _is_no_value(value):
        return None
    # The usual types first: abstract classes of numbers take longer than all else here.
    is_double = type(value) is float or (
        type(value) is not int and isinstance(value, (Real, Decimal)) and not isinstance(value, Rational)
    )
    if is_double:
        if math.isinf(value):
            return "1e999" if value > 0 else "-1e999"
        if value == int(value):
            return str(int(value))
        # By its text, a float32 has the digits that distinguish it.
        return repr(value if type(value) is float else float(str(value)))
    try:
        text = str(value)
        return text.lower() if text in ("True", "False") else text
    except ValueError:
        raise DataError(f"{what} has too many digits") from None


def well_formed(text: str) -> str:
    """Return a text that UTF-8 can write: halves of a pair that stand alone become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_no_value(value: Any) -> bool:
    """Decide whether it stands for no value: NaN and NaT are not even equal to themselves, and NA does not say."""
    try:
        return bool(value != value)  # noqa: PLR0124
    except (TypeError, ArithmeticError):
        return True


def index_of(value: str, values: Sequence[str], *, attribute: str) -> int:
    """Return the number of a value among those that an attribute may have.

    Raises:
        DataError: it is not among them. The message never repeats the value.
    """
    try:
        return values.index(value)
    except ValueError:
        shown = ", ".join(values[:_SHOWN])
        more = f" and {len(values) - _SHOWN:,} others" if len(values) > _SHOWN else ""
        raise DataError(f"attribute {attribute!r}: the given value is not one of {shown}{more}") from None


_NO_BINS = (
    "bins are given by their edges, two or more numbers, each larger than the one before, such as [0, 18, 65, 120]"
)


def _number(edge: float) -> str:
    if math.isinf(edge):
        return "inf" if edge > 0 else "-inf"
    return str(int(edge)) if float(edge).is_integer() else repr(edge)
