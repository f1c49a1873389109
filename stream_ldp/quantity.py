"""Numbers in words: how many there are of something, and how much memory something takes."""


def quantity(count: float, one: str, many: str | None = None) -> str:
    """Write a number with what it counts, rounded to a whole one.

    many: the plural of `one`, where it is not made by an s.

    Examples:
        >>> quantity(1, "report"), quantity(20_000, "report"), quantity(0, "batch", "batches")
        ('1 report', '20,000 reports', '0 batches')
    """
    written = f"{count:,.0f}"
    return f"{written} {one if written == '1' else many or f'{one}s'}"


def memory(size: int) -> str:
    """Write a number of bytes, from 1,000 on in a larger decimal unit.

    Examples:
        >>> memory(1), memory(999), memory(4_000), memory(1_234_567)
        ('1 byte', '999 bytes', '4.0 kB', '1.2 MB')
    """
    scaled, unit = float(size), ""
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if scaled < 1_000:
            break
        scaled, unit = scaled / 1_000, larger
    return f"{scaled:,.1f} {unit}" if unit else quantity(size, "byte")


def nats(count: float) -> str:
    """Write a number of nats with the digits that it has.

    Examples:
        >>> nats(1), nats(0.5), nats(2)
        ('1 nat', '0.5 nats', '2 nats')
    """
    return f"{count:g} nat{'' if count == 1 else 's'}"
