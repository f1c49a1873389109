"""Collections whose users are each asked about one view, and whose estimates are of any attributes."""

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from stream_ldp.collection import Topics
from stream_ldp.collection.located import Misplaced
from stream_ldp.collection.synthesis import SynthesizingCollection
from stream_ldp.deferred import deferred
from stream_ldp.errors import ParameterError
from stream_ldp.questions.collection import AskingCollection
from stream_ldp.questions.questions import QuestionSet, Table
from stream_ldp.records.collection import AD_HOC, with_estimate
from stream_ldp.views.cells import ViewAxis
from stream_ldp.views.question import AnyViewQuestion
from stream_ldp.views.series import ViewEstimateSpec
from stream_ldp.views.spec import ViewsSpec


class ViewsCollection(SynthesizingCollection, AskingCollection):
    """A collection of joint distributions that users report in views, as a collection file describes it.

    estimates: the joint distributions to estimate.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics] = Topics(answers="estimates")
    marginals = deferred("stream_ldp.synthesis.window:marginals_of_views")

    mechanism_spec: ViewsSpec = Field(alias="mechanism")
    estimates: tuple[ViewEstimateSpec, ...] = Field(
        min_length=1, examples=[[{"name": "all", "of": ["sport", "health"]}]]
    )

    @model_validator(mode="after")
    def _estimates_are_determined(self) -> Self:
        self._check_estimates()
        if self.synthesis is not None and self.synthesis.stop is not None:
            raise Misplaced("views are fitted in one way: leave it out", "synthesis", "stop")
        covered = {of for view in self.questions.questions for size in (1, 2) for of in combinations(view.of, size)}
        for index, estimate in enumerate(self.estimates):
            if self.mechanism_spec.ask in ("auto", "independent"):
                # Both ask about every attribute; auto leaves pairs out whose noise is more than their dependence.
                continue
            if self.mechanism_spec.label in estimate.of:
                # All others are asked with it, and depend on each other as far as they depend on it.
                continue
            places = sorted(self.positions_of(estimate.of))
            for of in (of for size in (1, 2) for of in combinations(places, size)):
                if of not in covered:
                    names = " and ".join(self.attributes[place].name for place in of)
                    raise Misplaced(
                        f"no view has {names}{' together' if len(of) > 1 else ''}: ask about it, or give `ask: auto`",
                        "estimates",
                        index,
                        "of",
                    )
        return self

    @cached_property
    def questions(self) -> QuestionSet[AnyViewQuestion]:
        """See `AskingCollection.questions`: one for each view."""
        return self.mechanism_spec.questions(self.attributes)

    @property
    def whole(self) -> ViewEstimateSpec:
        """See `SynthesizingCollection.whole`: any estimate, since all answers are counted for each."""
        return self.estimates[0]

    def counting_all(self) -> Self:
        return self

    @cached_property
    def axes(self) -> tuple[ViewAxis, ...]:
        """The attributes as estimates have them."""
        sizes = self.mechanism_spec.sizes(self.attributes)
        return tuple(ViewAxis(attribute=each, size=size) for each, size in zip(self.attributes, sizes, strict=True))

    @property
    def record_labels(self) -> tuple[tuple[str, ...], ...]:
        return tuple(axis.labels for axis in self.axes)

    def attributes_of(self, estimate: ViewEstimateSpec) -> tuple[ViewAxis, ...]:
        """List the attributes of an estimate, in the order of its axes."""
        return tuple(self.axes[self._positions[name]] for name in estimate.of)

    def columns_of(self, table: Table, estimate: ViewEstimateSpec) -> tuple[NDArray[np.int64], ...]:
        """Return the values that users have of each axis of an estimate, by their numbers; of a number, its cells."""
        return tuple(self.axes[place].holding(table[str(place)]) for place in self.positions_of(estimate.of))


def narrowed_to(collection: ViewsCollection, of: Sequence[str], method: str | None) -> ViewsCollection:
    """Make a collection with the same reports whose only estimate is of other attributes.

    of: names of the attributes, in the order of the axes.
    method: None, since there is one way to fit views.

    Raises:
        ParameterError: an attribute is not one of the collection's, no view has two of them together, or a method is
            given.
    """
    if method is not None:
        raise ParameterError(f"views are fitted in one way, which is no choice of methods; got {method!r}")
    return with_estimate(collection, {"name": AD_HOC, "of": tuple(of)})
