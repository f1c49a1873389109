"""The method of a collection of item sets whose file names none."""

from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from stream_ldp.collection import Part
from stream_ldp.sets.methods.gfim import GfimSpec
from stream_ldp.sets.methods.loloha import LolohaSpec
from stream_ldp.sets.methods.spec import ASK
from stream_ldp.sets.methods.svim import SvimSpec

#: The greatest epsilon, in nats, at which gfim-users is the method where the set size is given: beyond, it is svim,
#: and both find as much within 0.02. Where it is asked for, gfim-users finds the most at every epsilon from 0.5 to 4
#: (`python -m tests.benchmarks.unknown_sizes`). It never changes: what a file without a kind means depends on it.
MAX_EPSILON_OF_GFIM_USERS = 2.0

#: The options that such a file may give.
_SHARED: dict[str, Any] = {
    name: (field.annotation, field)
    for name, field in SvimSpec.model_fields.items()
    if name in GfimSpec.model_fields and name != "kind"
}

#: What a file may say of a method that it does not name, for the JSON Schema of such files.
UsualOptions: Any = create_model(
    "UsualMethod",
    __base__=Part,
    __doc__="The options of heavy hitters by the usual method.",
    **_SHARED,
)

#: The options of some methods alone: a file that gives one of them has to name its method.
_OF_SOME = (GfimSpec.model_fields.keys() | LolohaSpec.model_fields.keys()) - _SHARED.keys() - {"kind"}


def usual_options(options: Mapping[str, object]) -> dict[str, object]:
    """Return what a file that names no kind of method leaves out: the kind, and how the set size is learnt."""
    if options.get("set_size") is None:
        return {"kind": "gfim-users", "set_size": ASK}
    try:
        epsilon = float(str(options.get("epsilon")))
    except ValueError:
        epsilon = 0.0  # the method says what is wrong with it
    is_known = options["set_size"] != ASK
    return {"kind": "svim" if is_known and epsilon > MAX_EPSILON_OF_GFIM_USERS else "gfim-users"}


def with_kind(options: object) -> object:
    """Add the usual kind to the options of a method that name none, so that all that is made of them names it."""
    if not isinstance(options, Mapping) or "kind" in options or _OF_SOME & options.keys():
        return options
    return dict(options) | usual_options(options)
