"""Collections of places: a public tree of regions, and the epsilons that users may choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from typing_extensions import TypeAliasType

from stream_ldp.collection import Label, Part, Topics, one_of
from stream_ldp.collection.attributes import refused_of
from stream_ldp.collection.located import Misplaced, suggestion
from stream_ldp.collection.values import encode_value, number_of, text_of
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.mechanisms import FrequencyOracle
from stream_ldp.pipeline.window_series import CollectionOfFilteredSeries
from stream_ldp.places.questions import CLASS, PLACE, REGION, PlaceQuestion
from stream_ldp.places.tree import PlaceTree, even_tree, named_tree
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.collection import CollectionOfQuestions
from stream_ldp.questions.oracles import value_oracle
from stream_ldp.questions.questions import MAX_QUESTIONS, QuestionSet, Table

#: What may perturb places, by the name in a collection file.
_ORACLES = Literal["auto", "k-rr", "k-subset", "hadamard"]

#: What a file may say of a tree, for its JSON Schema; `named_tree` reads it, and says what is wrong by region.
Regions = TypeAliasType("Regions", "dict[Label, Regions] | tuple[Label, ...]")


class PlaceSpec(Part):
    """How users are asked for their places.

    kind: `places`.
    epsilon: the privacy losses, in nats; each user chooses one.
    oracle: perturbs places; `auto` takes the one of least mean variance for each size of a region.
    weights: how the answers of users with different epsilons are put together: `variance` gives those with a larger
        epsilon more weight. It has less noise, and is unbiased only if within a region the choice of epsilon is
        independent of the place; `users` counts all alike, which is unbiased, and lets users who craft reports choose
        the epsilon by which they move most.
    """

    kind: Literal["places"]
    epsilon: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = Field(min_length=1)
    oracle: _ORACLES = "auto"
    weights: Literal["users", "variance"] = "variance"

    @model_validator(mode="after")
    def _epsilons_ascend(self) -> Self:
        if any(one >= other for one, other in zip(self.epsilon, self.epsilon[1:], strict=False)):
            raise Misplaced(f"give the epsilons in ascending order, each once: {list(self.epsilon)}", "epsilon")
        return self


class Choice:
    """What a user's record says beside the place: one of a few names."""

    def __init__(self, name: str, values: Sequence[str], *, other: str | None = None) -> None:
        self.name = name
        self.labels = tuple(values)
        self._other = other

    def encode(self, value: Any) -> int:
        """Convert a name to its number.

        Raises:
            MissingValue: it is missing.
            DataError: it is not among them, and no other stands for it.
        """
        return encode_value(value, self.labels, attribute=self.name, other=self._other)


class _Epsilon(Choice):
    def __init__(self, epsilons: Sequence[float]) -> None:
        super().__init__("epsilon", [str(epsilon).removesuffix(".0") for epsilon in epsilons])
        self._epsilons = list(epsilons)

    def encode(self, value: Any) -> int:
        try:
            text = text_of(value, what="the epsilon") or ""
            return self._epsilons.index(number_of(text, attribute=self.name))
        except ValueError:
            return super().encode(value)


