"""A deferred name is imported when it is called, and not before."""

import pytest

from stream_ldp.deferred import Deferred


def test_what_is_deferred_is_called_as_if_it_had_been_imported() -> None:
    assert Deferred("json:dumps")({"b": 1, "a": 2}, sort_keys=True) == '{"a": 2, "b": 1}'


def test_nothing_is_imported_before_it_is_called() -> None:
    nowhere = Deferred("stream_ldp.nowhere:function")
    with pytest.raises(ModuleNotFoundError, match=r"stream_ldp\.nowhere"):
        nowhere()
