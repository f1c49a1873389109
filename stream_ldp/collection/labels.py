"""What people read in place of the codes of values; it changes no report and no number."""

from collections.abc import Container, Iterable, Mapping, Sequence

from stream_ldp.collection.located import Misplaced, suggestion

#: The most labels of a collection. With so many of 200 letters it fits a record of the registry.
MAX_LABELS = 2**10

#: What people read, by what the values are of, such as an attribute, and by value.
Labels = Mapping[str, Mapping[str, str]]


def label_of(labels: Labels, name: str, value: str) -> str:
    """Return what people read in place of a value: itself, where it has no label."""
    return labels.get(name, {}).get(value, value)


def labels_of(labels: Labels, name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return what people read in place of some values."""
    return tuple(label_of(labels, name, value) for value in values)


def codes_of(labels: Labels) -> Labels:
    """Return the labels that lead from what people read back to the values."""
    return {name: {label: value for value, label in of.items()} for name, of in labels.items()}


def require_labels(labels: Labels, values: Mapping[str, Container[str]]) -> None:
    """Check the labels of a collection against the values that it has.

    values: by what they are of; those that are a sequence may be listed to the user.

    Raises:
        Misplaced: a label is of no value, two values would read the same, or there are more than `MAX_LABELS`.
    """
    if sum(map(len, labels.values())) > MAX_LABELS:
        raise Misplaced(f"at most {MAX_LABELS:,} values have labels: label those that people ask about", "labels")
    for name, of in labels.items():
        if name not in values:
            raise Misplaced(
                f"{name!r} has no values that could have labels{suggestion(name, list(values))}", "labels", name
            )
        known = values[name]
        seen: dict[str, str] = {}
        for value, label in of.items():
            if value not in known:
                meant = suggestion(value, known) if isinstance(known, Sequence) else ""
                raise Misplaced(f"{value!r} is no value of {name!r}{meant}", "labels", name, value)
            other = seen.setdefault(label, value)
            if other != value or (label != value and label in known and label not in of):
                other = label if other == value else other
                raise Misplaced(
                    f"{label!r} would stand for {other!r} and for {value!r}: give each a label of its own",
                    "labels",
                    name,
                    value,
                )
