"""Small collections and estimates to test with."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from stream_ldp.pipeline.answer import Plausibility, WindowBounds
from stream_ldp.records.answer import Estimate, Fit, Independence, Privacy
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.distribution import Axis
from stream_ldp.records.effects import Effects

MINUTE_MS = 60_000

_SURVEY = """
collection: {name}
mechanism: {mechanism}
attributes:
  - {{name: bathing, values: [no, yes]}}
  - {{name: mobility, values: [none, some, full]}}
window: {{size: 60s, {window}}}
estimates:
  - {{name: bathing-mobility, of: [bathing, mobility]}}
  - {{name: mobility, of: [mobility]}}
"""


_MECHANISM = "{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}"


def _text(name: str = "care-survey", *, window: str = "grace: 5s", mechanism: str = _MECHANISM) -> str:
    return _SURVEY.format(name=name, window=window, mechanism=mechanism)


@cache
def collection_of(**changes: str) -> JointCollection:
    """Make a collection of two attributes, of two and three values, in windows of a minute.

    The fields `name`, `window` and `mechanism` can be changed.
    """
    return JointCollection.parse(_text(**changes))


def write_survey(path: Path, **changes: str) -> Path:
    """Write the same collection to a file."""
    path.write_text(_text(**changes), encoding="utf-8")
    return path


def estimate_of(**changes: Any) -> Estimate:
    """Make an estimate of `bathing` and `mobility` over the first minute of 1970, with some fields changed."""
    fields: dict[str, Any] = {
        "collection": "care-survey",
        "fingerprint": collection_of().fingerprint.hex(),
        "estimate": "bathing-mobility",
        "window": WindowBounds(start_ms=0, end_ms=MINUTE_MS),
        "final": True,
        "reports": 12_345,
        "effective_reports": 12_345.0,
        "axes": (
            Axis(attribute="bathing", values=("no", "yes")),
            Axis(attribute="mobility", values=("none", "some", "full")),
        ),
        "probability": [[0.1, 0.2, 0.3], [0.0, 0.15, 0.25]],
        "standard_error": [[0.01] * 3] * 2,
        "effects": Effects(spreads=((0.5, 0.5), (0.2, 0.3, 0.5)), variances=(0.0, 2e-4, 4e-4)),
        "fit": Fit(
            method="lremh", stop="certificate", start="previous", iterations=7, certificate=1e-7, certified=True
        ),
        "independence": Independence(
            marginals=((0.6, 0.4), (0.1, 0.35, 0.55)), statistic=25.0, p_value=0.0001, dependent=True
        ),
        "plausibility": Plausibility(statistic=9.5, degrees_of_freedom=5, p_value=0.09, flagged=False),
        "privacy": Privacy(per_report=1.5, lifetime=7.8, assumption="the record does not change"),
    }
    if "axes" in changes:
        changes = {"effects": None} | changes
    if "axes" in changes and "independence" not in changes:
        marginals = tuple((1 / len(axis.values),) * len(axis.values) for axis in changes["axes"])
        changes["independence"] = fields["independence"].model_copy(update={"marginals": marginals})
    found = fields | changes
    # Tests write the cells of a table row by row.
    return Estimate(**(found | {name: np.ravel(found[name]).tolist() for name in ("probability", "standard_error")}))


def of_minute(minute: int, **changes: Any) -> Estimate:
    """Make an estimate over another minute, with some fields changed."""
    window = WindowBounds(start_ms=minute * MINUTE_MS, end_ms=(minute + 1) * MINUTE_MS)
    return estimate_of(window=window, **changes)
