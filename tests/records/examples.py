"""Collections of records as text, and the problems of a text that is none."""

from __future__ import annotations

import pytest

from stream_ldp.collection.located import CollectionError
from stream_ldp.records.collection import JointCollection

TEXT = """\
collection: survey
mechanism: {kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
window: {size: 60s}
estimates:
  - {name: both, of: [bathing, mobility]}
"""

#: With one estimate whose rows fit a dense table, and one whose rows do not.
TOWNS_TEXT = """
collection: survey
mechanism: {kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
  - {name: town, values: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]}
window: {size: 60s}
estimates:
  - {name: narrow, of: [bathing, mobility]}
  - {name: wide, of: [bathing, town]}
"""


def problems_of(text: str) -> list[str]:
    """Return the problems for which a text is refused."""
    with pytest.raises(CollectionError) as caught:
        JointCollection.parse(text, source="survey.yaml")
    assert str(caught.value).splitlines() == list(caught.value.problems)
    return list(caught.value.problems)
