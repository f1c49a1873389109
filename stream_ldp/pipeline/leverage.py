"""What liars can move: users who send any report that is valid, in place of what the mechanism makes of their data.

No test of the reports is needed for this: the bound follows from the most that one report can add to an estimate
(Cao, Jia and Gong, 2021; their maximal gain attack attains it). It holds for all reports of liars and all values of
honest users.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from stream_ldp.pipeline.answer import Moved
from stream_ldp.pipeline.plan import Section

#: The share of liars that answers speak of, and those of plans.
LIARS = 0.01
PLANNED = (LIARS, 0.05)


@dataclass(frozen=True, kw_only=True, slots=True)
class Leverage:
    """The most that one crafted report can do to the numbers of an answer.

    series: name of the series.
    about: what the numbers are about, such as an attribute; empty for all numbers of the series.
    of_one: the most by which one report's summand of a mean differs from that of an honest report on average, in
        units of the mean.
    asked: share of the users over whose reports the number is a mean; all liars may claim to be among them.
    counts: whether the numbers are counts of reports, and not means.
    """

    series: str
    about: str = ""
    of_one: float
    asked: float = 1.0
    counts: bool = False

    def moved(self, *, liars: float, reports: int = 1) -> float:
        """Return the most that a share of liars can move the expectation of an unbiased estimate, up or down.

        Let a share s of the honest users be asked, and a share m of all users lie to the question. Then a share m /
        (m + (1 - m) s) of its answers is theirs.

        liars: in (0, 1).
        reports: number of all reports, by which counts grow.
        """
        crafted = liars / (liars + (1 - liars) * self.asked)
        return crafted * self.of_one * (reports if self.counts else 1)


def moved(leverages: Iterable[Leverage], *, series: str, reports: int) -> tuple[Moved, ...]:
    """Say what `LIARS` can have moved in an answer of a series."""
    return tuple(
        Moved(about=each.about, liars=LIARS, most=each.moved(liars=LIARS, reports=reports))
        for each in leverages
        if each.series == series
    )


def leverage_section(leverages: Iterable[Leverage]) -> Section:
    """Return the part of a plan that says what liars can move."""
    return Section(
        title="Largest bias of a raw number by users who send crafted reports",
        columns=("of", *(f"{liars:.0%} of the users" for liars in PLANNED)),
        rows=tuple(
            (
                " ".join(filter(None, (each.series, each.about))),
                *(f"{each.moved(liars=liars):.3g}" + (" of all reports" if each.counts else "") for liars in PLANNED),
            )
            for each in leverages
        ),
        notes=(
            "A user who only lies about a value moves its share by one user. Crafted reports gain less if there is "
            "less noise. Attackers can all choose a question that few honest users answer.",
        ),
    )
