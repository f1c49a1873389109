"""Charge many users at once: each has a secret and a ledger, known by the place of the user's record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_ldp.ledger.store import LedgerError
from stream_ldp.ledger.terms import ReportRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_ldp.collection.turns import Turn
    from stream_ldp.ledger.ledger_file import PrivacyLedger
    from stream_ldp.ledger.reports import AttributeReport


@dataclass(frozen=True, kw_only=True, slots=True)
class Charge:
    """A charge is what one user is about to show, for the user's ledger.

    place: of the user's record among those of all, from 0 on.
    """

    place: int
    ledger: PrivacyLedger
    reports: tuple[AttributeReport, ...]


def spend_each(
    charges: Iterable[Charge], *, time_ms: int, turn: Turn | None
) -> dict[int, ReportRefused | LedgerError]:
    """Count each charge in its ledger, and return why those that are not counted are refused, by place.

    turn: that of all these users; None where users take no turns.
    """
    refused: dict[int, ReportRefused | LedgerError] = {}
    for charge in charges:
        try:
            charge.ledger.spend(charge.reports, time_ms=time_ms, turn=turn)
        except (ReportRefused, LedgerError) as why:
            refused[charge.place] = why
    return refused


def require_users(
    count: int,
    *,
    secrets: Sequence[bytes] | None,
    ledgers: Sequence[PrivacyLedger] | None,
    other: bytes | None,
) -> None:
    """Check that so many records come with the secrets and the ledgers of as many users.

    other: the secret of a user who is none of them.

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
