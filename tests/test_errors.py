"""All exceptions that the package raises for its users have one base."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING

import pytest

import stream_ldp
from stream_ldp.errors import StreamLDPError

if TYPE_CHECKING:
    from collections.abc import Iterator


def exceptions() -> Iterator[type[BaseException]]:
    """All that the package defines, private ones too."""
    for module in pkgutil.walk_packages(stream_ldp.__path__, "stream_ldp."):
        if not module.name.endswith("__main__"):
            found = vars(importlib.import_module(module.name)).values()
            yield from (
                each
                for each in found
                if inspect.isclass(each) and issubclass(each, BaseException) and each.__module__ == module.name
            )


def test_every_exception_of_the_package_has_the_one_base() -> None:
    found = set(exceptions())
    assert len(found) >= 34
    assert {each for each in found if not issubclass(each, StreamLDPError)} == set()


def test_every_exception_of_the_package_still_is_what_python_calls_it() -> None:
    for each in set(exceptions()) - {StreamLDPError}:
        assert issubclass(each, ValueError | RuntimeError | ImportError), each


@pytest.mark.parametrize("base", [ValueError, StreamLDPError])
def test_impossible_parameters_can_be_caught_as_either(base: type[Exception]) -> None:
    mechanism = importlib.import_module("stream_ldp.mechanisms").RRLDP
    with pytest.raises(base, match="f must be between 0"):
        mechanism(sizes=(2,), f=2.0)
