"""The reasons to refuse a batch are those of the specification."""

import re

from stream_ldp.pipeline.rejection import Reason
from tests.paths import REPOSITORY

SPECIFICATION = (REPOSITORY / "docs" / "wire.md").read_text(encoding="utf-8")


def test_the_specification_lists_exactly_the_reasons_in_the_order_they_are_checked() -> None:
    section = SPECIFICATION.split("## 8.")[1].split("**Dead letters**")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == [str(reason) for reason in Reason]
