"""How users are asked about views, as a collection file writes it."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from stream_ldp.collection import Label, Part
from stream_ldp.collection.located import Misplaced, suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.oracle_spec import require_less_per_report
from stream_ldp.mechanisms.piecewise import square_wave
from stream_ldp.questions.questions import QuestionSet
from stream_ldp.views.cells import MAX_CELLS, MIN_CELLS, ViewAxis, cells_of, guideline
from stream_ldp.views.design import MAX_VIEW_CELLS, USERS, Design, candidates, designed, ranked
from stream_ldp.views.question import AnyViewQuestion, NumberAlone, ViewQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.questions.attributes import AskedAttribute

#: Share of the users who report pairs, for whom the cells of numbers are chosen: the others report one attribute
#: alone.
_OF_PAIRS = 0.5

GivenView = tuple[Label, ...]
_ASKED = ("auto", "attributes", "independent", "pairs")
_Word = Literal[
    "auto",
    "attributes",
    "independent",
    "pairs",
    "attributes 0.1 + pairs",
    "attributes 0.25 + pairs",
    "attributes 0.5 + pairs",
    "attributes 0.75 + pairs",
    "attributes 0.9 + pairs",
    "plane",
    "cover 16",
    "cover 32",
    "cover 64",
    "cover 128",
    "cover 256",
    "cover 512",
    "cover 1024",
    "cover 2048",
]


class With(Part):
    """The views of one attribute with each other one, as a file writes them: `{with: income}`.

    with: the attribute.
    """

    label: Label = Field(alias="with")


def _readable(value: object) -> object:
    """Check that something is a name, an attribute or a list of views, which one message can say."""
    if isinstance(value, With) or (isinstance(value, str) and value in get_args(_Word)):
        return value
    if isinstance(value, dict) and set(value) == {"with"}:
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(each, list | tuple) and each for each in value):
        return value
    raise ParameterError(
        f"expected {', '.join(_ASKED)}, a design that `plan` shows, an attribute that is asked about with each other "
        f"one, such as {{with: a}}, or a list of views, each a list of attributes, such as [[a, b], [b, c]]; got "
        f"{value!r}"
    )


Asked = Annotated[_Word | With | tuple[GivenView, ...], BeforeValidator(_readable)]


class ViewsSpec(Part):
    """The views of a collection as its file writes them.

    kind: `sampled`.
    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    per_report: nats that one report may cost, where `epsilon` is for the lifetime: answers by k-rr are
        remembered, and perturbed again for each report. Without it, every report repeats the answer itself.
    ask: the views: every one of the `attributes` by itself; the same as `independent`, where what is estimated of
        several is the product; all `pairs`; those of one attribute `with` each other one, from which it is best
        predicted; a list of them; another design by the name that `plan` shows; or `auto`: the design with the least
        error to expect.
    oracle: perturbs the cell that a user is in: `auto` takes the one of least mean variance.
    users: number of users of a window for whom `auto` chooses, and the cells of numbers are; part of what is asked,
        since all clients have to choose alike.
    cells: number of parts of the range of each number that views report; by default as `stream_ldp.views.cells` has
        it.
    dependence: mean AVD between the joint distribution of two attributes and the product of their margins that
        `auto` expects.
    """

    kind: Literal["sampled"]
    epsilon: float = Field(gt=0, allow_inf_nan=False, description="nats that an answer may cost")
    per_report: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    ask: Asked = Field(
        description="with `estimates`, what users are asked about together, such as pairs; without, one each"
    )
    oracle: Literal["auto", "k-rr", "k-subset", "hadamard"] = "auto"
    users: int | None = None
    cells: Annotated[int, Field(ge=MIN_CELLS, le=MAX_CELLS)] | None = None
    dependence: Annotated[float, Field(gt=0, lt=1)] | None = None

    @model_validator(mode="after")
    def _auto_has_users(self) -> Self:
        if self.users is not None and self.users < 2:
            raise Misplaced(
                f"{self.users:,}: a user reports one view; a design needs 2 users or more, and some hundred for "
                "each view to say anything",
                "users",
            )
        if self.per_report is not None and self.oracle not in ("auto", "k-rr"):
            raise Misplaced(f"is for answers by oracle k-rr; leave it out for {self.oracle}", "per_report")
        if self.per_report is not None:
            require_less_per_report(self.per_report, epsilon=self.epsilon)
        if self.ask != "auto" and self.dependence is not None:
            raise Misplaced(f"is for `ask: auto`, which chooses by it; leave it out for {self.asked}", "dependence")
        return self

    @property
    def asked(self) -> str:
        """What is asked about, in a word or two."""
        if self.label is not None:
            return f"{self.label} with each other attribute"
        return self.ask if isinstance(self.ask, str) else "given views"

    @property
    def label(self) -> str | None:
        """The attribute that is asked about with each other one; None if there is none."""
        return None if isinstance(self.ask, str | tuple) else self.ask.label

    @property
    def for_users(self) -> int:
        """Number of users of a window for whom `auto` chooses."""
        return USERS if self.users is None else self.users

    def design(self, attributes: Sequence[AskedAttribute]) -> Design:
        """Return the views and their shares of the users.

        Raises:
            ParameterError: a view has an unknown or repeated attribute, or too many cells, or comes twice; an oracle
                is not for one; or the epsilon is beyond the resolution.
        """
        sizes = self.sizes(attributes)
        if self.ask == "auto":
            return ranked(
                sizes,
                epsilon=self.epsilon,
                users=self.for_users,
                dependence=self.dependence,
                oracle=self.oracle,
                per_report=self.per_report,
                alone=numbers_among(attributes),
            )[0]
        if isinstance(self.ask, str) and self.ask not in _ASKED:
            found = candidates(
                sizes, epsilon=self.epsilon, oracle=self.oracle, per_report=self.per_report, names=[self.ask]
            )
            if not found:
                raise Misplaced(
                    "these attributes have no such design: `plan` shows those of `ask: auto`", "mechanism", "ask"
                )
            return found[0]
        if isinstance(self.ask, str):
            name = "pairs" if self.ask == "pairs" else "attributes"
            views: list[tuple[int, ...]] = [*combinations(range(len(sizes)), 2 if name == "pairs" else 1)]
            return self._of(name, views, attributes)
        if isinstance(self.ask, tuple):
            return self._of("given", _positions(self.ask, attributes), attributes)
        return self._of(f"with {self.ask.label}", _star(self.ask.label, attributes), attributes)

    def questions(self, attributes: Sequence[AskedAttribute]) -> QuestionSet[AnyViewQuestion]:
        """Return a question for each view.

        Raises:
            ParameterError: see `design`.
        """
        design = self.design(attributes)
        questions: list[AnyViewQuestion] = []
        for view, weight in zip(design.views, design.weights, strict=True):
            of = tuple(attributes[place] for place in view)
            if len(of) == 1 and of[0].range is not None:
                wave, axis = square_wave(self.epsilon), ViewAxis(attribute=of[0], size=design.sizes[view[0]])
                edges = [] if axis.edges is None else axis.edges.tolist()
                questions.append(
                    NumberAlone(of=view, attributes=of, randomizer=wave, weight=weight, edges=tuple(edges))
                )
                continue
            shape = tuple(design.sizes[place] for place in view)
            oracle = design.oracle_of(view)
            questions.append(ViewQuestion(of=view, attributes=of, shape=shape, randomizer=oracle, weight=weight))
        return QuestionSet(questions=tuple(questions))

    def sizes(self, attributes: Sequence[AskedAttribute]) -> tuple[int, ...]:
        """Return the number of values of each attribute; of a number, that of its cells.

        Raises:
            Misplaced: an attribute is any text, or is a number with a setting that views do not support; or the spec
                is about numbers, and there are none.
        """
        for place, attribute in enumerate(attributes):
            _check_attribute(attribute, place)
        numbers = numbers_among(attributes)
        if numbers and self.per_report is not None:
            raise Misplaced(
                f"answers about {attributes[numbers[0]].name!r}, a number, are not perturbed again: leave it out, or "
                "give the attribute `bins`",
                "mechanism",
                "per_report",
            )
        if self.cells is not None and not numbers:
            raise Misplaced("is for attributes with a `range`: there is none, so leave it out", "mechanism", "cells")
        if self.users is not None and self.ask != "auto" and not numbers:
            raise Misplaced(
                f"is for `ask: auto`, which chooses by it; leave it out for {self.asked}", "mechanism", "users"
            )
        of_view = self.for_users * _OF_PAIRS / self._pairs(len(attributes))
        cells = self.cells or guideline(of_view, epsilon=self.epsilon)
        return tuple(cells_of(each, cells) for each in attributes)

    def _pairs(self, attributes: int) -> int:
        """Return the number of views of several attributes, as far as the file has it: all pairs, or else fewer."""
        if isinstance(self.ask, tuple):
            return max(1, sum(len(view) > 1 for view in self.ask))
        return max(1, math.comb(attributes, 2) if self.label is None else attributes - 1)

    def _of(self, name: str, views: Sequence[tuple[int, ...]], attributes: Sequence[AskedAttribute]) -> Design:
        sizes = self.sizes(attributes)
        if not views:
            raise Misplaced("a single attribute has no pairs: ask about `attributes`", "mechanism", "ask")
        for number, view in enumerate(views):
            cells = math.prod(sizes[place] for place in view)
            if cells > MAX_VIEW_CELLS:
                names = ", ".join(attributes[place].name for place in view)
                raise Misplaced(
                    f"a view of {names} has {cells:,} cells; at most {MAX_VIEW_CELLS:,}: take fewer attributes, or "
                    "merge some of their values",
                    "mechanism",
                    "ask",
                    *((number,) if isinstance(self.ask, tuple) else ()),
                )
        return designed(
            name, views, sizes=sizes, epsilon=self.epsilon, oracle=self.oracle, per_report=self.per_report
        )


def _positions(asked: Sequence[Sequence[str]], attributes: Sequence[AskedAttribute]) -> list[tuple[int, ...]]:
    positions = {each.name: place for place, each in enumerate(attributes)}
    views: list[tuple[int, ...]] = []
    for number, names in enumerate(asked):
        for place, name in enumerate(names):
            if name not in positions:
                problem = f"{name!r} is not an attribute{suggestion(name, positions)}"
                raise Misplaced(problem, "mechanism", "ask", number, place)
            if name in names[:place]:
                raise Misplaced(f"{name!r} is in this view twice", "mechanism", "ask", number, place)
        view = tuple(sorted(positions[name] for name in names))
        if view in views:
            raise Misplaced(
                f"{', '.join(names)} are view {views.index(view) + 1} already; name each view once",
                "mechanism",
                "ask",
                number,
            )
        views.append(view)
    return views


def _star(label: str, attributes: Sequence[AskedAttribute]) -> list[tuple[int, ...]]:
    """Return the positions of an attribute with each other one."""
    names = [each.name for each in attributes]
    if label not in names:
        raise Misplaced(f"{label!r} is not an attribute{suggestion(label, names)}", "mechanism", "ask", "with")
    centre = names.index(label)
    return [(min(centre, place), max(centre, place)) for place in range(len(names)) if place != centre]


def numbers_among(attributes: Sequence[AskedAttribute]) -> tuple[int, ...]:
    """Return the positions of the numbers among some attributes."""
    return tuple(place for place, each in enumerate(attributes) if each.range is not None)


def _check_attribute(attribute: AskedAttribute, place: int) -> None:
    if attribute.candidates is not None:
        raise Misplaced(
            f"attribute {attribute.name!r} is any text, and views are of `values`, `bins` or a `range`: list its "
            "values, or leave `estimates` and `ask` out",
            "attributes",
            place,
        )
    if attribute.quantiles:
        raise Misplaced(
            "quantiles are published of numbers by themselves: leave `estimates` and `ask` out, or the quantiles",
            "attributes",
            place,
            "quantiles",
        )
