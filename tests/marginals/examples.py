"""A sampled collection with values and numbers, its users, and what is answered of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field, TypeAdapter

from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.spec import AnySampledSpec, SampledSpec, with_oracle
from stream_ldp.mechanisms import SeededEntropy, random_words
from tests.questions.examples import solved, sums_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from stream_ldp.marginals.answer import Marginals
    from stream_ldp.questions.answers import Answers
    from stream_ldp.questions.questions import Table

TEXT = """
collection: diets
mechanism: {{kind: sampled, {mechanism}}}
attributes:
  - {{name: diet, values: [meat, fish, plants]}}
  - {{name: age, range: [0, 100]}}
  - {{name: smokes, values: [no, yes]}}
min_reports: 1
window: {{size: 10s, grace: 1s{window}}}
"""


def collection_of(mechanism: str = "epsilon: 2, mean: minimax", window: str = "") -> SampledCollection:
    return SampledCollection.parse(TEXT.format(mechanism=mechanism, window=window))


def levels(mechanism: str) -> SampledCollection:
    """A collection of eight levels, asked about through a channel."""
    return SampledCollection.parse(
        f"""
        collection: levels
        mechanism: {{kind: sampled, oracle: channel, {mechanism}}}
        attributes: [{{name: level, values: [a, b, c, d, e, f, g, h]}}]
        min_reports: 1
        window: {{size: 10s}}
        """
    )


def outputs_of(count: int = 4_000) -> Marginals:
    """Marginals from which no frequencies follow."""
    collection = levels("distortion: 2, measure: squared, alphabet: 4")
    people = collection.table([(value % 8,) for value in range(count)])
    marginals: Marginals = solved(collection, (1.0, sums_of(collection, rows_of(collection, people))))
    return marginals


def users(count: int, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    table = np.empty(count, dtype=[("0", "<i8"), ("1", "<f8"), ("2", "<i8")])
    table["0"] = rng.choice(3, count, p=[0.6, 0.3, 0.1])
    table["1"] = rng.normal(40, 12, count).clip(0, 100)
    table["2"] = rng.choice(2, count, p=[0.8, 0.2])
    return table


def rows_of(collection: SampledCollection, table: Table, seed: int = 2) -> NDArray[np.uint8]:
    entropy = SeededEntropy(seed)
    numbers = collection.questions.numbers(random_words(len(table), entropy=entropy))
    return collection.questions.perturb(numbers, table, entropy=entropy)


def marginals_of(collection: SampledCollection, count: int = 20_000, *, final: bool = True) -> Marginals:
    marginals: Marginals
    marginals = solved(collection, (1.0, sums_of(collection, rows_of(collection, users(count)))), final=final)
    return marginals


def estimated(answers: Sequence[Answers[Any]], *, of: int) -> Any:
    """The estimate of the attribute at a position."""
    return answers[0].question.estimate(answers, of=of)


def spec_of(options: Mapping[str, Any]) -> SampledSpec:
    """How users are asked, from the keys of a file."""
    spec: SampledSpec = TypeAdapter(Annotated[AnySampledSpec, Field(discriminator="oracle")]).validate_python(
        with_oracle(dict(options))
    )
    return spec
