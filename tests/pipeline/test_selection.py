"""What is wanted of an answer, read from texts."""

import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.pipeline.selection import Selection


@pytest.mark.parametrize(
    ("texts", "between", "within"),
    [
        ([], None, None),
        (["20,40"], (20.0, 40.0), None),
        (["-inf,1e1"], (-float("inf"), 10.0), None),
        (["40,40"], (40.0, 40.0), None),
        (["age=20,40"], None, {"age": (20.0, 40.0)}),
        (["a=b=-2,-1", "hours=35,45"], None, {"a=b": (-2.0, -1.0), "hours": (35.0, 45.0)}),
    ],
)
def test_ranges_are_read(texts: list[str], between: tuple[float, float] | None, within: object) -> None:
    found = Selection.parse(texts)
    assert (found.between, found.within) == (between, within)


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        (["20"], "20: expected two numbers"),
        (["20,30,40"], "20,30,40: expected two numbers"),
        (["nan,40"], "nan,40: expected two numbers"),
        (["20,10"], "20,10: expected two numbers, the smaller one first, such as 20,40"),
        (["age=40,20"], "age=40,20: expected two numbers, the smaller one first"),
        (["1,2", "age=3,4"], "1,2: with several ranges, each needs a name"),
        (["age=1,2", "age=3,4"], "age=3,4: age has a range already"),
    ],
)
def test_what_is_no_range_is_refused(texts: list[str], fault: str) -> None:
    with pytest.raises(ParameterError, match=fault):
        Selection.parse(texts)


def test_ranges_have_no_given_attributes() -> None:
    with pytest.raises(ParameterError, match="leave out `given`"):
        Selection.parse(["20,40"], of=["age"], given=["sex"])
