"""Whether reports of an oracle are, at their real width and for several users, what they are in miniature.

An oracle is enumerated in miniature, where values, sets, paddings and hashes are few. Here it is enumerated as
wide as it is. The parts of a report that are drawn first, whatever the user holds, such as the rows of a hash, are
fixed in a few ways. All that is drawn after them is played. So the loss of some pairs of values or sets is found
exactly: of sets with one code less than the l slots, as many, and one more, and of the values and dummies at the ends
of the domain. How a slot of a set is drawn is enumerated for sets of all these sizes, too.
"""

import itertools
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stream_ldp.audit.audited import Claim
from stream_ldp.audit.comparison import Outputs, users_compared
from stream_ldp.audit.enumerate import distribution
from stream_ldp.mechanisms import Entropy, FrequencyOracle, SeededEntropy
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up

#: Most outcomes of one decision that are all played (of those with more, only the outer ones are), and the number of
#: ways in which the decisions that come first are given. With so many, an oracle takes some seconds.
_MAX_OUTCOMES = 4_096
_DRAWS = 2

#: Most items of a domain among which sets with different codes are sought.
SEARCHED = 4_096

#: Sets of three users in one call.
_TOGETHER = ((0,), (), (0, 1))


def wide_claim(oracle: FrequencyOracle) -> Claim | None:
    """Return what an oracle claims, beside the largest loss of one report, never rounded down.

    It is the largest among the values and sets that are enumerated.

    None where a report takes a decision for each value, which only a small oracle allows to enumerate.

    Raises:
        UnknownDistribution: the probabilities cannot be found.
    """
    if oracle.public_draws is None:
        return None
    losses = [Decimal(0)]
    for draw in range(_DRAWS):
        given = SeededEntropy(draw).words(oracle.public_draws).tolist()
        outputs = list(_outputs(oracle, given))
        losses += [_loss(one, other) for one, other in itertools.permutations(outputs, 2)]
    with localcontext(PRECISION):
        return Claim(about={"oracle": str(oracle)}, claimed=oracle.epsilon, enumerated=round_up(max(losses)))


def oracle_differences(oracle: FrequencyOracle, *, padding: int) -> Iterator[str]:
    """Yield the same of one oracle whose reports are made of sets that are padded to so many slots."""
    if oracle.set_slots is None:
        yield from itertools.islice(_sampling_differences(oracle, padding=padding), 1)
    yield from itertools.islice(_of_several_users(oracle), 1)


def _outputs(oracle: FrequencyOracle, given: Sequence[int]) -> Iterator[Outputs]:
    """Yield the probabilities of the reports of some values, or sets, given the first decisions."""
    if oracle.set_slots is not None:
        for held in _sets(oracle, given, slots=oracle.set_slots):
            yield distribution(partial(_report_of_set, oracle, held), given=given)
        return
    last = oracle.size - 1
    values = {0, 1, 2, oracle.size // 2, last - 1, last, oracle.size, oracle.inputs - 1}
    for value in sorted(value for value in values if 0 <= value < oracle.inputs):
        yield distribution(partial(_report_of_value, oracle, value), given=given, most=_MAX_OUTCOMES)


def _sets(oracle: FrequencyOracle, given: Sequence[int], *, slots: int) -> list[list[int]]:
    """Return sets by the number of their codes: none, one, around the slots, and as many others."""
    # The codes of items depend on what is drawn first alone, so that any report shows them.
    row = np.frombuffer(next(iter(distribution(partial(_report_of_set, oracle, []), given=given))), dtype=np.uint8)
    codes = oracle.codes(row[None], np.arange(min(oracle.size, SEARCHED)))[0].tolist()
    items = list({code: item for item, code in reversed(list(enumerate(codes)))}.values())
    sizes = sorted({0, 1, slots - 1, slots, slots + 1})
    return [*(items[:size] for size in sizes if size <= len(items)), items[slots : 2 * slots]]


def _report_of_set(oracle: FrequencyOracle, held: Sequence[int], entropy: Entropy) -> bytes:
    offsets, values = np.array([0, len(held)]), np.array(held, dtype=np.int64)
    return oracle.perturb_sets(offsets, values, padding=oracle.set_slots or 1, entropy=entropy).tobytes()


def _report_of_value(oracle: FrequencyOracle, value: int, entropy: Entropy) -> bytes:
    return oracle.perturb(np.array([value]), entropy=entropy).tobytes()


def _loss(first: Outputs, second: Outputs) -> Decimal:
    """Return ln of the largest ratio; of outputs that were not all played, among those that were for both."""
    if sum(second.values()) == 1 and not first.keys() <= second.keys():
        return Decimal("Infinity")
    largest = max((chance / second[sent] for sent, chance in first.items() if sent in second), default=Fraction(1))
    with localcontext(PRECISION):
        return (Decimal(largest.numerator) / largest.denominator).ln()


def _sampling_differences(oracle: FrequencyOracle, *, padding: int) -> Iterator[str]:
    """Compare how a slot is drawn, for sets of sizes around the padding and for all values."""
    for size in sorted({0, 1, padding - 1, padding, padding + 1, 2 * padding, oracle.size}):
        if size > oracle.size:
            continue
        offsets, values = np.array([0, size]), np.arange(size)[::-1].copy()

        def sampled(
            entropy: Entropy, offsets: NDArray[np.int64] = offsets, values: NDArray[np.int64] = values
        ) -> int:
            return int(oracle.sampled(offsets, values, padding=padding, entropy=entropy)[0])

        found = distribution(sampled, most=_MAX_OUTCOMES)
        slots = max(size, padding)
        slot = Fraction(1, slots)
        known = all(0 <= value < size or oracle.size <= value < oracle.size + slots - size for value in found)
        all_played = slots > _MAX_OUTCOMES or len(found) == slots
        if not known or not all_played or set(found.values()) != {slot}:
            yield (
                f"{type(oracle).__name__}.sampled, a set of {size} of {oracle.size} values: it does not draw each of "
                f"{slots} slots with probability 1/{slots}"
            )


def _of_several_users(oracle: FrequencyOracle) -> Iterator[str]:
    """Compare the reports of three users in one call with those of each alone, for a domain of two values."""
    small = oracle.resized(2, padding=1, epsilon=oracle.set_epsilon(padding=1))

    def reports(*held: Sequence[int]) -> Outputs:
        offsets = np.cumsum([0, *map(len, held)])
        values = np.array([value for each in held for value in each], dtype=np.int64)
        return distribution(lambda entropy: small.perturb_sets(offsets, values, padding=1, entropy=entropy).tobytes())

    yield from users_compared(f"{type(oracle).__name__}.perturb_sets", reports, _TOGETHER)
