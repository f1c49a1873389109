"""The exact probability of every report of a local randomizer, as it is stated and as its code realises it.

Only small ones are enumerated: a distribution has an entry for each input and each pattern of a report's bits.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_ldp.audit.enumerate import distribution
from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms import Entropy, FrequencyOracle, Randomizer
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.mechanisms.randomizer import OutputDistribution, no_outputs

#: The packed report of one user.
Report = Callable[[Entropy], bytes]

Miniature = TypeVar("Miniature", bound=Randomizer)

#: Most probabilities of a distribution that is enumerated; so many take some seconds.
MAX_ENTRIES = 2**16


class TooManyReports(StreamLDPError, ValueError):
    """There are too many sequences of reports to enumerate."""


def in_miniature(randomizer: Miniature) -> Miniature:
    """Return the randomizer, or one of its kind and epsilon that is small enough to be enumerated."""
    takes_sets = randomizer.set_slots is not None
    while _entries(randomizer) > MAX_ENTRIES or (takes_sets and randomizer.small() != randomizer):
        randomizer = randomizer.small()
    return randomizer


def epsilon_of(outputs: OutputDistribution) -> float:
    """Return ln of the largest ratio of one report's probabilities with two inputs; never rounded down."""
    return _largest_loss(column for column in outputs.T.tolist() if any(column))


def largest_loss(outputs: Iterable[Mapping[bytes, Fraction]]) -> float:
    """Return ln of the largest ratio of the probabilities of one output with two inputs; never rounded down.

    outputs: the probabilities with each input.
    """
    every = list(outputs)
    return _largest_loss([each.get(sent, Fraction(0)) for each in every] for sent in set().union(*every))


def _largest_loss(columns: Iterable[Sequence[Fraction]]) -> float:
    largest = Fraction(1)
    for chances in columns:
        if not all(chances):
            return math.inf
        largest = max(largest, max(chances) / min(chances))
    with localcontext(PRECISION):
        return round_up((Decimal(largest.numerator) / largest.denominator).ln())


def stated_distribution(randomizer: Randomizer) -> OutputDistribution:
    """Return the output distribution as a randomizer's parameters state it, shape (inputs, 2^bits).

    Raises:
        ValueError: the randomizer is too large.
    """
    _require_small(randomizer)
    return randomizer.stated()


def realised_distribution(randomizer: Randomizer) -> OutputDistribution:
    """Return the output distribution as the code of `perturb` realises it, shape (inputs, 2^bits).

    Raises:
        UnknownDistribution: it cannot be enumerated.
        ValueError: the randomizer is too large.
    """
    _require_small(randomizer)

    def report(value: int) -> Report:
        return lambda entropy: randomizer.perturb(np.array([value]), entropy=entropy).tobytes()

    return realised_with([report(value) for value in range(randomizer.inputs)], bits=randomizer.bits)


def realised_set_distribution(
    oracle: FrequencyOracle, sets: Sequence[Sequence[int]], *, padding: int
) -> OutputDistribution:
    """Return the output distribution as the code of `perturb_sets` realises it, shape (sets, 2^bits).

    Raises:
        UnknownDistribution: it cannot be enumerated.
    """

    def report(held: Sequence[int]) -> Report:
        offsets, values = np.array([0, len(held)]), np.array(held, dtype=np.int64)
        return lambda entropy: oracle.perturb_sets(offsets, values, padding=padding, entropy=entropy).tobytes()

    # Restricted to a few candidates, many sets are the same.
    distinct = list(dict.fromkeys(map(tuple, sets)))
    outputs = realised_with([report(held) for held in distinct], bits=oracle.bits)
    return outputs[[distinct.index(tuple(held)) for held in sets]]


def realised_with(reports: Sequence[Report], *, bits: int) -> OutputDistribution:
    """Return the output distribution of the report that each of these functions makes, shape (functions, 2^bits)."""
    outputs = no_outputs(len(reports), bits)
    for row, report in zip(outputs, reports, strict=True):
        for packed, probability in distribution(report).items():
            row[int.from_bytes(packed, "little")] = probability
    return outputs


