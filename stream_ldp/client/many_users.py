"""Charge many users at once: each has a secret and a ledger, known by the place of the user's record."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from stream_ldp.ledger.ledger import TurnTaken
from stream_ldp.ledger.store import LedgerError
from stream_ldp.ledger.terms import ReportRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from stream_ldp.client.perturber import Perturber
    from stream_ldp.collection.turns import Turn
    from stream_ldp.ledger.ledger_file import PrivacyLedger
    from stream_ldp.ledger.receipt import Receipt
    from stream_ldp.ledger.reports import AttributeReport, PhaseReport
    from stream_ldp.pipeline.kind import RoundMessage

#: The reason why one user's report is not sent.
Refusal: TypeAlias = ReportRefused | LedgerError

#: What is called with the place of a user, from 0 on, and the reason.
OnRefused: TypeAlias = "Callable[[int, Refusal], None]"

#: What is called with the place of a user, from 0 on, and the receipt of a report that is about to leave.
OnReceipt: TypeAlias = "Callable[[int, Receipt], None]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Charge:
    """A charge is what one user is about to show, for the user's ledger.

    place: of the user's record among those of all, from 0 on.
    """

    place: int
    ledger: PrivacyLedger
    reports: tuple[AttributeReport | PhaseReport, ...]


def spend_each(
    charges: Iterable[Charge], *, time_ms: int, turn: Turn | None, receipts: dict[int, Receipt]
) -> dict[int, Refusal]:
    """Count each charge in its ledger, and return why those that are not counted are refused, by place.

    turn: that of all these users; None where users take no turns.
    receipts: gets the receipts of those that are counted, by place, which have no rows.
    """
    places: dict[Callable[[], AbstractContextManager[None]], list[Charge]] = {}
    for charge in charges:
        places.setdefault(charge.ledger.together or nullcontext, []).append(charge)
    refused: dict[int, Refusal] = {}
    for together, of_place in places.items():
        counted: dict[int, Receipt] = {}
        try:
            with together():
                for charge in of_place:
                    try:
                        counted[charge.place] = charge.ledger.spend(charge.reports, time_ms=time_ms, turn=turn)
                    except (ReportRefused, LedgerError) as why:
                        refused[charge.place] = why
        except LedgerError as why:  # nothing of it is written
            refused |= dict.fromkeys(counted, why)
        else:
            receipts |= counted
    return refused


async def counted_rows(
    perturber: Perturber,
    table: Any,
    users: Sequence[int],
    *,
    secrets: Sequence[bytes],
    ledgers: Sequence[PrivacyLedger],
    time_ms: int,
    asked: RoundMessage | None = None,
    on_receipt: OnReceipt | None = None,
) -> tuple[NDArray[np.uint8], dict[int, Refusal]]:
    """Perturb what some users hold, and count each report in its user's ledger.

    users: places of theirs in the table, the secrets and the ledgers.
    asked: the round that they answer, where the kind has rounds.
    on_receipt: called with the place and the receipt of each whose report is counted.

    Returns:
        The rows of those who may report; and why the others may not, by place, but for those who have had their turn.
    """
    # The terms may change while this waits: the noise and the charge have to be under the same.
    rows, charges = [], []
    for memoises in (True, False):
        alike = [user for user in users if ledgers[user].terms.memoises is memoises]
        of_users = [secrets[user] for user in alike]
        rows.append(perturber.rows(table[alike], secrets=of_users, memoises=memoises, time_ms=time_ms, asked=asked))
        for user in alike:
            shown = perturber.charges(table[user : user + 1], secret=secrets[user], ledger=ledgers[user], asked=asked)
            charges.append(Charge(place=user, ledger=ledgers[user], reports=shown))
    # In a thread: a file is only written when the disk says so, and the event loop would wait for it.
    turn = perturber.turn(time_ms, asked=asked)
    receipts: dict[int, Receipt] = {}
    refused = await asyncio.to_thread(spend_each, charges, time_ms=time_ms, turn=turn, receipts=receipts)
    allowed = np.array([charge.place not in refused for charge in charges], dtype=np.bool_)
    others = {place: why for place, why in refused.items() if not isinstance(why, TurnTaken)}
    made = np.concatenate(rows)
    if on_receipt is not None:
        for charge, row in zip(charges, made, strict=True):
            if charge.place in receipts:
                on_receipt(charge.place, replace(receipts[charge.place], rows=(row.tobytes(),)))
    return made[allowed], others


def report_refused(refused: Mapping[int, Refusal], on_refused: OnRefused | None) -> None:
    """Call back with each user whose report is not sent, by place, or raise why the first is not."""
    for place in sorted(refused):
        if on_refused is None:
            raise refused[place]
        on_refused(place, refused[place])


def require_users(
    count: int,
    *,
    secrets: Sequence[bytes] | None,
    ledgers: Sequence[PrivacyLedger] | None,
    other: bytes | None,
) -> None:
    """Check that so many records come with the secrets and the ledgers of as many users.

    other: the secret of a user who is not among them.

    Raises:
        ValueError: there are too few or too many, a ledger is of a user with another secret, or one is that user's.
    """
    if secrets is None:
        if ledgers is not None:
            raise ValueError("a ledger counts what is reported with its user's secret: give the secrets, too")
        return
    if len(secrets) != count:
        raise ValueError(f"{count} records with {len(secrets)} secrets: give each user's own")
    if other in secrets:
        raise ValueError("the user whose secret this reporter has reports by report or report_series")
    if ledgers is None:
        return
    if len(ledgers) != count:
        raise ValueError(f"{count} records with {len(ledgers)} ledgers: give each user's own")
    for place, (secret, ledger) in enumerate(zip(secrets, ledgers, strict=True)):
        if not ledger.is_of(secret):
            raise ValueError(f"the ledger of user {place} is of a user with another secret")
