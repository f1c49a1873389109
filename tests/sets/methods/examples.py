"""Example methods and reports for the tests of heavy hitters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import parse_spec
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.sets.phases import Inquiry, Method

__all__ = ["answers_of", "build", "method"]


def method(kind: str, *, domain: int, **options: object) -> Method:
    """Make a method by its kind and options; None is an option that is not given."""
    given = {name: value for name, value in options.items() if value is not None}
    return parse_spec({"kind": kind, **given}).method(domain=domain)


def build(kind: str, **changes: Any) -> Method:
    """Make a method for the top 4 of 60 items, of which sets hold 5, but for the changes."""
    return method(kind, **{"domain": 60, "k": 4, "epsilon": 2.0, "set_size": 5, **changes})


def answers_of(
    method: Method, inquiry: Inquiry, sets: Iterable[Iterable[int]], *, seed: int = 0
) -> NDArray[np.int64]:
    """Count the reports of users with these sets, who are all asked."""
    rows = respond(method, inquiry, ItemSets.of(sets), entropy=SeededEntropy(seed))
    return method.oracle(inquiry).sums(rows)
