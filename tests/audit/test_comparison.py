"""What is sent with another probability than stated is named, and what is sent as stated is not."""

from fractions import Fraction

import numpy as np

from stream_ldp.audit.comparison import compared, independent, outputs_of

STATED = {b"\x00": Fraction(3, 4), b"\x01": Fraction(1, 4)}


def test_the_output_that_differs_most_is_named() -> None:
    assert list(compared("perturb", STATED, STATED)) == []
    realised = {b"\x00": Fraction(3, 4), b"\x01": Fraction(1, 16), b"\x02": Fraction(3, 16)}
    (found,) = compared("perturb", realised, STATED)
    assert found == "perturb: it sends 01 with probability 0.0625, and states 0.25"


def test_users_who_are_independent_multiply() -> None:
    both = independent([STATED, STATED])
    assert both[b"\x00\x01"] == Fraction(3, 16)
    assert sum(both.values()) == 1


def test_a_report_of_a_table_is_packed_as_it_is_sent() -> None:
    table = np.full((1, 2**9), Fraction(0), dtype=object)
    table[0, 300] = Fraction(1)
    assert outputs_of(table, 0) == {(300).to_bytes(2, "little"): 1}
