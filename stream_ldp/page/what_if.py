"""The plan of a collection of the page, as it is or with another epsilon or number of values.

It is what `stream-ldp plan` prints of the file that the collection then has, but for what is measured on a machine.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError

from stream_ldp.collection import Collection
from stream_ldp.errors import StreamLDPError
from stream_ldp.http.refusal import Refused
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.leverage import leverage_section
from stream_ldp.pipeline.predicted import predicted
from stream_ldp.pipeline.problem import problem_of
from stream_ldp.pipeline.published import published_plans, published_section

#: Users, epsilons and numbers of values that may be asked for: a plan of the most takes some 5 s of a processor.
MOST_USERS, EPSILONS, VALUES = 10**9, (0.01, 20.0), (2, 64)


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIf:
    """What is asked for.

    users: who report in a window, or take part in an epoch.
    epsilon: None for that of the file.
    values: number of the values of the attribute with the most, or of the items; None for that of the file.
    """

    users: int
    epsilon: float | None = None
    values: int | None = None

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> WhatIf:
        """Read the parameters of a request.

        Raises:
            Refused: one is unknown, or beyond its bounds.
        """
        if unknown := [name for name in given if name not in ("users", "epsilon", "values")]:
            raise _bad(f"{unknown[0]!r} is not a parameter: users, epsilon and values are")
        users = _number("users", given.get("users", "10000"), 1, MOST_USERS)
        epsilon = None if "epsilon" not in given else _number("epsilon", given["epsilon"], *EPSILONS)
        values = None if "values" not in given else int(_number("values", given["values"], *VALUES))
        return cls(users=int(users), epsilon=epsilon, values=values)


def plan(collection: Collection, asked: WhatIf) -> dict[str, Any]:
    """Work out the plan, as plain data; slow, so it belongs on a thread of its own.

    Raises:
        Refused: the collection cannot have this epsilon, or so many values.
    """
    try:
        changed = _changed(collection, asked)
        kind = kind_of(changed)
        planned = kind.plan(changed, populations=[asked.users])
        readers = published_plans(changed, kind.published, populations=[asked.users])
        expected = predicted(changed, kind, users=[asked.users])
        sections = [*planned.sections(), *expected.sections(kind)]
        sections += [published_section(readers), leverage_section(kind.leverages(changed))]
    except (StreamLDPError, ValidationError) as error:
        raise _bad(problem_of(error)) from None
    return {
        "collection": collection.name,
        "kind": kind.name,
        "epsilon": _epsilon(changed, asked),
        "values": _values(changed.document),
        "mechanism": changed.document.get("mechanism"),
        "sections": [asdict(each) for each in sections],
    }


def _changed(collection: Collection, asked: WhatIf) -> Collection:
    kind, document = kind_of(collection), copy.deepcopy(collection.document)
    if asked.values is not None:
        _set_values(document, asked.values)
    if asked.epsilon is not None and _named(document):
        document["mechanism"]["epsilon"] = asked.epsilon
    changed: Collection = kind.collection.model_validate(document)
    if asked.epsilon is not None and not _named(document):
        if kind.for_budget is None:
            raise _bad(f"{collection.name}: its file has no one epsilon to change")
        changed = kind.for_budget(changed, lifetime=asked.epsilon, per_report=None)
    return changed


def _named(document: Mapping[str, Any]) -> bool:
    """Whether the file itself gives one epsilon."""
    return isinstance(document["mechanism"].get("epsilon"), int | float)


def _epsilon(collection: Collection, asked: WhatIf) -> dict[str, Any] | None:
    """Describe the epsilon that can be changed, that of the file or else the lifetime epsilon; None for none."""
    if _named(collection.document):
        return {"value": float(collection.document["mechanism"]["epsilon"]), "lifetime": False}
    return None if kind_of(collection).for_budget is None else {"value": asked.epsilon, "lifetime": True}


def _listed(document: Mapping[str, Any]) -> list[str] | None:
    """Return the longest list of values, items or keys that the file has; None for none."""
    lists = [each.get("values") for each in document.get("attributes", ())]
    lists += [(document.get(part) or {}).get("names") for part in ("items", "keys")]
    return max((each for each in lists if isinstance(each, list)), key=len, default=None)


def _values(document: Mapping[str, Any]) -> int | None:
    listed = _listed(document)
    return len(listed) if listed is not None else (document.get("items") or {}).get("size")


def _set_values(document: dict[str, Any], number: int) -> None:
    listed = _listed(document)
    if listed is not None:
        listed[:] = [*listed, *(f"another {place + 1}" for place in range(number))][:number]
    elif "size" in (document.get("items") or {}):
        document["items"]["size"] = number
    else:
        raise _bad("this collection lists no values whose number could be another")


def _number(name: str, text: str, least: float, most: float) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not least <= found <= most:
        raise _bad(f"{name} is a number from {least:g} to {most:g}")
    return found


def _bad(detail: str) -> Refused:
    return Refused(400, "bad_query", detail)
