"""Synthetic records of the kinds that have them: records and views."""

from __future__ import annotations

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.synthetic import SyntheticRecords
from stream_ldp.synthesis.chunk import SyntheticChunk

SYNTHETIC = SyntheticRecords(
    chunk=SyntheticChunk,
    of_window=deferred("stream_ldp.synthesis.publication:window_records"),
    make=deferred("stream_ldp.synthesis.publication:synthetic"),
    columns=deferred("stream_ldp.synthesis.window:labels_of"),
    measure=deferred("stream_ldp.synthesis.evaluation:measure"),
)
