"""How users are asked, as a collection file writes it: the keys of its oracle, and those of all sampled collections.

An oracle without keys of its own needs no spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union, get_args

from pydantic import create_model

from stream_ldp.errors import ParameterError
from stream_ldp.marginals.candidates import require_distinguishable, require_identifiable
from stream_ldp.marginals.cohorts import COHORTS, BitFlipQuestion, BucketQuestion
from stream_ldp.marginals.numbers import EndsQuestion, NumberQuestion, SignsQuestion
from stream_ldp.marginals.question import AttributeQuestion
from stream_ldp.marginals.values import ValueQuestion
from stream_ldp.mechanisms import ORACLE_SPECS, FrequencyOracle, HalfSpaceResponse, PiecewiseResponse
from stream_ldp.mechanisms.local_hashing import cohort_oracle
from stream_ldp.mechanisms.oracle_spec import MAX_COHORTS, Cohorts, EpsilonSpec, Hashing, OracleSpec
from stream_ldp.mechanisms.piecewise import coin, least_worst_case, square_wave
from stream_ldp.mechanisms.repeated import DirectKeys
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.oracles import VALUE_ORACLES, value_oracle
from stream_ldp.questions.questions import QuestionSet

#: Equations for each value of a list, where the file does not give the number of cohorts: with hardly more of them
#: than unknowns, values that often share a bucket have large errors.
_EQUATIONS = 4

#: The response to a question about one number, by what a file calls it.
_RESPONSES: dict[str, Callable[[float], PiecewiseResponse]] = {
    "auto": square_wave,
    "minimax": least_worst_case,
    "harmony-mean": coin,
}


class SampledSpec(OracleSpec):
    """The questions of a sampled collection as its file writes them, with what all oracles have in common.

    kind: `sampled`.
    ask: what a question is about: `attributes`, one each.
    oracle: perturbs values; `auto` takes the one of least mean variance.
    mean: perturbs numbers: `auto`, a square wave, which is best for their distribution; `minimax`, the response with
        the least worst-case variance of the mean; harmony-mean; or mean-est for all numbers of a user at once.
    """

    kind: Literal["sampled"]
    ask: Literal["attributes"] = "attributes"
    oracle: str
    mean: Literal["auto", "minimax", "harmony-mean", "mean-est"] = "auto"

    def questions(self, attributes: Sequence[AskedAttribute]) -> QuestionSet[AttributeQuestion]:
        """Return the questions about these attributes, each asked of equally many users.

        Raises:
            ParameterError: an oracle is not for an attribute, or the epsilon is beyond the resolution.
        """
        self.require_askable(
            numbers=any(each.range is not None for each in attributes),
            texts=any(each.candidates is not None for each in attributes),
        )
        return QuestionSet(questions=tuple(self._questions(attributes)))

    def _questions(self, attributes: Sequence[AskedAttribute]) -> Iterator[AttributeQuestion]:
        numbers = [(place, each) for place, each in enumerate(attributes) if each.range is not None]
        if self.mean != "auto" and not numbers:
            raise ParameterError(
                f"`mean: {self.mean}` is for attributes with a `range`, and there are none: leave it out"
            )
        together = bool(numbers) and self.mean == "mean-est"
        for place, attribute in enumerate(attributes):
            if attribute.range is None:
                yield from self._value_questions(place, attribute)
            elif not together:
                yield from self._number_questions(place, attribute)
            elif place == numbers[0][0]:
                places, of = zip(*numbers, strict=True)
                if any(each.quantiles for each in of):
                    raise ParameterError("quantiles do not follow from the signs of mean-est: take `mean: auto`")
                response = HalfSpaceResponse(dimensions=len(numbers), epsilon=self.given_epsilon)
                yield SignsQuestion(of=places, attributes=of, randomizer=response, weight=len(numbers))

    def _value_questions(self, place: int, attribute: AskedAttribute) -> Iterator[AttributeQuestion]:
        flipping = None if attribute.values is None else self.flipped(len(attribute.labels))
        if flipping is not None:
            for cohort in range(flipping.cohorts):
                yield BitFlipQuestion(
                    of=(place,),
                    attributes=(attribute,),
                    randomizer=flipping,
                    weight=1 / flipping.cohorts,
                    cohort=cohort,
                )
            return
        if attribute.values is not None:
            randomizer = self.value_randomizer(len(attribute.labels), of=attribute.name)
            if randomizer is not None:
                yield ValueQuestion(of=(place,), attributes=(attribute,), randomizer=randomizer, weight=1)
                return
        hashing = self.hashing or Hashing(oracle=cohort_oracle("o-rr", epsilon=self.given_epsilon))
        cohorts = hashing.cohorts or COHORTS
        if attribute.values is not None and hashing.cohorts is None:
            # Clients have the list as well, so that the number of cohorts may depend on it.
            cohorts = min(
                max(COHORTS, _EQUATIONS * -(-len(attribute.values) // (hashing.oracle.size - 1))), MAX_COHORTS
            )
        questions = [
            BucketQuestion(
                of=(place,),
                attributes=(attribute,),
                randomizer=hashing.oracle,
                weight=1 / cohorts,
                cohort=cohort,
                hashes=hashing.hashes,
            )
            for cohort in range(cohorts)
        ]
        require = require_distinguishable if attribute.values is None else require_identifiable
        require(questions, attribute.labels)
        yield from questions

    def _number_questions(self, place: int, attribute: AskedAttribute) -> Iterator[NumberQuestion]:
        if self.rounds_permanently:
            if self.mean != "auto" or attribute.quantiles:
                raise ParameterError(
                    "d-bit-flip rounds numbers to the ends of their range, from which the mean alone follows: leave "
                    f"`mean` out, and the quantiles of attribute {attribute.name!r}"
                )
            response = coin(self.given_epsilon)
            yield EndsQuestion(of=(place,), attributes=(attribute,), randomizer=response, weight=1)
            return
        response = _RESPONSES[self.mean](self.given_epsilon)
        if attribute.quantiles and response.steps == 1:
            raise ParameterError(
                f"the quantiles of attribute {attribute.name!r} do not follow from the answers of coins: take "
                "`mean: auto`"
            )
        yield NumberQuestion(of=(place,), attributes=(attribute,), randomizer=response, weight=1)


class AutoSpec(DirectKeys):
    """The questions by the oracle of least mean variance, or by k-RR where the file asks for what only it has.

    cohorts: number of cohorts of an attribute with candidates, whose buckets are perturbed by o-rr.
    """

    oracle: Literal["auto"] = "auto"
    cohorts: Cohorts = None

    def for_epsilon(self, size: int) -> FrequencyOracle:
        return value_oracle(self.oracle, size, epsilon=self.given_epsilon)

    @property
    def hashing(self) -> Hashing:
        return Hashing(oracle=cohort_oracle("o-rr", epsilon=self.given_epsilon), cohorts=self.cohorts)


if TYPE_CHECKING:
    _Plain = str
    AnySampledSpec = SampledSpec
else:
    _named = {name for spec in ORACLE_SPECS for name in get_args(spec.model_fields["oracle"].annotation)}
    _Plain = Literal[tuple(sorted(VALUE_ORACLES.keys() - _named - {"auto"}))]


class PlainSpec(EpsilonSpec):
    """The questions by an oracle without a parameter but epsilon.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    """

    oracle: _Plain

    def value_randomizer(self, size: int, *, of: str) -> FrequencyOracle:  # noqa: ARG002
        return value_oracle(self.oracle, size, epsilon=self.epsilon)


if not TYPE_CHECKING:
    #: What a file may say, by its oracle: the keys of that, and those of all sampled collections. Messages list
    #: oracles in this order.
    _direct, *_others = ORACLE_SPECS
    AnySampledSpec = Union[  # noqa: UP007  of as many as there are
        tuple(
            create_model(spec.__name__, __base__=(spec, SampledSpec), __doc__=spec.__doc__, __module__=__name__)
            for spec in (AutoSpec, _direct, PlainSpec, *_others)
        )
    ]


def with_oracle(options: Any) -> Any:
    """Give the keys of a file that names no oracle the one that is chosen then."""
    return {"oracle": "auto", **options} if isinstance(options, dict) else options
