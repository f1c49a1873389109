"""How users are asked and answers perturbed, as a collection file writes it: a spec for each family of oracles.

Each has the keys of its oracles, and builds them; an oracle without keys of its own needs no spec.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import ConfigDict, Field, model_validator

from stream_ldp.collection import Part, one_of
from stream_ldp.errors import ParameterError
from stream_ldp.marginals.candidates import MAX_COHORTS, require_distinguishable, require_told_apart
from stream_ldp.marginals.cohorts import (
    COHORTS,
    MAX_BUCKETS,
    BucketQuestion,
    bloom_oracle,
    cohort_oracle,
    loloha_oracle,
)
from stream_ldp.marginals.compression import least_epsilon
from stream_ldp.marginals.numbers import NumberQuestion, SignsQuestion
from stream_ldp.marginals.values import ValueQuestion
from stream_ldp.mechanisms import ChannelResponse, HalfSpaceResponse, RepeatedResponse
from stream_ldp.mechanisms.bloom import MAX_HASHES
from stream_ldp.mechanisms.channel import exact_rows
from stream_ldp.mechanisms.piecewise import coin, least_worst_case, square_wave
from stream_ldp.questions.oracles import VALUE_ORACLES, epsilon_of_distortion, require_less_per_report, value_oracle
from stream_ldp.questions.questions import QuestionSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.marginals.candidates import BucketOracle
    from stream_ldp.marginals.question import AttributeQuestion
    from stream_ldp.mechanisms import ValueRandomizer
    from stream_ldp.questions.attributes import AskedAttribute

#: Equations for each value of a list, where the file does not give the number of cohorts: with hardly more of them
#: than unknowns, values that often share a bucket have large errors.
_EQUATIONS = 4

Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=False, description="nats that an answer may cost")]
Cohorts = Annotated[int | None, Field(ge=1, le=MAX_COHORTS)]


class SampledSpec(Part, ABC):
    """The questions of a sampled collection as its file writes them, with what all oracles have in common.

    kind: `sampled`.
    ask: what a question is about: `attributes`, one each.
    oracle: perturbs values; `auto` takes the one of least mean variance.
    mean: perturbs numbers: `auto`, a square wave, which says most of their distribution, `hybrid`, the mixture of
        least worst-case variance of the mean, harmony-mean, or mean-est for all numbers of a user at once.
    """

    kind: Literal["sampled"]
    ask: Literal["attributes"] = "attributes"
    oracle: str
    mean: Literal["auto", "hybrid", "harmony-mean", "mean-est"] = "auto"

    @property
    @abstractmethod
    def given_epsilon(self) -> float:
        """Nats that an answer may cost.

        Raises:
            ParameterError: the file does not give them, and they depend on the attribute.
        """

    @abstractmethod
    def value_randomizer(self, attribute: AskedAttribute) -> ValueRandomizer:
        """Return what perturbs the values of a list.

        Raises:
            ParameterError: the oracle is not for so many values, or the epsilon is beyond the resolution.
        """

    @property
    def hashes_lists(self) -> bool:
        """Whether values of a list are hashed, too; those of any text always are."""
        return False

    @property
    def given_cohorts(self) -> int | None:
        """Number of cohorts of an attribute whose values are hashed; None where the file does not say."""
        return None

    @property
    def bucket_oracle(self) -> tuple[BucketOracle, int]:
        """What perturbs the buckets of values that are hashed, and the number of hashes."""
        return cohort_oracle("o-rr", epsilon=self.given_epsilon), 1

    def questions(self, attributes: Sequence[AskedAttribute]) -> QuestionSet[AttributeQuestion]:
        """Return the questions about these attributes, all of which are asked of equally many users.

        Raises:
            ParameterError: an oracle is not for an attribute, or the epsilon is beyond the resolution.
        """
        return QuestionSet(questions=tuple(self._questions(attributes)))

    def _questions(self, attributes: Sequence[AskedAttribute]) -> Iterator[AttributeQuestion]:
        numbers = [(place, each) for place, each in enumerate(attributes) if each.range is not None]
        together = bool(numbers) and self.mean == "mean-est"
        for place, attribute in enumerate(attributes):
            if attribute.candidates is not None or (attribute.range is None and self.hashes_lists):
                yield from self._bucket_questions(place, attribute)
            elif attribute.range is None:
                yield ValueQuestion(
                    of=(place,), attributes=(attribute,), randomizer=self.value_randomizer(attribute), weight=1
                )
            elif not together:
                yield from self._number_questions(place, attribute)
            elif place == numbers[0][0]:
                places, of = zip(*numbers, strict=True)
                if any(each.quantiles for each in of):
                    raise ParameterError("quantiles do not follow from the signs of mean-est: take `mean: auto`")
                response = HalfSpaceResponse(dimensions=len(numbers), epsilon=self.given_epsilon)
                yield SignsQuestion(of=places, attributes=of, randomizer=response, weight=len(numbers))

    def _bucket_questions(self, place: int, attribute: AskedAttribute) -> Iterator[BucketQuestion]:
        oracle, hashes = self.bucket_oracle
        cohorts = self.given_cohorts or COHORTS
        if attribute.values is not None and self.given_cohorts is None:
            # Clients have the list as well, so that the number of cohorts may depend on it.
            cohorts = min(max(COHORTS, _EQUATIONS * -(-len(attribute.values) // (oracle.size - 1))), MAX_COHORTS)
        questions = [
            BucketQuestion(
                of=(place,),
                attributes=(attribute,),
                randomizer=oracle,
                weight=1 / cohorts,
                cohort=cohort,
                hashes=hashes,
            )
            for cohort in range(cohorts)
        ]
        require = require_distinguishable if attribute.values is None else require_told_apart
        require(questions, attribute.labels)
        yield from questions

    def _number_questions(self, place: int, attribute: AskedAttribute) -> Iterator[NumberQuestion]:
        if self.mean == "auto":
            response, share = square_wave(self.given_epsilon), 1.0
        elif self.mean == "hybrid":
            response, share = least_worst_case(self.given_epsilon)
        else:
            response, share = coin(self.given_epsilon), 1.0
        if attribute.quantiles and (response.steps == 1 or not share):
            raise ParameterError(
                f"the quantiles of attribute {attribute.name!r} do not follow from the answers of coins: take "
                "`mean: auto`"
            )
        for randomizer, weight in ((response, share), (coin(self.given_epsilon), 1 - share)):
            if weight:
                yield NumberQuestion(of=(place,), attributes=(attribute,), randomizer=randomizer, weight=weight)


class _EpsilonSpec(SampledSpec):
    """The questions by an oracle of a given epsilon.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    """

    epsilon: Epsilon

    @property
    def given_epsilon(self) -> float:
        return self.epsilon

    def value_randomizer(self, attribute: AskedAttribute) -> ValueRandomizer:
        return value_oracle(self.oracle, len(attribute.labels), epsilon=self.epsilon)


class HadamardSpec(_EpsilonSpec):
    """The questions by a Hadamard response.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    hash_bits: t, bits of a hash; 1 by default.
    """

    oracle: Literal["hadamard", "s-hist"]
    hash_bits: int | None = None

    def value_randomizer(self, attribute: AskedAttribute) -> ValueRandomizer:
        return value_oracle(self.oracle, len(attribute.labels), epsilon=self.epsilon, hash_bits=self.hash_bits)


class HashingSpec(_EpsilonSpec):
    """The questions about buckets of hashed values, in cohorts.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    cohorts: number of cohorts of an attribute.
    """

    oracle: Literal["o-rr", "o-rappor"]
    cohorts: Cohorts = None

    @property
    def hashes_lists(self) -> bool:
        return True

    @property
    def given_cohorts(self) -> int | None:
        return self.cohorts

    @property
    def bucket_oracle(self) -> tuple[BucketOracle, int]:
        return cohort_oracle(self.oracle, epsilon=self.epsilon), 1


class RepeatedHashingSpec(_EpsilonSpec):
    """The questions about buckets of hashed values, for values that change: LOLOHA (Arcolezi et al., 2023).

    A user has one permanent hash, that of the cohort. The bucket is perturbed by k-RR once, permanently,
    and the result again for each report. A value that changes costs nothing more while it stays in buckets that were
    reported, and all values of a user cost at most `buckets` times epsilon.

    epsilon: privacy loss, in nats, that all reports of one bucket may cost in a lifetime.
    per_report: nats that one report may cost, which is less.
    buckets: g; where the file does not say, as many as have the least variance.
    cohorts: number of cohorts of an attribute.
    """

    oracle: Literal["loloha"]
    per_report: float = Field(
        gt=0,
        allow_inf_nan=False,
        description="nats that one report may cost, less than `epsilon`",
    )
    buckets: int | None = Field(default=None, ge=2, le=MAX_BUCKETS)
    cohorts: Cohorts = None

    @model_validator(mode="after")
    def _one_report_costs_less(self) -> Self:
        require_less_per_report(self.per_report, epsilon=self.epsilon)
        return self

    @property
    def hashes_lists(self) -> bool:
        return True

    @property
    def given_cohorts(self) -> int | None:
        return self.cohorts

    def _questions(self, attributes: Sequence[AskedAttribute]) -> Iterator[AttributeQuestion]:
        if any(attribute.range is not None for attribute in attributes):
            raise ParameterError("loloha hashes values: give numbers `bins` in place of a `range`")
        return super()._questions(attributes)

    @property
    def bucket_oracle(self) -> tuple[BucketOracle, int]:
        return loloha_oracle(epsilon=self.epsilon, per_report=self.per_report, buckets=self.buckets), 1


class RapporSpec(_EpsilonSpec):
    """The questions by basic RAPPOR or, with hashes, by RAPPOR with Bloom filters in cohorts.

    epsilon: privacy loss, in nats, that all reports of an answer may cost in a lifetime.
    cohorts: number of cohorts of an attribute whose values are hashed.
    hashes: number of hashes of a value in a Bloom filter.
    p, q: with hashes, the second noise of each report.
    """

    oracle: Literal["rappor"]
    cohorts: Cohorts = None
    hashes: int | None = Field(default=None, ge=1, le=MAX_HASHES)
    p: float | None = Field(default=None, ge=0, le=1)
    q: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _noise_is_whole(self) -> Self:
        if (self.p is None) != (self.q is None) or (self.p is not None and self.hashes is None):
            raise ParameterError("the second noise of rappor takes `hashes`, and both `p` and `q`")
        return self

    @property
    def hashes_lists(self) -> bool:
        return self.hashes is not None

    @property
    def given_cohorts(self) -> int | None:
        return self.cohorts

    @property
    def bucket_oracle(self) -> tuple[BucketOracle, int]:
        if self.hashes is None:
            return super().bucket_oracle
        noise = None if self.p is None or self.q is None else (self.p, self.q)
        return bloom_oracle(epsilon=self.epsilon, hashes=self.hashes, noise=noise), self.hashes


class _DirectSpec(SampledSpec):
    """The questions by k-RR, or by what is better where the file asks for nothing that only k-RR has.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    per_report: nats that one report may cost, where `epsilon` is for the lifetime: answers are
        remembered, and perturbed again for each report. Without it, every report repeats the answer itself.
    distortion: in place of epsilon, the probability that another value is sent.
    """

    model_config = ConfigDict(json_schema_extra=one_of("epsilon", "distortion"))

    epsilon: Epsilon | None = None
    per_report: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    distortion: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="probability that another value is sent, for epsilon"
    )

    @model_validator(mode="after")
    def _epsilon_is_given_once(self) -> Self:
        if (self.epsilon is None) == (self.distortion is None):
            raise ParameterError("give either `epsilon`, or `distortion` for k-rr")
        if self.per_report is not None and self.epsilon is None:
            raise ParameterError("`per_report` needs a lifetime `epsilon` and oracle k-rr")
        if self.per_report is not None and self.epsilon is not None:
            require_less_per_report(self.per_report, epsilon=self.epsilon)
        return self

    @property
    def given_epsilon(self) -> float:
        if self.epsilon is None:
            raise ParameterError("`distortion` and `table` are for values; numbers and candidates need `epsilon`")
        return self.epsilon

    def _questions(self, attributes: Sequence[AskedAttribute]) -> Iterator[AttributeQuestion]:
        if self.per_report is not None and any(attribute.values is None for attribute in attributes):
            raise ParameterError("`per_report` is for values in a list; leave it out for numbers and candidates")
        return super()._questions(attributes)

    def value_randomizer(self, attribute: AskedAttribute) -> ValueRandomizer:
        size = len(attribute.labels)
        direct = "k-rr" if self.oracle == "auto" else self.oracle
        if self.distortion is not None:
            return value_oracle(direct, size, epsilon=epsilon_of_distortion(self.distortion, size))
        if self.per_report is None:
            return value_oracle(self.oracle, size, epsilon=self.given_epsilon)
        value_oracle(direct, size, epsilon=self.given_epsilon)
        return RepeatedResponse(size=size, epsilon=self.per_report, lifetime=self.given_epsilon)


class DirectSpec(_DirectSpec):
    """The questions by k-RR; `w-rr` is that of two values."""

    oracle: Literal["k-rr", "w-rr"]


class AutoSpec(_DirectSpec):
    """The questions by the oracle of least mean variance, or by k-RR where the file asks for what only it has.

    cohorts: number of cohorts of an attribute with candidates, whose buckets are perturbed by o-rr.
    """

    oracle: Literal["auto"] = "auto"
    cohorts: Cohorts = None

    @property
    def given_cohorts(self) -> int | None:
        return self.cohorts


class ChannelSpec(SampledSpec):
    """The questions by a channel, of the least epsilon for a distortion, or with the probabilities of a table.

    distortion: expected distortion, for every value.
    alphabet: number of outputs; as many as values where the file does not say.
    measure: how distortion is measured: as the chance of another value, or by the squared distance between the
        places of values in their list.
    table: in place of all these, P(output | value), a row for each value.
    """

    model_config = ConfigDict(json_schema_extra=one_of("distortion", "table"))

    oracle: Literal["channel"]
    distortion: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    alphabet: int | None = Field(default=None, ge=2)
    measure: Literal["hamming", "squared"] = "hamming"
    table: tuple[tuple[float, ...], ...] | None = Field(default=None, min_length=2)

    @model_validator(mode="after")
    def _channel_is_given_once(self) -> Self:
        if (self.distortion is None) == (self.table is None):
            raise ParameterError("give either `distortion` or `table` for oracle channel")
        if self.table is not None and {"alphabet", "measure"} & self.model_fields_set:
            raise ParameterError("`alphabet` and `measure` go with `distortion`; leave them out beside `table`")
        return self

    @property
    def given_epsilon(self) -> float:
        raise ParameterError("`distortion` and `table` are for values; numbers and candidates need `epsilon`")

    def value_randomizer(self, attribute: AskedAttribute) -> ValueRandomizer:
        size = len(attribute.labels)
        if self.table is None:
            distortion = self.distortion or 0.0  # which is given where there is no table
            return least_epsilon(distortion, size=size, alphabet=self.alphabet or size, measure=self.measure)
        if len(self.table) != size:
            raise ParameterError(
                f"the table has {len(self.table)} rows, and attribute {attribute.name!r} {size} values: give each "
                "value a row"
            )
        return ChannelResponse(table=exact_rows(self.table))


#: The specs of oracles that have keys of their own, and of all others, which the table of oracles names.
_WITH_KEYS = (AutoSpec, DirectSpec, HadamardSpec, HashingSpec, RapporSpec, ChannelSpec)
if TYPE_CHECKING:
    _Plain = str
else:
    _named = {name for spec in _WITH_KEYS for name in get_args(spec.model_fields["oracle"].annotation)}
    _Plain = Literal[tuple(sorted(VALUE_ORACLES.keys() - _named))]


class PlainSpec(_EpsilonSpec):
    """The questions by an oracle without a parameter but epsilon.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    """

    oracle: _Plain


#: Every spec, told apart by its oracle.
AnySampledSpec = (
    AutoSpec | DirectSpec | PlainSpec | HadamardSpec | HashingSpec | RepeatedHashingSpec | RapporSpec | ChannelSpec
)


def with_oracle(options: Any) -> Any:
    """Give the keys of a file that names no oracle the one that is chosen then."""
    return {"oracle": "auto", **options} if isinstance(options, dict) else options
