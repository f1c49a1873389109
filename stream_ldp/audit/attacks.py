"""The attacks that a mechanism for records has to withstand: on `perturb` alone, and on all that a client does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.audit.lower_bound import CHUNK, Histories, LowerBound, System, audit
from stream_ldp.mechanisms import Values
from stream_ldp.mechanisms.randomness.user_secret import drawn_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, Mechanism, PermanentWords

#: Most permanent responses that an attack on the client computes with each history in each half of its users. All of
#: them take some seconds.
_KEYED_RESPONSES = 250_000

#: Users with each history, in each half, of an attack that asks for one user at a time. So many are enough to find
#: noise that is the same for all users.
SINGLE_USERS = 1_000

#: Reports of one user that an attack averages, and the users whose reports are made at once: with 1,000 bits each,
#: they take 30 MB.
_AVERAGED_REPORTS = 30
_AVERAGED_USERS = 1_000


def perturbed(mechanism: Mechanism, *, noise: Callable[[], Entropy]) -> System:
    """Make the system of users who report once: `Mechanism.perturb` and nothing else.

    noise: makes the source of the noise, anew for each call.
    """
    return lambda history, users: mechanism.perturb(np.repeat(history, users, axis=0), entropy=noise())[:, None]


def reported(
    mechanism: Mechanism, words: PermanentWords, *, noise: Callable[[], Entropy], secrets: Entropy
) -> System:
    """Make the system of users of a client: each has a secret, permanent words keyed by it, and fresh noise.

    noise: makes the source of the noise, anew for each report, as if the client were started for each.
    secrets: source of the users' secrets.
    """

    def reports(history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        keys = drawn_secrets(users, entropy=secrets)
        rows = []
        for record in history:
            values = np.repeat(record[None], users, axis=0)
            permanent = words.words_of(keys, values)
            rows.append(mechanism.perturb(values, entropy=noise(), permanent_words=permanent))
        return np.stack(rows, axis=1)

    return reports


def averaged(clients: System, mechanism: Mechanism) -> System:
    """Make the system of an attacker who averages each bit over all reports of a user, within the lifetime epsilon.

    The mean of many reports shows the permanent response that they share. One packed row is left for each user: the
    bits that are set often enough.
    """

    def reports(history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        rows = clients(history, users)
        often = [np.unpackbits(rows[:, report], axis=1, bitorder="little") for report in range(rows.shape[1])]
        set_ = np.mean(often, axis=0) > _midway(mechanism, often[0].shape[1])
        return np.packbits(set_, axis=1, bitorder="little")[:, None]

    return reports


def _midway(mechanism: Mechanism, bits: int) -> NDArray[np.float64]:
    """Return the threshold of each bit, which lies half-way between the p and q of an instantaneous response.

    The shares of reports that support a user's value, and any other, lie half-way around the same point.
    """
    midway = np.full(bits, 0.5)
    for attribute, support in enumerate(mechanism.supports):
        midway[list(mechanism.columns([attribute]))] = (support.one + support.zero) / 2
    return midway


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack:
    """One attack, and the epsilon that it must not disprove.

    target: what is attacked, in words: `perturb` alone, or with a client's permanent words; `singly` is one user a
        call, and `averaged` the mean of each bit over a user's reports.
    neighbours: number of attributes in which the two users' histories differ, or how they may differ, in words.
    reports: number of reports of one user.
    values: whether a user's values change between the reports.
    claimed: epsilon of the mechanism as it is stated; where values change, its epsilon of these very histories.
    pairs: the histories to distinguish; see `audit`.
    most_trials: limit of the trials, which keeps the attack from taking minutes; None without one.
    chunk: number of users in one call; see `audit`.
    """

    target: str
    neighbours: int | str
    reports: int
    values: Values
    claimed: float
    system: System
    pairs: tuple[Histories, ...]
    most_trials: int | None = None
    chunk: int = CHUNK

    def run(self, *, trials: int, confidence: float, entropy: Entropy) -> LowerBound:
        """Audit the target; see `audit`."""
        trials = trials if self.most_trials is None else min(trials, self.most_trials)
        return audit(self.system, self.pairs, trials=trials, confidence=confidence, entropy=entropy, chunk=self.chunk)


def attacks(
    mechanism: Mechanism, words: PermanentWords, *, noise: Callable[[], Entropy], secrets: Entropy
) -> tuple[Attack, ...]:
    """List the attacks on a mechanism and on the permanent words of its clients."""
    attributes = len(mechanism.sizes)
    perturbation = perturbed(mechanism, noise=noise)
    clients = reported(mechanism, words, noise=noise, secrets=secrets)
    adjacent = _adjacent_records(mechanism.sizes)
    last = np.array([mechanism.sizes], dtype=np.intp) - 1
    opposite = np.zeros_like(last), last  # in every attribute

    def constant(
        target: str,
        system: System,
        records: Sequence[Histories],
        *,
        reports: int = 1,
        most_trials: int | None = None,
        chunk: int = CHUNK,
    ) -> Attack:
        neighbours = int(np.count_nonzero(records[0][0] != records[0][1]))
        return Attack(
            target=target,
            neighbours=neighbours,
            reports=reports,
            values=Values.CONSTANT,
            claimed=mechanism.epsilon(neighbours=neighbours, reports=reports),
            system=system,
            pairs=tuple((first.repeat(reports, axis=0), second.repeat(reports, axis=0)) for first, second in records),
            most_trials=most_trials,
            chunk=chunk,
        )

    found = [constant("perturb", perturbation, adjacent)]
    if attributes > 1:
        found.append(constant("perturb", perturbation, [opposite]))
    found += [
        constant(f"{target}, singly", system, adjacent, most_trials=SINGLE_USERS, chunk=1)
        for target, system in (("perturb", perturbation), ("client", clients))
    ]
    found += [
        constant("client", clients, adjacent, reports=reports, most_trials=_KEYED_RESPONSES // (reports * attributes))
        for reports in (1, 2, 3)
    ]
    found.append(
        constant(
            "client, averaged",
            averaged(clients, mechanism),
            adjacent,
            reports=_AVERAGED_REPORTS,
            most_trials=_KEYED_RESPONSES // (_AVERAGED_REPORTS * attributes),
            chunk=_AVERAGED_USERS,
        )
    )
    first, second = _changing_histories(mechanism.sizes)
    found.append(
        Attack(
            target="client, changing",
            neighbours=1,
            reports=len(first),
            values=Values.CHANGING,
            # No user has a value twice, so that the reports are independent and their losses add.
            claimed=len(first) * mechanism.epsilon(neighbours=1, reports=1),
            system=clients,
            pairs=((first, second),),
            most_trials=_KEYED_RESPONSES // (len(first) * attributes),
        )
    )
    return tuple(found)


def _adjacent_records(sizes: Sequence[int]) -> list[Histories]:
    """List the pairs of records, shape (1, attributes), with consecutive values of one attribute and equal others.

    Each bit of a report depends on what differs in at least one of the pairs.
    """
    pairs = []
    for attribute, size in enumerate(sizes):
        for value in range(size - 1):
            first, second = np.zeros((2, 1, len(sizes)), dtype=np.intp)
            first[0, attribute], second[0, attribute] = value, value + 1
            pairs.append((first, second))
    return pairs


def _changing_histories(sizes: Sequence[int]) -> Histories:
    """Return the histories of two users who change the largest attribute's value at the same time, to different ones.

    A third value shows whether the change itself distinguishes them: a user's two permanent responses have to be
    independent.
    """
    attribute = int(np.argmax(sizes))
    first, second = np.zeros((2, 2, len(sizes)), dtype=np.intp)
    first[:, attribute] = 0, 1
    second[:, attribute] = (1, 2) if sizes[attribute] > 2 else (1, 0)
    return first, second
