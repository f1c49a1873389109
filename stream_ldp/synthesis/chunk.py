"""The message that publishes some of the synthetic records of a window, and what makes them."""

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from stream_ldp.collection.synthesis import Synthesis
from stream_ldp.deferred import deferred
from stream_ldp.pipeline.answer import (
    Answer,
    Count,
    Moved,
    Plausibility,
    Positive,
    answer_key,
)
from stream_ldp.pipeline.synthetic import SyntheticRecords
from stream_ldp.records.answer import Privacy
from stream_ldp.records.distribution import Axis
from stream_ldp.synthesis.graph import Structure


class SyntheticChunk(Answer):
    """Some of the synthetic records of a window, in order; the message of a records topic.

    Chunk 0, 1, ... of a window follow each other on the topic. Chunks of one number are a series of final answers,
    one a window.
    """

    #: The plausibility of its reports is in the estimates of the window.
    plausibility: ClassVar[Plausibility | None] = None

    final: Literal[True] = Field(default=True, description="records never change")
    reports: Positive = Field(
        description="reports of the window, each once; records of linked reports are made of the whole period's",
    )
    method: Synthesis = Field(description="how attributes might depend on each other, as the collection file says")
    seed: Count = Field(description="of the collection file; it and the reports determine the records")
    total: Positive = Field(description="records of the window, in all of its chunks")
    chunk: Count = Field(description="number of this chunk, from 0")
    chunks: Positive = Field(description="number of chunks of the window")
    structure: Structure = Field(description="what the graph of dependence came to")
    attributes: tuple[Axis, ...]
    records: tuple[tuple[int, ...], ...] = Field(
        description="for each record, the number of its value of each attribute, from 0"
    )
    privacy: Privacy
    linking: str | None = Field(
        default=None,
        description="what the pseudonyms of the reports reveal, as in the final; null where they have none",
    )

    @model_validator(mode="after")
    def _records_have_values_of_the_attributes(self) -> Self:
        sizes = [len(axis.values) for axis in self.attributes]
        if any(len(record) != len(sizes) for record in self.records):
            raise ValueError(f"a record has another number of values than the {len(sizes)} attributes")
        misfit = ValueError("a record has a value that its attribute does not have")
        try:
            values = np.array(self.records, dtype=np.int64).reshape(-1, len(sizes))
        except OverflowError:  # JSON has integers of any size.
            raise misfit from None
        if ((values < 0) | (values >= sizes)).any():
            raise misfit
        return self

    @property
    def series(self) -> str:
        """Name of the series of the chunks with this number; other records of a window have other names."""
        return f"{self.method}-{self.total}-{self.seed}-{self.chunk}"

    @property
    def key(self) -> bytes:
        """Record key; see `answer_key`."""
        return answer_key(self.series, self.window, final=True)

    @property
    def liars(self) -> tuple[Moved, ...]:
        """None: what liars can have moved is in the estimates of the window."""
        return ()

    def columns(self) -> dict[str, list[str]]:
        """Return the values of the records, by the name of the attribute, as a data frame takes them."""
        values = np.array(self.records, dtype=np.int64).reshape(-1, len(self.attributes))
        return {
            axis.attribute: np.array(axis.values, dtype=object)[column].tolist()
            for axis, column in zip(self.attributes, values.T, strict=True)
        }


SYNTHETIC = SyntheticRecords(
    chunk=SyntheticChunk,
    of_window=deferred("stream_ldp.synthesis.publication:window_records"),
    make=deferred("stream_ldp.synthesis.publication:synthetic"),
    columns=deferred("stream_ldp.synthesis.window:labels_of"),
    measure=deferred("stream_ldp.synthesis.evaluation:measure"),
)
