"""This module holds what `report` was told: the file, the user and the terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from stream_ldp.cli.failure import fail
from stream_ldp.errors import ParameterError
from stream_ldp.privacy.ledger.ledger_file import PrivacyLedger, load_or_create_user
from stream_ldp.privacy.ledger.secret import ledger_file_of, load_or_create_secret
from stream_ldp.privacy.ledger.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.cli.inputs.records import Format
    from stream_ldp.kafka.settings import Settings

__all__ = ["ReportOptions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportOptions:
    """The options of `report`; each kind of collection refuses those that it has no use for.

    path: file of records or sets; - for standard input.
    epochs: number of epochs, for a collection of item sets.
    secret_file: file of the user's secret; None for that of the application's settings.
    given: the terms that were given, by the names of the fields of `Terms`; the others stay as they are.
    """

    path: Path
    epochs: int | None
    secret_file: Path | None
    many_users: bool
    given: Mapping[str, Any]
    change_terms: bool
    new_ledger: bool
    form: Format
    skip_bad: bool
    settings: Settings

    def user(self) -> tuple[bytes, PrivacyLedger]:
        """Load or create the user's secret and ledger.

        Raises:
            LedgerError, SecretError: one of them cannot be used.
        """
        # A command is typed in a directory, so here a relative path has a meaning.
        secret_file = (self.secret_file or Path(typer.get_app_dir("stream-ldp")) / "secret").resolve()
        if self.new_ledger or not secret_file.exists():
            terms = self._terms(Terms()) if "budget" in self.given else None
            if not self.new_ledger:
                return load_or_create_user(secret_file, terms=terms)
            if terms is None:
                fail("--new-ledger needs --budget: the nats that the user may spend, for ever", code=2)
            secret = load_or_create_secret(secret_file)
            return secret, PrivacyLedger.create(ledger_file_of(secret_file), secret=secret, terms=terms)
        self._terms(Terms())  # a mistake in the options is found before anything is opened
        secret, ledger = load_or_create_user(secret_file)
        if self.given:
            ledger.agree(self._terms(ledger.terms), change_terms=self.change_terms)
        return secret, ledger

    def _terms(self, agreed: Terms) -> Terms:
        """Return agreed terms with those that were given in their place."""
        changed = dict(self.given)
        if "assumption" in changed:
            changed.setdefault("max_values", None)
        try:
            return replace(agreed, **changed)
        except ParameterError as error:
            fail(f"--budget, --per-day, --assume, --max-values: {error}", code=2)
