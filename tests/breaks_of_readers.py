"""Ways to break what users, readers and web pages are told or may do, each with the test that is named for it.

They are of the classes of `tests.breaks`, over what no audit looks at: receipts, floors, rows, HTTP, and what is
stated of readers of finals. `python -m tests.breaks` prints what catches each, after the others.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from stream_ldp import spreadsheet
from stream_ldp.gateway import server
from stream_ldp.http import incidents
from stream_ldp.http.hosts import Hosts
from stream_ldp.ledger.receipt import Receipt
from stream_ldp.mechanisms import composition
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.composition import Losses
from stream_ldp.mechanisms.privacy_loss import surest_guess
from stream_ldp.pipeline import published, window_task
from stream_ldp.questions import answers as enough_answers
from stream_ldp.records import solve
from tests.breaks import SURVEY, Break, Patch, _replacing

_RECEIPT = "tests/ledger/test_receipt.py::test_a_receipt_says_in_words_what_left_and_what_is_left"
_BLANKET = "tests/mechanisms/test_blanket.py"
_PUBLISHED = "tests/pipeline/test_published.py::test_where_the_theorem_does_not_hold_nothing_is_stated"


def _set(target: Any, name: str, value: Any) -> Patch:
    return _replacing(target, name, lambda _: value)


def _unflagged(original: Any) -> Any:
    def stated(*arguments: Any, plausibility: Any, **others: Any) -> Any:
        return original(*arguments, plausibility=SimpleNamespace(flagged=False), **others)

    return stated


def _nobody_returns(original: Any) -> Any:
    def stated(collection: Any, *arguments: Any, **others: Any) -> Any:
        window = collection.window.model_copy(update={"returning": 0.0})
        return original(collection.model_copy(update={"window": window}), *arguments, **others)

    return stated


def _reports_for_users(original: Any) -> Any:
    def few(drawn: Any, collection: Any) -> Any:
        window = collection.window.model_copy(update={"reports_per_user": 1.0})
        return original(drawn, collection.model_copy(update={"window": window}))

    return few


def _a_user_fewer(original: Any) -> Any:
    return lambda drawn, collection: original(np.asarray(drawn) + 1, collection)


def _a_step_lower(original: Any) -> Any:
    return lambda deltas, *, step: original(np.append(deltas[1:], 0.0), step=step)


#: What is told and let in.
READERS = (
    Break(number=201, what="a receipt's best guess is that after one report",
          patch=_set(Receipt, "surest", property(lambda self: surest_guess(self.cost))), subject=SURVEY, by=(),
          test=_RECEIPT),
    Break(number=202, what="a receipt shows the whole budget as what is left",
          patch=_set(Receipt, "left", property(lambda self: self.budget)), subject=SURVEY, by=(), test=_RECEIPT),
    Break(number=203, what="a question's floor counts reports, and not users",
          patch=_replacing(enough_answers, "too_few", _reports_for_users), subject=SURVEY, by=(),
          test="tests/questions/test_answers.py"),
    Break(number=204, what="a question's floor is a user too low",
          patch=_replacing(enough_answers, "too_few", _a_user_fewer), subject=SURVEY, by=(),
          test="tests/questions/test_answers.py"),
    Break(number=205, what="a window's floor counts reports, and not users",
          patch=_set(window_task, "fewest_users", lambda collection, task: task.reports), subject=SURVEY, by=(),
          test="tests/pipeline/test_window_task.py"),
    Break(number=206, what="the share who return is told of a single user",
          patch=_set(solve, "few_return", lambda users, *, floor: False), subject=SURVEY, by=(),
          test="tests/records/test_solve.py::test_the_share_who_return_is_withheld_where_it_is_about_few_of_them"),
    Break(number=207, what="an exported text may be a formula", patch=_set(spreadsheet, "_FORMULA", ("\0",)),
          subject=SURVEY, by=(), test="tests/test_spreadsheet.py"),
    Break(number=208, what="a server answers to any name", patch=_set(Hosts, "accept", lambda self, host: True),
          subject=SURVEY, by=(), test="tests/http/test_hosts.py"),
    Break(number=209, what="the log of a port has what was sent",
          patch=_set(incidents, "_place", str), subject=SURVEY, by=(),
          test="tests/http/test_incidents.py"),
    Break(number=210, what="a gateway lets in scripts of any page",
          patch=_set(server.Gateway, "_admits", lambda self, origin: True), subject=SURVEY, by=(),
          test="tests/gateway/test_server.py::test_a_gateway_that_names_no_origin_takes_nothing_from_scripts"),
    Break(number=211, what="what readers learn is stated of windows that are not honest",
          patch=_replacing(published, "published_of_window", _unflagged), subject=SURVEY, by=(), test=_PUBLISHED),
    Break(number=212, what="what readers learn is stated of users who return",
          patch=_replacing(published, "published_among", _nobody_returns), subject=SURVEY, by=(), test=_PUBLISHED),
    Break(number=213, what="a blanket is a tenth larger than it is",
          patch=_replacing(Blanket, "delta", lambda original: lambda self, epsilon, *, reports: original(
              Blanket(share=min(1.0, 1.1 * self.share), outcomes=self.outcomes), epsilon, reports=reports)),
          subject=SURVEY, by=(), test=_BLANKET),
    Break(number=214, what="a report more hides each user than there is",
          patch=_replacing(Blanket, "delta", lambda original: lambda self, epsilon, *, reports: original(
              self, epsilon, reports=reports + 1)),
          subject=SURVEY, by=(), test=_BLANKET),
    Break(number=215, what="a window fewer is composed than there are",
          patch=_replacing(Losses, "composed", lambda original: lambda self, times, *, delta: original(
              self, max(1, times - 1), delta=delta)),
          subject=SURVEY, by=(), test="tests/mechanisms/test_composition.py"),
    Break(number=216, what="losses are rounded down to their places",
          patch=_replacing(composition, "_chances", _a_step_lower), subject=SURVEY, by=(),
          test="tests/mechanisms/test_composition.py"),
)  # fmt: skip