class PlaceCollection(CollectionOfFilteredSeries, CollectionOfQuestions):
    """A collection of places, as a collection file describes it.

    mechanism: how users are asked, and what perturbs their places.
    places: the tree of regions: a mapping of regions to their own regions, and so on down to lists of places.
    levels: in place of it, the number of parts of the root, of each of its parts, and so on.
    root: name of the region that holds all places.
    other: place that stands for all that are not in the file; without it, users there report nothing, which shows it.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics] = Topics(answers="places")

    model_config = ConfigDict(json_schema_extra=one_of("places", "levels"))

    mechanism_spec: PlaceSpec = Field(alias="mechanism")
    places: Annotated[Any, BeforeValidator(lambda value: value, json_schema_input_type=Regions)] = None
    levels: tuple[Annotated[int, Field(ge=2)], ...] | None = Field(default=None, min_length=1)
    root: Label = "everywhere"
    other: Label | None = None

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if (self.places is None) == (self.levels is None):
            raise ParameterError("give either `places`, a tree of regions, or `levels`, such as [4, 4, 4]")
        if self.other is not None and self.other not in self.tree.places:
            raise Misplaced(f"{self.other!r} is not a place{suggestion(self.other, self.tree.places)}", "other")
        asked = len(self.tree.regions) * len(self.mechanism_spec.epsilon)
        if asked > MAX_QUESTIONS:
            raise ParameterError(f"{asked:,} pairs of a region and an epsilon; at most {MAX_QUESTIONS:,}")
        self.checked_questions()
        return self

    @cached_property
    def tree(self) -> PlaceTree:
        """The public tree of regions."""
        if self.levels is not None:
            return even_tree(self.levels, root=self.root)
        return named_tree(self.places, root=self.root)

    @cached_property
    def questions(self) -> QuestionSet[PlaceQuestion]:
        """The questions: for each region in order, one for each epsilon; each user answers one."""
        return QuestionSet(questions=self.asked)

    @cached_property
    def asked(self) -> tuple[PlaceQuestion, ...]:
        """The same questions, one by one."""
        spec = self.mechanism_spec
        of_place = AskedAttribute(name="place", values=self.tree.places)
        return tuple(
            PlaceQuestion(
                of=(0,),
                attributes=(of_place,),
                randomizer=value_oracle(spec.oracle, region.size, epsilon=epsilon),
                weight=1,
                region=region,
                epsilon=epsilon,
            )
            for region in self.tree.regions
            for epsilon in spec.epsilon
        )

    @cached_property
    def oracles(self) -> tuple[FrequencyOracle, ...]:
        """The randomizer of each question."""
        return tuple(each.randomizer for each in self.asked)

    def number_of(self, region: int, epsilon: int) -> int:
        """Return the number of the question about a region at an epsilon, both given by number."""
        return region * len(self.mechanism_spec.epsilon) + epsilon

    @cached_property
    def attributes(self) -> tuple[Choice, ...]:
        """What a record says of a user: the place, the region and the epsilon."""
        return (
            Choice("place", self.tree.places, other=self.other),
            Choice("region", [region.name for region in self.tree.regions]),
            _Epsilon(self.mechanism_spec.epsilon),
        )

    @property
    def _meaning(self) -> list[Any]:
        """The fingerprint's input, which says all that the meaning of a report depends on.

        It is [name, "places", [place, ...], [[first place, end, kind of randomizer, [parameter, ...]], ...]].
        """
        return [
            self.name,
            self.mechanism_spec.kind,
            list(self.tree.places),
            [question.meaning for question in self.questions.questions],
        ]

    def encode(self, record: Mapping[str, Any]) -> tuple[Any, ...]:
        """Convert a record with `place`, `region` and `epsilon` to their numbers.

        Raises:
            DataError: one is missing, or not in the file, or the place is outside the region. The message never
                repeats the place.
        """
        encoded = super().encode(record)
        place, region, _ = encoded
        if place not in self.tree.regions[region]:
            raise DataError(f"the place is outside the region {self.tree.regions[region].name!r}")
        return encoded

    @property
    def refused(self) -> tuple[str, ...]:
        """See `Collection.refused`: region and epsilon are in the clear, and so is what is refused of them."""
        return (*refused_of(self.attributes[:1]), "place: one outside the region that its user has chosen")

    @property
    def _columns(self) -> list[tuple[str, str]]:
        return [(column, "<i8") for column in (PLACE, REGION, CLASS)]

    def chosen(self, table: Table) -> NDArray[np.int64]:
        """Return the number of the question that each user answers, int64, shape (n,)."""
        numbers: NDArray[np.int64] = table[REGION] * len(self.mechanism_spec.epsilon) + table[CLASS]
        return numbers
