"""The audit of a local randomizer; a user sends one of its reports."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from stream_ldp.audit.attacks import Attack
from stream_ldp.audit.audited import Claim, Exact, Row
from stream_ldp.audit.comparison import Outputs, compared, outputs_of, users_compared
from stream_ldp.audit.enumerate import distribution
from stream_ldp.audit.oracle_attacks import randomizer_attacks
from stream_ldp.audit.oracle_reports import oracle_differences, wide_claim
from stream_ldp.audit.output_distribution import (
    all_sets,
    epsilon_of,
    in_miniature,
    realised_distribution,
    realised_set_distribution,
    stated_distribution,
)
from stream_ldp.collection import Collection
from stream_ldp.mechanisms import Entropy, FrequencyOracle, Randomizer
from stream_ldp.mechanisms.frequency_oracle import oracle_of
from stream_ldp.mechanisms.randomizer import OutputDistribution

#: Slots of the sets whose sampling is enumerated for an oracle by itself; a method says its own.
_PADDING = 6

#: Most slots and values of the sets that are enumerated where a slot is drawn.
_DRAWN = (3, 4)

#: Most probabilities of one user's reports where those of two users are enumerated: the square of what one takes.
_MAX_ENTRIES = 96


@dataclass(frozen=True, kw_only=True, slots=True)
class OneReport:
    """A local randomizer; a user sends one of its reports.

    slots: number of slots from which its input is drawn at random; None where it is not drawn.
    """

    randomizer: Randomizer
    collection: Collection | None = None
    slots: int | None = None

    def enumerated(self) -> Exact:
        if self.slots is not None and (whole := oracle_of(self.randomizer)) is not None:
            return self._drawn(whole, self.slots)
        small = in_miniature(self.randomizer)
        if (oracle := oracle_of(small)) is None or (slots := oracle.set_slots) is None:
            return self._exact(small, small.input_name, realised_distribution(small), stated_distribution(small))
        sets = all_sets(oracle.size)
        realised = realised_set_distribution(oracle, sets, padding=slots)
        return self._exact(small, "set", realised, oracle.stated_sets(sets, padding=slots))

    def _drawn(self, oracle: FrequencyOracle, slots: int) -> Exact:
        """Enumerate the reports of all sets of a few values, with one slot drawn."""
        padding, size = min(slots, _DRAWN[0]), min(oracle.size, _DRAWN[1])
        small = oracle.resized(size, padding=padding, epsilon=oracle.set_epsilon(padding=slots))
        sets = all_sets(size)
        realised = realised_set_distribution(small, sets, padding=padding)
        found = self._exact(small, "set", realised, small.stated_sets(sets, padding=padding))
        claim = replace(found.claims[0], claimed=small.set_epsilon(padding=padding))
        return replace(found, claims=[claim], wide=[])

    def _exact(self, small: Randomizer, of: str, realised: OutputDistribution, stated: OutputDistribution) -> Exact:
        what = f"{type(small).__name__}.perturb, one user, {of}"
        found = (
            difference
            for held in range(len(stated))
            for difference in compared(f"{what} {held}", outputs_of(realised, held), outputs_of(stated, held))
        )
        # The first says where; others follow from it.
        differences = [*islice(found, 1), *several_users_differences(self.randomizer)]
        wide: list[Claim] = []
        if (oracle := oracle_of(self.randomizer)) is not None:
            # Only an oracle with dummies reports sets.
            if oracle.inputs > oracle.size:
                differences += oracle_differences(oracle, padding=oracle.set_slots or _PADDING)
            wide += [claim for claim in [wide_claim(oracle)] if claim is not None]
        return Exact(
            title=f"One report of a {of}",
            claims=[
                Claim(
                    about={"neighbours": f"any two {of}s", "reports": 1},
                    claimed=small.epsilon,
                    enumerated=epsilon_of(realised),
                )
            ],
            differences=tuple(differences),
            wide=wide,
            miniature=None if small == self.randomizer else str(small),
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return randomizer_attacks(self.randomizer, noise=noise)


def several_users_differences(randomizer: Randomizer) -> Iterator[str]:
    """Yield where `perturb` makes the reports of two users otherwise than those of each alone; nothing if nowhere.

    It is enumerated in miniature.

    Raises:
        UnknownDistribution: the probabilities cannot be found.
    """
    small = randomizer
    while small.inputs * 2**small.bits > _MAX_ENTRIES and small.small() != small:
        small = small.small()

    def reports(*inputs: int) -> Outputs:
        return distribution(lambda entropy: small.perturb(np.array(inputs), entropy=entropy).tobytes())

    yield from users_compared(f"{type(randomizer).__name__}.perturb", reports, (0, small.inputs - 1))


def of_all(found: Sequence[Exact], *, title: str, claims: list[Claim], changing: list[Row] | None = None) -> Exact:
    """Return the results of a collection whose answers are made by several randomizers.

    found: those of each randomizer.
    claims: all claims about the collection, those of its randomizers among them.
    changing: see `Exact`.
    """
    miniatures = dict.fromkeys(each.miniature for each in found if each.miniature is not None)
    return Exact(
        title=title,
        claims=claims,
        changing=changing,
        changes="An answer",
        differences=tuple(dict.fromkeys(difference for each in found for difference in each.differences)),
        wide=[claim for each in found for claim in each.wide],
        miniature=", ".join(miniatures) or None,
    )
