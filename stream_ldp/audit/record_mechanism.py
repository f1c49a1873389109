"""The audit of a mechanism for records, with the permanent words of its clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_ldp.audit.attacks import attacks
from stream_ldp.audit.audited import REPORTS, Claim, Exact, Row
from stream_ldp.audit.enumeration import Enumeration, TooLarge
from stream_ldp.audit.record_reports import record_differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream_ldp.audit.attacks import Attack
    from stream_ldp.collection import Collection
    from stream_ldp.mechanisms import Entropy, Mechanism, PermanentWords

#: Numbers of reports for which a record that may change is enumerated.
_CHANGING_REPORTS = (2, 3, 4, 5, 6)

#: Most values of a symbol that are enumerated at full width; so many take ten seconds, and the time grows with the
#: fourth power.
_MAX_SYMBOL = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditedRecords:
    """A mechanism for records, the permanent words of its clients, and their collection if there is one."""

    mechanism: Mechanism
    words: PermanentWords
    collection: Collection | None = None

    def enumerated(self) -> Exact:
        small = self.mechanism.small()
        mechanism = self.mechanism if max(self.mechanism.symbol_sizes) <= _MAX_SYMBOL else small
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
