"""Synthetic records that are published with the finals of a collection, as its file asks for them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, Self

from pydantic import Field, model_validator

from stream_ldp.collection.attributes import Encoder
from stream_ldp.collection.collection import Collection, Part, Series, Topics, require_distinct
from stream_ldp.collection.located import Misplaced, suggestion
from stream_ldp.collection.records import CollectionOfRecords

#: Most bytes of the synthetic records of a window. They fit one segment of their topic, which keeps 16 of them (see
#: `stream_ldp.kafka.topics`), so that those of several windows are there even if some are published again; and a
#: worker holds eight bytes for each of their values, some hundreds of megabytes, while it draws them.
WINDOW_BYTES = 64 * 2**20


#: Most bytes of the records of a chunk, and of the labels of their values beside them: together, and with the little
#: else that is said, they are within the 1 MiB that consumers fetch at a time by default.
CHUNK_BYTES = 500 * 2**10


#: Most cells of one estimate: with three numbers a cell of up to 25 bytes of JSON, and two of 15, it has less than 14
#: MB, within the 16 MiB that an estimates topic accepts in one record.
MAX_CELLS = 2**17


class Synthesis(StrEnum):
    """How the attributes of synthetic records depend on each other."""

    AUTO = "auto"
    """As far as the evidence goes: if the pairs together show dependence, those that stand out have an edge."""
    LOPUB = "lopub"
    """Pairs whose mutual information is at least that of a correlation of 0.2, noise or not (Ren et al., 2018)."""
    TREE = "tree"
    """The most likely tree of the pairs that stand out (Chow and Liu, 1968)."""
    INDEPENDENT = "independent"


class SynthesisSpec(Part):
    """The synthetic records that are published with each final.

    records: how many.
    seed: determines them, together with the reports of a window.
    method: how their attributes may depend on each other.
    stop: `paper` follows LoPub as published, with reports of all attributes: LREMH with its published stopping rule
        estimates the pairs, and joints of more attributes come straight from the reports.
    """

    records: int = Field(ge=1)
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    method: Synthesis = Synthesis.AUTO
    stop: Literal["certificate", "paper"] | None = None


class Labelled(Encoder, Protocol):
    """An attribute with a few values."""

    @property
    def labels(self) -> tuple[str, ...]: ...


class Joint(Protocol):
    """A joint distribution of some attributes, given by name."""

    @property
    def of(self) -> Sequence[str]: ...


class SynthesizingCollection(CollectionOfRecords):
    """A collection whose estimates are enough to make records of.

    marginals: estimates the distributions that records are drawn from. It takes the collection, the task about its
        `whole`, the previous final of each estimate (`earlier`, by name), and the `stop` of the spec.
    synthesis: the synthetic records that are published with each final; without it, there are none.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    marginals: ClassVar[Callable[..., Any]]

    synthesis: SynthesisSpec | None = None

    if TYPE_CHECKING:

        @property
        def attributes(self) -> Sequence[Labelled]: ...

        @property
        def estimates(self) -> Sequence[Any]: ...

    @property
    def series(self) -> Sequence[Any]:
        """The estimates."""
        return self.estimates

    @property
    def synthesizes(self) -> bool:
        return self.synthesis is not None

    @property
    def whole(self) -> Series:
        """The series whose tasks hold all that records are made from."""
        raise NotImplementedError

    def counting_all(self) -> Self:
        """Make a collection with the same reports that counts all that records are made from.

        Raises:
            ParameterError: its pairs have too many cells.
        """
        raise NotImplementedError

    def _check_estimates(self) -> None:
        """Require that estimates are of attributes of the collection, can be solved, and can have their priors."""
        require_distinct([estimate.name for estimate in self.estimates], "estimate names", "estimates", "name")
        for index, estimate in enumerate(self.estimates):
            for field in ("of", "among"):
                for place, name in enumerate(getattr(estimate, field, None) or ()):
                    if name not in self._positions:
                        problem = f"{name!r} is not an attribute{suggestion(name, self._positions)}"
                        raise Misplaced(problem, "estimates", index, field, place)
            self.window.check_prior(estimate.prior, "estimates", index, "prior")
            cells = math.prod(self.sizes_of(estimate))
            if cells > MAX_CELLS:
                raise Misplaced(f"{cells:,} cells; at most {MAX_CELLS:,} can be solved", "estimates", index, "of")

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {attribute.name: position for position, attribute in enumerate(self.attributes)}

    def positions_of(self, of: Sequence[str]) -> tuple[int, ...]:
        """Find the positions of some attributes, given by name, among the collection's; in the given order."""
        return tuple(self._positions[name] for name in of)

    def sizes_of(self, estimate: Joint) -> tuple[int, ...]:
        """Return the shape of an estimate: the number of values of each axis."""
        return tuple(self.record_sizes[place] for place in self.positions_of(estimate.of))

    @property
    def record_labels(self) -> tuple[tuple[str, ...], ...]:
        """Labels of the values of each attribute of a record."""
        return tuple(attribute.labels for attribute in self.attributes)

    @property
    def record_sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute of a record."""
        return tuple(map(len, self.record_labels))

    @model_validator(mode="after")
    def _a_topic_holds_the_records(self) -> Self:
        if self.synthesis is None:
            return self
        labels = len(json.dumps(self.record_labels, ensure_ascii=False).encode())
        if labels > CHUNK_BYTES:
            raise Misplaced(
                f"the labels of all values have {labels:,} bytes, which every message of synthetic records repeats: "
                f"at most {CHUNK_BYTES:,}",
                "synthesis",
            )
        size = record_bytes(self.record_sizes)
        length = CHUNK_BYTES // size
        most = WINDOW_BYTES * length // (length * size + labels)
        if self.synthesis.records > most:
            raise Misplaced(
                f"{self.synthesis.records:,} records of up to {size} bytes, with the labels of their values in each "
                f"message, are more than the topic holds of a window, which is {WINDOW_BYTES // 2**20} MiB: "
                f"at most {most:,}",
                "synthesis",
                "records",
            )
        return self


def record_bytes(sizes: Sequence[int]) -> int:
    """Return the most bytes of a published record, which is a JSON list of the numbers of values, and a comma.

    sizes: number of values of each attribute.
    """
    return sum(len(str(size - 1)) for size in sizes) + len(sizes) - 1 + len("[],")


def topics_of(collection: Collection) -> Topics:
    """Return the topics of a collection, beside those that every collection has."""
    return replace(collection.topics, records=collection.synthesizes, rows=bool(collection.rows))
