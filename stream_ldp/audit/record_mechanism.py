"""The audit of a mechanism for records, with the permanent words of its clients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from stream_ldp.audit.attacks import Attack, attacks
from stream_ldp.audit.audited import REPORTS, Claim, Exact, Row
from stream_ldp.audit.enumeration import Enumeration, TooLarge
from stream_ldp.audit.record_reports import record_differences
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream_ldp.collection import Collection
    from stream_ldp.mechanisms import Entropy, Mechanism, PermanentWords, RepeatedCost


class Charged(Protocol):
    """What a ledger charges for reports that show so many permanent responses, in nats."""

    def __call__(self, cost: RepeatedCost, *, values: int, reports: int) -> float: ...


#: Numbers of reports for which a record that may change is enumerated.
_CHANGING_REPORTS = (2, 3, 4, 5, 6)

#: Most values of a symbol that are enumerated at full width; so many take ten seconds, and the time grows with the
#: fourth power. And the most decisions of a mechanism whose outcomes are all played.
_MAX_SYMBOL = 32
_MAX_DECISIONS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditedRecords:
    """A mechanism for records, the permanent words of its clients, and their collection if there is one.

    charged: what a ledger charges for reports that show so many permanent responses; None where nothing is claimed of
        hashed values that change.
    """

    mechanism: Mechanism
    words: PermanentWords
    collection: Collection | None = None
    charged: Charged | None = None

    def enumerated(self) -> Exact:
        small = self.mechanism.small()
        narrow = max(self.mechanism.symbol_sizes) <= _MAX_SYMBOL
        mechanism = self.mechanism if narrow and max(map(len, self.mechanism.decisions)) <= _MAX_DECISIONS else small
        realised = Enumeration.realised(mechanism)
        differences = tuple(record_differences(self.mechanism, self.words, realised=realised))
        claims = [
            Claim(
                about={"neighbours": neighbours, "reports": reports},
                claimed=mechanism.epsilon(neighbours=neighbours, reports=reports),
                enumerated=realised.epsilon(neighbours=neighbours, reports=reports),
                tight=True,
            )
            for neighbours in range(1, len(mechanism.sizes) + 1)
            for reports in REPORTS
        ]
        if self.charged is not None:
            claims += _hashed(mechanism, realised, charged=self.charged)
        return Exact(
            title="A record that does not change",
            claims=claims,
            # Values can be renamed, and so enumerated, only where all of them are perturbed alike.
            changing=[] if differences else list(_changing(mechanism, realised)),
            differences=differences,
            miniature=None if mechanism is self.mechanism else str(mechanism),
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        return attacks(self.mechanism, self.words, noise=noise, secrets=secrets)


def _hashed(mechanism: Mechanism, realised: Enumeration, *, charged: Charged) -> Iterator[Claim]:
    """Yield what the ledger charges for hashed values that change, for as many reports as are enumerated."""
    for attribute, cost in enumerate(mechanism.bucket_costs):
        for reports in (*_CHANGING_REPORTS[:3], math.inf):
            for changes, loss in sorted(realised.alike_epsilons(attribute=attribute, reports=reports).items()):
                values = min(changes + 1, cost.size)
                yield Claim(
                    about={
                        "neighbours": f"attribute {attribute}, users who change at the same times, "
                        f"{quantity(changes, 'change')}",
                        "reports": reports,
                    },
                    claimed=cost.responses_loss(responses=values, reports=reports)
                    if reports == math.inf
                    else charged(cost, values=values, reports=int(reports)),
                    enumerated=loss,
                )


def _changing(mechanism: Mechanism, realised: Enumeration) -> Iterator[Row]:
    """Yield the epsilon of a few reports of a record that may change, beside that of one that does not."""
    for reports in _CHANGING_REPORTS:
        for neighbours in range(1, len(mechanism.sizes) + 1):
            try:
                enumerated = realised.changing_epsilon(neighbours=neighbours, reports=reports)
            except TooLarge:
                return
            yield {
                "neighbours": neighbours,
                "reports": reports,
                "if_constant": mechanism.epsilon(neighbours=neighbours, reports=reports),
                "enumerated": enumerated,
            }
