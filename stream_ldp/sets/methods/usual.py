"""The method of a collection of item sets whose file names none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from stream_ldp.collection import Part
from stream_ldp.sets.methods.gfim import GfimSpec
from stream_ldp.sets.methods.loloha import LolohaSpec
from stream_ldp.sets.methods.svim import SvimSpec

#: The greatest epsilon, in nats, at which gfim-users was measured to find no less than svim over any of three
#: populations of unknown set size. In NDCG, it gains 0.04 to 0.12 at 1 and 0.00 to 0.07 at 2; at 3 it gains
#: 0.08 over one and loses 0.01 over another, and at 4 it loses 0.01 to 0.03 over each
#: (`python -m tests.benchmarks.unknown_sizes`). Where the size is known, both find as much within 0.02. It never
#: changes: what a file without a kind means depends on it.
MAX_EPSILON_OF_GFIM_USERS = 2.0

#: The options that both methods have.
_SHARED: dict[str, Any] = {
    name: (field.annotation, field)
    for name, field in SvimSpec.model_fields.items()
    if name in GfimSpec.model_fields and name != "kind"
}

#: What a file may say of a method that it does not name, for the JSON Schema of such files.
UsualOptions: Any = create_model(
    "UsualMethod",
    __base__=Part,
    __doc__="The options of heavy hitters by the usual method at their epsilon.",
    **_SHARED,
)

#: The options of some methods alone: a file that gives one of them has to name its method.
_OF_SOME = (GfimSpec.model_fields.keys() | LolohaSpec.model_fields.keys()) - _SHARED.keys() - {"kind"}


def usual_kind(epsilon: float) -> str:
    """Return the kind of the method of a file that names none, at an epsilon in nats."""
    return "gfim-users" if epsilon <= MAX_EPSILON_OF_GFIM_USERS else "svim"


def with_kind(options: object) -> object:
    """Add the usual kind to the options of a method that name none, so that all that is made of them names it."""
    if not isinstance(options, Mapping) or "kind" in options or _OF_SOME & options.keys():
        return options
    try:
        epsilon = float(options["epsilon"])
    except (KeyError, TypeError, ValueError):
        epsilon = 0.0  # the method says what is wrong with it
    return {"kind": usual_kind(epsilon), **options}
