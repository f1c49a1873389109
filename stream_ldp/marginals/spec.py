"""How users are asked and answers perturbed, as a collection file writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from stream_ldp.collection import Part, one_of
from stream_ldp.errors import ParameterError
from stream_ldp.marginals.candidates import MAX_COHORTS, require_distinguishable, require_told_apart
from stream_ldp.marginals.cohorts import COHORT_ORACLES, COHORTS, BucketQuestion, bloom_oracle, cohort_oracle
from stream_ldp.marginals.compression import least_epsilon
from stream_ldp.marginals.numbers import NumberQuestion, SignsQuestion
from stream_ldp.marginals.values import ValueQuestion
from stream_ldp.mechanisms import ChannelResponse, HalfSpaceResponse, RepeatedResponse
from stream_ldp.mechanisms.bloom import MAX_HASHES
from stream_ldp.mechanisms.channel import exact_rows
from stream_ldp.mechanisms.piecewise import coin, least_worst_case
from stream_ldp.questions.oracles import epsilon_of_distortion, value_oracle
from stream_ldp.questions.questions import QuestionSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.marginals.candidates import BucketOracle
    from stream_ldp.marginals.question import AttributeQuestion
    from stream_ldp.mechanisms import ValueRandomizer
    from stream_ldp.questions.attributes import AskedAttribute

__all__ = ["MEAN_ORACLES", "SampledSpec"]

#: What may perturb numbers, by the name in a collection file.
MEAN_ORACLES = ("auto", "harmony-mean", "mean-est")

#: Equations for each value of a list, where the file does not give the number of cohorts: with hardly more of them
#: than unknowns, values that often share a bucket have large errors.
_EQUATIONS = 4


class SampledSpec(Part):
    """The questions of a sampled collection as its file writes them.

    kind: `sampled`.
    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    per_report: nats that one report may cost, where `epsilon` is what all of them may, for ever: answers by k-rr are
        remembered, and perturbed again for each report. Without it, every report repeats the answer itself.
    distortion: in place of epsilon, the probability that k-rr sends another value, or the expected distortion of
        oracle channel, for every value.
    ask: what a question is about: `attributes`, one each.
    oracle: perturbs values; `auto` takes the one of least mean variance.
    cohorts: number of cohorts of an attribute whose values are hashed: by o-rr, o-rappor, and rappor with `hashes`,
        and wherever there are candidates in place of values, then by o-rr unless it is one of the others.
    hashes: with oracle rappor, the number of hashes of a value in a Bloom filter; epsilon is then that of all
        reports for ever.
    p, q: with hashes, the second noise of each report.
    hash_bits: t of oracle hadamard.
    alphabet: number of outputs of oracle channel; as many as values where the file does not say.
    measure: how the distortion of oracle channel is measured: as the chance of another value, or by the
        squared distance between the places of values in their list.
    table: in place of all these, the probabilities of oracle channel: P(output | value), a row for each value.
    mean: perturbs numbers: `auto`, the mixture of least worst-case variance, harmony-mean, or mean-est for all
        numbers of a user at once.
    """

    model_config = ConfigDict(json_schema_extra=one_of("epsilon", "distortion", "table"))

    kind: Literal["sampled"]
    epsilon: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="nats that an answer may cost")
    per_report: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    distortion: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="probability that k-rr sends another value, or distortion of oracle channel, in place of epsilon",
    )
    ask: Literal["attributes"] = "attributes"
    oracle: Literal[
        "auto", "k-rr", "w-rr", "k-subset", "hadamard", "s-hist", "rappor", "o-rr", "o-rappor", "channel"
    ] = "auto"
    cohorts: int | None = Field(default=None, ge=1, le=MAX_COHORTS)
    hash_bits: int | None = None
    alphabet: int | None = Field(default=None, ge=2)
    measure: Literal["hamming", "squared"] = "hamming"
    table: tuple[tuple[float, ...], ...] | None = Field(default=None, min_length=2)
    hashes: int | None = Field(default=None, ge=1, le=MAX_HASHES)
    p: float | None = Field(default=None, ge=0, le=1)
    q: float | None = Field(default=None, ge=0, le=1)
    mean: Literal["auto", "harmony-mean", "mean-est"] = "auto"

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        of_channel = [name for name in ("alphabet", "measure", "table") if name in self.model_fields_set]
        if self.oracle == "channel":
            self._check_channel()
        elif of_channel:
            raise ParameterError(f"`{of_channel[0]}` is for oracle channel; leave it out for {self.oracle}")
        elif (self.epsilon is None) == (self.distortion is None):
            raise ParameterError("give either `epsilon`, or `distortion` for k-rr")
        if self.per_report is not None and (self.epsilon is None or self.oracle not in ("auto", "k-rr", "w-rr")):
            raise ParameterError("`per_report` goes with `epsilon`, for ever, and oracle k-rr")
        if self.distortion is not None and self.oracle not in ("auto", "k-rr", "w-rr", "channel"):
            raise ParameterError(f"`distortion` is for oracle k-rr; give `epsilon` for {self.oracle}")
        if self.cohorts is not None and self.oracle not in ("auto", "rappor", *COHORT_ORACLES):
            raise ParameterError(f"`cohorts` is for o-rr, o-rappor and candidates; leave it out for {self.oracle}")
        of_rappor = [name for name in ("hashes", "p", "q") if name in self.model_fields_set]
        if of_rappor and self.oracle != "rappor":
            raise ParameterError(f"`{of_rappor[0]}` is for oracle rappor; leave it out for {self.oracle}")
        if (self.p is None) != (self.q is None) or (self.p is not None and self.hashes is None):
            raise ParameterError("the second noise of rappor takes `hashes`, and both `p` and `q`")
        if self.hash_bits is not None and self.oracle not in ("hadamard", "s-hist"):
            raise ParameterError(f"`hash_bits` is for oracle hadamard; leave it out for {self.oracle}")
        return self

    def _check_channel(self) -> None:
        if self.epsilon is not None:
            raise ParameterError("oracle channel has the least epsilon for a `distortion`, or that of a `table`")
        if (self.distortion is None) == (self.table is None):
            raise ParameterError("give either `distortion` or `table` for oracle channel")
        if self.table is not None and {"alphabet", "measure"} & self.model_fields_set:
            raise ParameterError("`alphabet` and `measure` go with `distortion`; leave them out beside `table`")

    def questions(self, attributes: Sequence[AskedAttribute]) -> QuestionSet[AttributeQuestion]:
        """Return the questions about these attributes, all of which are asked of equally many users.

        Raises:
            ParameterError: an oracle is not for an attribute, or the epsilon is beyond the resolution.
        """
        return QuestionSet(questions=tuple(self._questions(attributes)))

    def _questions(self, attributes: Sequence[AskedAttribute]) -> Iterator[AttributeQuestion]:
        numbers = [(place, each) for place, each in enumerate(attributes) if each.range is not None]
        if self.per_report is not None and any(each.values is None for each in attributes):
            raise ParameterError("`per_report` is for values in a list; leave it out for numbers and candidates")
        together = bool(numbers) and self.mean == "mean-est"
        for place, attribute in enumerate(attributes):
            hashes = self.oracle in COHORT_ORACLES or self.hashes is not None
            if attribute.candidates is not None or (attribute.range is None and hashes):
                yield from self._bucket_questions(place, attribute)
            elif attribute.range is None:
                yield self._value_question(place, attribute)
            elif not together:
                yield from self._number_questions(place, attribute)
            elif place == numbers[0][0]:
                places, of = zip(*numbers, strict=True)
                response = HalfSpaceResponse(dimensions=len(numbers), epsilon=self._given_epsilon)
                yield SignsQuestion(of=places, attributes=of, randomizer=response, weight=len(numbers))

    def _value_question(self, place: int, attribute: AskedAttribute) -> ValueQuestion:
        size, name = len(attribute.labels), self.oracle
        oracle: ValueRandomizer
        if self.per_report is not None:
            value_oracle("k-rr" if name == "auto" else name, size, epsilon=self._given_epsilon)
            oracle = RepeatedResponse(size=size, epsilon=self.per_report, for_ever=self._given_epsilon)
        elif name == "channel":
            oracle = self._channel(attribute)
        elif self.distortion is None:
            oracle = value_oracle(name, size, epsilon=self._given_epsilon, hash_bits=self.hash_bits)
        else:
            epsilon = epsilon_of_distortion(self.distortion, size)
            oracle = value_oracle("k-rr" if name == "auto" else name, size, epsilon=epsilon)
        return ValueQuestion(of=(place,), attributes=(attribute,), randomizer=oracle, weight=1)

    def _channel(self, attribute: AskedAttribute) -> ChannelResponse:
        size = len(attribute.labels)
        if self.table is not None:
            if len(self.table) != size:
                raise ParameterError(
                    f"the table has {len(self.table)} rows, and attribute {attribute.name!r} {size} values: give "
                    "each value a row"
                )
            return ChannelResponse(table=exact_rows(self.table))
        if self.distortion is None:
            raise TypeError("a channel without a table has a distortion")
        return least_epsilon(self.distortion, size=size, alphabet=self.alphabet or size, measure=self.measure)

    def _bucket_questions(self, place: int, attribute: AskedAttribute) -> Iterator[BucketQuestion]:
        oracle = self._bucket_oracle()
        cohorts = self.cohorts or COHORTS
        if attribute.values is not None and self.cohorts is None:
            # Clients have the list as well, so that the number of cohorts may depend on it.
            cohorts = min(max(COHORTS, _EQUATIONS * -(-len(attribute.values) // (oracle.size - 1))), MAX_COHORTS)
        questions = [
            BucketQuestion(
                of=(place,),
                attributes=(attribute,),
                randomizer=oracle,
                weight=1 / cohorts,
                cohort=cohort,
                hashes=self.hashes or 1,
            )
            for cohort in range(cohorts)
        ]
        require = require_distinguishable if attribute.values is None else require_told_apart
        require(questions, attribute.labels)
        yield from questions

    def _bucket_oracle(self) -> BucketOracle:
        if self.hashes is not None:
            noise = None if self.p is None or self.q is None else (self.p, self.q)
            return bloom_oracle(epsilon=self._given_epsilon, hashes=self.hashes, noise=noise)
        name = self.oracle if self.oracle in COHORT_ORACLES else "o-rr"
        return cohort_oracle(name, epsilon=self._given_epsilon)

    def _number_questions(self, place: int, attribute: AskedAttribute) -> Iterator[NumberQuestion]:
        response, share = least_worst_case(self._given_epsilon)
        if self.mean == "harmony-mean":
            share = 0.0
        for randomizer, weight in ((response, share), (coin(self._given_epsilon), 1 - share)):
            if weight:
                yield NumberQuestion(of=(place,), attributes=(attribute,), randomizer=randomizer, weight=weight)

    @property
    def _given_epsilon(self) -> float:
        if self.epsilon is None:
            raise ParameterError("`distortion` and `table` are for values; numbers and candidates need `epsilon`")
        return self.epsilon
