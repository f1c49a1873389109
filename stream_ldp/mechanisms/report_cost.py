"""What a report costs, as a ledger keeps it."""

from typing import Any, Protocol

from stream_ldp.deferred import Deferred

#: Where the class of each cost is, by its kind: parameters of a mechanism for records, or chances of a permanent
#: response. A ledger imports those that its user's reports have cost.
_PLACES = {
    "rr-ldp": "rr_ldp:RRLDPSpec",
    "k-rr": "k_rr:KRRSpec",
    "k-subset": "k_subset:KSubsetSpec",
    "hashed-k-rr": "hashed_k_rr:HashedKRRSpec",
    "sampled": "randomizer:AnswerCost",
    "bloom": "bloom:BloomCost",
    "repeated": "repeated:RepeatedCost",
    "loloha": "loloha:SignCost",
}


class ReportCost(Protocol):
    """The cost of reports that show permanent responses of one sort, as a value that can be a key."""

    @property
    def is_concave(self) -> bool:
        """Whether so many reports of several responses lose the most when they are shared out evenly."""
        ...

    def responses_loss(self, *, responses: int, reports: float) -> float:
        """Return what so many responses lose in nats, each shown in so many reports; never rounded down."""
        ...

    def __hash__(self) -> int: ...


def cost_of(parameters: dict[str, Any]) -> ReportCost:
    """Return the cost that these parameters describe.

    Raises:
        ValueError: no cost is of that kind, or its parameters are wrong.
    """
    place = _PLACES.get(parameters.get("kind", ""))
    if place is None:
        raise ValueError(f"no cost is of kind {parameters.get('kind')!r}")
    cost: ReportCost = Deferred(f"stream_ldp.mechanisms.{place}").imported().model_validate(parameters)
    return cost
