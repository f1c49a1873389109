"""docs/choosing.md has the numbers that the benchmarks measured."""

import re
from functools import partial

from tests.benchmarks.measured import shown
from tests.pages.page import table


def test_the_comparison_has_the_numbers_that_the_benchmarks_measured() -> None:
    rows = re.findall(r"^\| (\w[\w -]+) \| (.*) \|$", table("docs/choosing.md", "comparison"), flags=re.MULTILINE)
    assert len(rows) == 8
    for method, numbers in rows:
        ndcg = partial(shown, "ndcg", data="mushroom.txt.gz", method=method, k=10)
        f1 = partial(shown, "f1", data="zipf.txt.gz", method=method, k=32)
        measured = [ndcg(epsilon=1), ndcg(epsilon=3), f1(epsilon=2), f1(epsilon=4)]
        assert numbers.split(" | ") == measured, method
