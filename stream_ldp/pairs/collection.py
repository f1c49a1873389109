"""Collections of key-value data: keys, the ranges of their numbers, and how users are asked for one of them."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from stream_ldp.collection import Label, Part, Topics, one_of, require_distinct
from stream_ldp.collection.attributes import require_mapping
from stream_ldp.collection.located import Misplaced
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.mechanisms import DirectResponse, FrequencyOracle
from stream_ldp.pairs.question import NOT_HELD, Key, PairsQuestion, variance_of_share
from stream_ldp.pipeline.window_series import CollectionOfOneSeries
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.collection import CollectionOfQuestions
from stream_ldp.questions.oracles import value_oracle
from stream_ldp.questions.questions import QuestionSet, Table

#: Slots where a file does not say: users with more keys than these count for less.
_PADDING = 4

#: Widths of ranges of numbers: beyond them, a variance is 0 or infinite as a number of 64 bits.
_NARROWEST, _WIDEST = 1e-100, 1e100

Bounds = tuple[float, float]


class KeysSpec(Part):
    """The keys that users may hold.

    names: names of the keys, as records have them.
    range: the least and the largest number of every key.
    ranges: in place of it, a range for each key, in their order.
    clip: whether clients take a number beyond the range for the nearest in it; otherwise they refuse it.
    """

    model_config = ConfigDict(json_schema_extra=one_of("range", "ranges"))

    names: tuple[Label, ...] = Field(min_length=1)
    range: Bounds | None = None
    ranges: tuple[Bounds, ...] | None = Field(default=None, min_length=1)
    clip: bool = True

    @model_validator(mode="after")
    def _ranges_fit(self) -> Self:
        require_distinct(self.names, "keys", "names")
        if (self.range is None) == (self.ranges is None):
            raise ParameterError("give either `range: [least, largest]` of all keys, or `ranges`, one for each")
        if self.ranges is not None and len(self.ranges) != len(self.names):
            raise Misplaced(f"{len(self.names)} keys and {len(self.ranges)} ranges: give each key one", "ranges")
        for bounds in self.bounds:
            least, largest = bounds
            if not (all(map(math.isfinite, bounds)) and _NARROWEST <= largest - least <= _WIDEST):
                raise Misplaced(
                    f"a range needs two numbers, the smaller one first; got [{least:g}, {largest:g}]",
                    "range" if self.ranges is None else "ranges",
                )
        return self

    @property
    def bounds(self) -> tuple[Bounds, ...]:
        """The range of each key."""
        if self.range is not None:
            return (self.range,) * len(self.names)
        return self.ranges or ()


class PairsSpec(Part):
    """How users are asked for a key and its number.

    kind: `pairs`.
    epsilon: privacy loss, in nats, that an answer may cost, for any two users, whatever they hold.
    oracle: perturbs which key was drawn, and to which end its number was rounded; `auto` takes the one with
        the least error of the share of a rare key. Only k-rr gains from what is drawn.
    padding: number of keys that a user may hold without counting for less: each draws one of so many slots.
    """

    kind: Literal["pairs"]
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    oracle: Literal["auto", "k-rr", "k-subset", "oue", "hadamard"] = "auto"
    padding: int | None = Field(default=None, ge=1)


def _oracle(spec: PairsSpec, keys: int, *, padding: int) -> FrequencyOracle:
    """Return what perturbs the ends of keys and slots without a key; of several, that with the least error."""
    drawn = DirectResponse.for_set(2 * keys, padding=padding, epsilon=spec.epsilon)
    if spec.oracle == "k-rr":
        return next(iter(drawn))
    other = value_oracle(spec.oracle, 2 * keys + 1, epsilon=spec.epsilon)
    found: list[FrequencyOracle] = [other, *(drawn if spec.oracle == "auto" else ())]
    return min(found, key=lambda oracle: variance_of_share(oracle, padding=padding))


class PairsCollection(CollectionOfOneSeries, CollectionOfQuestions):
    """A collection of key-value data, as a collection file describes it.

    mechanism: how users are asked, and what perturbs their answers.
    keys: the keys that users may hold.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics] = Topics(answers="pairs")
    sparse: ClassVar[bool] = True

    mechanism_spec: PairsSpec = Field(alias="mechanism")
    keys: KeysSpec = Field(examples=[{"names": ["search", "maps"], "range": [0, 60]}])

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        padding = self.mechanism_spec.padding
        if padding is not None and padding > len(self.keys.names):
            raise Misplaced(f"nobody holds {padding} of {len(self.keys.names)} keys", "mechanism", "padding")
        self.checked_questions()
        return self

    @property
    def padding(self) -> int:
        """Least number of slots that a user draws from."""
        return self.mechanism_spec.padding or min(_PADDING, len(self.keys.names))

    @cached_property
    def attributes(self) -> tuple[Key, ...]:
        """What a record may say of a user: a number for each key that the user holds."""
        return tuple(
            Key(name, bounds, clip=self.keys.clip)
            for name, bounds in zip(self.keys.names, self.keys.bounds, strict=True)
        )

    @cached_property
    def questions(self) -> QuestionSet[PairsQuestion]:
        """The only question.

        Raises:
            ParameterError: the oracle is not for so many keys, or the epsilon is beyond the resolution.
        """
        spec, count = self.mechanism_spec, len(self.keys.names)
        question = PairsQuestion(
            of=tuple(range(count)),
            attributes=(AskedAttribute(name="pairs", candidates=self.keys.names),),
            randomizer=_oracle(spec, count, padding=self.padding),
            weight=1,
            keys=self.attributes,
            padding=self.padding,
        )
        return QuestionSet(questions=(question,))

    @property
    def question(self) -> PairsQuestion:
        """The same question by itself."""
        return self.questions.questions[0]

    @property
    def _meaning(self) -> list[Any]:
        """The fingerprint's input, which says all that the meaning of a report depends on.

        It is [name, "pairs", [[key, least, largest], ...], padding, kind of randomizer, [parameter, ...]].
        """
        randomizer = self.question.randomizer
        return [
            self.name,
            self.mechanism_spec.kind,
            [[key.name, *key.bounds] for key in self.attributes],
            self.padding,
            randomizer.kind,
            randomizer.parameters,
        ]

    @property
    def labelled(self) -> Mapping[str, Sequence[str]]:
        """See `Collection.labelled`: the keys."""
        return {"key": self.keys.names}

    def encode(self, record: Mapping[str, Any]) -> tuple[Any, ...]:
        """Convert a record, which gives a number to each key that the user holds, and may leave out the others.

        Raises:
            DataError: a key is unknown, or its number is none, or beyond the range without `clip`. The message never
                repeats the key or the number: which keys a user holds is what reports hide.
        """
        require_mapping(record)
        if not record.keys() <= set(self.keys.names):
            raise DataError(
                f"a key of the record is none of collection {self.name!r}\n"
                "  -> write keys as the collection file does, and leave all else out"
            )
        return tuple(key.encode(record.get(key.name)) for key in self.attributes)

    @property
    def _columns(self) -> list[tuple[str, str]]:
        return [(str(place), "<f8") for place in range(len(self.attributes))]

    def table(self, records: Table | Sequence[tuple[Any, ...]]) -> Table:
        """Return encoded records as a table of users, one a row, with a column for each key; NaN is not held."""
        if isinstance(records, np.ndarray):
            return records
        return super().table([record or (NOT_HELD,) * len(self.attributes) for record in records])