def repeated_epsilon(randomizer: Randomizer, *, reports: float) -> float:
    """Return the enumerated loss of so many reports that show one memoised response; never rounded down.

    reports: math.inf for so many that the memoised response is known.

    Raises:
        UnknownDistribution: the reports cannot be enumerated.
        ValueError: the randomizer is too large.
    """
    if reports == math.inf:
        return epsilon_of(realised_distribution(randomizer.memoised))
    permanent, fresh = _two_stages(randomizer)
    # The order of the reports does not matter, so only what they say, and how often, is enumerated.
    outputs = [
        permanent @ math.prod((fresh[:, said] for said in history[1:]), start=fresh[:, history[0]])
        for history in itertools.combinations_with_replacement(range(fresh.shape[1]), int(reports))
    ]
    return epsilon_of(np.array(outputs).T)


def changing_epsilons(randomizer: Randomizer, *, reports: int) -> tuple[dict[int, float], float]:
    """Return the enumerated losses of reports of a user whose input may change before each; never rounded down.

    Each input of a user has a memoised response of its own, and an input that comes again shows the same one. All
    sequences of inputs and of what is sent are enumerated.

    reports: at least 1.

    Returns:
        For each number of changes, the loss between two users who change at the same times, and to the same inputs as
        before where the other one does, too; and the loss between any two users, which shows changes as well.

    Raises:
        TooManyReports: the sequences are too many.
        UnknownDistribution: the reports cannot be enumerated.
        ValueError: the randomizer is too large.
    """
    if _entries(randomizer) ** reports > MAX_ENTRIES:
        raise TooManyReports(
            f"{reports} reports of {randomizer}: at most {MAX_ENTRIES:,} probabilities are enumerated"
        )
    permanent, fresh = _two_stages(randomizer)
    patterns: dict[tuple[int, ...], list[NDArray[np.object_]]] = {}
    for inputs in itertools.product(range(len(permanent)), repeat=reports):
        names = {value: name for name, value in enumerate(dict.fromkeys(inputs))}
        pattern = tuple(names[value] for value in inputs)
        patterns.setdefault(pattern, []).append(_sequences(permanent, fresh, inputs))
    alike: dict[int, float] = {}
    for pattern, users in patterns.items():
        changes = sum(one != other for one, other in itertools.pairwise(pattern))
        alike[changes] = max(alike.get(changes, 0.0), epsilon_of(np.array(users)))
    return alike, epsilon_of(np.array([each for users in patterns.values() for each in users]))


def _sequences(
    permanent: OutputDistribution, fresh: OutputDistribution, inputs: Sequence[int]
) -> NDArray[np.object_]:
    """Return the probability of each sequence that is sent for a sequence of inputs, flat, in C order."""
    sent = fresh.shape[1]
    found = np.full((1,) * len(inputs), Fraction(1), dtype=object)
    for value in dict.fromkeys(inputs):
        places = [place for place, each in enumerate(inputs) if each == value]
        # P(permanent response), times that of what each report of the value makes of it, summed over the response.
        chances = permanent[value][:, None]
        for _ in places:
            chances = (chances[:, :, None] * fresh[:, None, :]).reshape(len(fresh), -1)
        shape = [sent if place in places else 1 for place in range(len(inputs))]
        found = found * chances.sum(axis=0).reshape(shape)
    return found.reshape(-1)


def _two_stages(randomizer: Randomizer) -> tuple[OutputDistribution, OutputDistribution]:
    """Return P(memoised response | input), and P(report | memoised response), as the code realises both."""
    _require_small(randomizer)
    permanent = realised_distribution(randomizer.memoised)
    possible = [int(each) for each in np.flatnonzero((permanent > 0).any(axis=0))]
    width = -(-randomizer.bits // 8)
    rows = {each: np.frombuffer(each.to_bytes(width, "little"), dtype=np.uint8)[None] for each in possible}

    def sent(response: int) -> Report:
        return lambda entropy: randomizer.instantaneous(rows[response], entropy=entropy).tobytes()

    return permanent[:, possible], realised_with([sent(each) for each in possible], bits=randomizer.bits)


def all_sets(size: int) -> list[tuple[int, ...]]:
    """List all sets of values below `size`, in the order of the number whose set bits are the values."""
    return [tuple(value for value in range(size) if bits >> value & 1) for bits in range(2**size)]


def _entries(randomizer: Randomizer) -> int:
    entries: int = randomizer.inputs * 2**randomizer.bits
    return entries


def _require_small(randomizer: Randomizer) -> None:
    if _entries(randomizer) > MAX_ENTRIES:
        raise ValueError(
            f"{_entries(randomizer):,} probabilities: a distribution of at most {MAX_ENTRIES:,} is enumerated"
        )
