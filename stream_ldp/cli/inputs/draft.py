"""Draft a collection file for attributes that were guessed: its mechanism is the one that a plan finds best."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_ldp.cli.inputs.guess import Guess
from stream_ldp.collection import Collection
from stream_ldp.collection.located import flow
from stream_ldp.errors import ParameterError
from stream_ldp.evaluation.experiment import DISTANCE
from stream_ldp.evaluation.prediction import predictions
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.mechanisms import MECHANISMS
from stream_ldp.mechanisms.privacy_loss import shown_guess
from stream_ldp.steps import steps

#: The most attributes, and cells, whose joint distribution a draft asks for. Attributes share epsilon: each of more
#: is hidden so well that a joint has errors as large as itself.
_MAX_JOINT, _MAX_CELLS = 3, 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A collection and its commented file."""

    collection: Collection
    text: str


def name_for(path: Path) -> str:
    """Make the name of a collection of the name of a file."""
    name = re.sub(r"[^a-z0-9]+", "-", path.name.lower().split(".")[0]).strip("-")[:63]
    return name.strip("-") or "survey"


def draft(name: str, attributes: Sequence[Guess], *, epsilon: float, window: str, users: int) -> Draft:
    """Write the file of a collection that spends epsilon.

    epsilon: lifetime epsilon of a user, between any two records, in nats.
    window: its length, as a collection file has it.
    users: number of users in a window, for which the errors of mechanisms are compared.

    Raises:
        ParameterError: no mechanism has this epsilon, or no window this length.
    """
    cells = math.prod(each.cells for each in attributes)
    is_joint = len(attributes) <= _MAX_JOINT and cells <= _MAX_CELLS
    form = _joint if is_joint else _sampled
    mechanism, reason, estimates = form(name, attributes, epsilon=epsilon, window=window, users=users)
    lines = [
        "# Drafted from a table of records. The values below become public: take out those that name a person.",
        f"collection: {name}",
        "",
        f"# Lifetime epsilon of a user: {epsilon:g} nats between any two records. The best guess, from 50:50, is",
        f"# {shown_guess(epsilon)} right, however often a user reports.",
        *(f"# {line}" for line in reason),
        f"mechanism: {flow(mechanism)}",
        "",
        "attributes:",
        *(f"  - {flow(each.keys)}  # {each.why}" for each in attributes),
        "",
        "# Each window of event time has an answer. Longer windows have more reports, and smaller errors.",
        f"window: {{size: {window}}}",
        *estimates,
    ]
    text = "\n".join(lines) + "\n"
    return Draft(collection=parse_collection(text, source=f"{name}.yaml"), text=text)


#: Errors that differ by less are equal, since they are measured on drawn users: the shorter report is then better.
_AS_GOOD = 1.15


def _joint(
    name: str, attributes: Sequence[Guess], *, epsilon: float, window: str, users: int
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Choose the mechanism of the least error for the joint distribution of all attributes."""
    names = [each.keys["name"] for each in attributes]
    series = re.sub(r"[^a-z0-9]+", "-", "-".join(names).lower()).strip("-")[:63].strip("-") or "all"
    errors: dict[str, tuple[float, dict[str, Any]]] = {}
    bits: dict[str, int] = {}
    tried: list[list[tuple[float, float]]] = []
    for kind, spec in steps(MECHANISMS.items(), "mechanisms to compare"):
        try:
            found = spec.for_budget(
                sizes=tuple(each.cells for each in attributes), lifetime=epsilon, per_report=None
            ).model_dump(exclude_none=True)
        except ParameterError:
            continue  # it cannot have this epsilon
        document = {
            "collection": name,
            "mechanism": found,
            "attributes": [_as_text(each.keys) for each in attributes],
            "window": {"size": window},
            "estimates": [{"name": series, "of": names}],
        }
        collection: Any = parse_collection(flow(document))
        supports = [(round(each.one, 6), round(each.zero, 6)) for each in collection.mechanism.supports]
        if supports in tried:
            continue  # it is another form of a mechanism that has been tried, and only chance would prefer it
        tried.append(supports)
        (expected,) = predictions(collection, kind_of(collection).evaluation, users=[users])
        errors[kind] = expected.metrics[DISTANCE], found
        bits[kind] = collection.bits
    if not errors:
        raise ParameterError(f"no mechanism has an epsilon of {epsilon:g}: choose one between 0.1 and 20")
    lowest = min(error for error, _ in errors.values())
    best = min((kind for kind in errors if errors[kind][0] <= _AS_GOOD * lowest), key=lambda kind: bits[kind])
    least, mechanism = errors[best]
    others = [f"{kind} {error / least:.2f} times as much" for kind, (error, _) in errors.items() if kind != best]
    sentence = f"`stream-ldp plan` expects a distance of {least:.3g} from the truth of {users:,} users with it"
    chance = ["Errors within 15 % of each other may differ by chance: then the shorter report is chosen."]
    return (
        mechanism,
        [f"{sentence}{', ' + ' and '.join(others) if others else ''}.", *(chance if least > lowest else [])],
        ["", "estimates:", f"  - {flow({'name': series, 'of': names})}"],
    )


def _sampled(
    name: str,  # noqa: ARG001  as `_joint`
    attributes: Sequence[Guess],
    *,
    epsilon: float,
    window: str,  # noqa: ARG001
    users: int,  # noqa: ARG001
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Ask each user about one attribute, since there are too many for a joint distribution of all."""
    reason = [
        f"Each user is asked about one of the {len(attributes)} attributes, which gives the frequencies of each. For",
        f"joint distributions, add `ask: pairs` to the mechanism, or choose at most {_MAX_JOINT} attributes (--of).",
    ]
    return {"kind": "sampled", "epsilon": epsilon}, reason, []


def _as_text(keys: dict[str, Any]) -> dict[str, Any]:
    """Return the keys as a file's reader gives them, which has texts alone."""
    return {key: list(map(str, value)) if isinstance(value, list) else value for key, value in keys.items()}
