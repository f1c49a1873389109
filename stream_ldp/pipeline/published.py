"""What readers of the final answers to one window, who see no report, could learn of one user."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.mechanisms.shuffling import DELTA, composed_epsilon, shuffled_epsilon
from stream_ldp.pipeline.answer import Published
from stream_ldp.pipeline.plan import Section
from stream_ldp.steps import steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.mechanisms.blanket import Blanket
    from stream_ldp.mechanisms.plausibility import PlausibilityTest
    from stream_ldp.pipeline.kind import PublishedBound
    from stream_ldp.pipeline.window_task import WindowTask

#: A condition where each user is asked one of several questions, which stays the same: a reader who knew it would
#: look for the user among those of the same question alone.
UNKNOWN_QUESTION = "which question the user was asked is not known to them"

#: Numbers of windows for which a plan composes what readers learn.
WINDOWS = (10, 100)

_AS_MUCH = "another window costs as much again"


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedPlan:
    """What readers of finals could learn of a user of each of some windows, or epochs.

    reports: honest ones in each window, or honest users of each epoch.
    """

    reports: int
    windows: int
    published: Published | None

    @property
    def document(self) -> dict[str, Any]:
        """It as plain data."""
        found = None if self.published is None else self.published.model_dump()
        return {"reports": self.reports, "windows": self.windows, "published": found}


def published_among(
    collection: Collection,
    reports: int,
    *,
    windows: int,
    epsilon: float,
    lifetime: float,
    hidden: str,
    blanket: Blanket | None,
) -> Published | None:
    """State what readers of finals could learn of a user among so many reports; None where no bound is known.

    The theorem is about reports of different users, each counted once. So it does not cover users who report several
    times in a window, windows that share reports, and answers that remember earlier windows. Users who return with
    the same noise are beyond it, too: two windows of the same users but one differ by the report of that one. So of
    permanent noise it is stated only where the file says that nobody returns, and of several windows where everybody
    draws all noise anew for each.

    It is stated for the users of the window alone. A prior of previous windows makes an answer a function of their
    reports, too; what it shows of their users is bounded by the number of reports of their own windows.

    reports: of each window, all honest; at least one.
    windows: see `PublishedBound`.
    epsilon, lifetime: of one report, and of any number of them with the same noise, in nats; the latter is infinite
        if no noise is permanent.
    hidden: what is not distinguished, in words, such as `any two records`.
    blanket: of a report; None where none is known.
    """
    window, delta = collection.window, collection.delta or DELTA
    if window.reports_per_user > 1 or window.shares_reports:
        return None
    if windows > 1:
        return Published.among(
            f"{reports:,}",
            epsilon=composed_epsilon(epsilon, reports=reports, delta=delta, times=windows, blanket=blanket),
            delta=delta,
            once=anew(windows),
            hidden=hidden,
        )
    if window.returning != 0.0 and lifetime < math.inf:
        return None
    return Published.among(
        f"{reports:,}",
        epsilon=shuffled_epsilon(epsilon, reports=reports, delta=delta, blanket=blanket),
        delta=delta,
        hidden=hidden if lifetime < math.inf else f"{hidden}; {_AS_MUCH}",
    )


def anew(windows: int, *, what: str = "windows", each: str = "once") -> str:
    """Say in words how often a user reports whose noise, and that of all others, is drawn anew for each window."""
    return f"{each} in each of {windows} {what} for which the noise of all is drawn anew, each time"


def published_of_window(
    task: WindowTask[Any, Any],
    collection: Collection,
    published: PublishedBound[Any],
    *,
    plausibility: PlausibilityTest,
    reports: int | None = None,
) -> Published | None:
    """State what readers of a window's final answers could learn of a user; None where it is not known.

    The differences of provisional answers are sums of a few reports. Reports that do not look honest hide nobody, and
    a window without reports has nobody to hide.

    published: the kind's.
    plausibility: whether the reports look honest.
    reports: of the fewest users who hide each other; all of the window by default.
    """
    among = task.reports if reports is None else reports
    return published(collection, among) if task.final and among and not plausibility.flagged else None


def published_plans(
    collection: Collection, published: PublishedBound[Any], *, populations: Sequence[int]
) -> list[PublishedPlan]:
    """Work out what readers of finals could learn, for so many reports in a window and several numbers of windows.

    populations: numbers of honest reports in a window, or of honest users of an epoch.
    """
    return [
        PublishedPlan(reports=reports, windows=windows, published=published(collection, reports, windows=windows))
        for reports in steps(populations, "bounds for readers of answers")
        for windows in (1, *WINDOWS)
    ]


def published_section(plans: Sequence[PublishedPlan]) -> Section:
    """Return the part of a plan that says what readers of finals could learn."""
    by_reports = {plan.reports: [each for each in plans if each.reports == plan.reports] for plan in plans}
    conditions = {each.windows > 1: str(each.published) for each in reversed(plans) if each.published is not None}
    return Section(
        title="Epsilon against readers of final answers, if they trust the service",
        columns=("honest users", *("1 window" if each == 1 else f"{each} windows" for each in (1, *WINDOWS))),
        rows=tuple(
            (
                f"{reports:,}",
                *(
                    "not stated" if each.published is None else shown_epsilon(each.published.epsilon)
                    for each in of_reports
                ),
            )
            for reports, of_reports in by_reports.items()
        ),
        notes=(
            *(f"For example: {each}." for _, each in sorted(conditions.items())),
            "All numbers are upper bounds; several windows are composed numerically. If a user shows the same noise "
            "in several windows, the other users do not hide it: readers then learn as much as the service, at most "
            "the lifetime epsilon.",
            "No bound is stated for one window if users return with the same noise (`returning: 0` excludes this), "
            "nor for any if windows share reports or a user reports several times in one window.",
        ),
    )
