"""All exceptions that the package raises for its users have one base."""

import copy
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Iterator

import pytest

import stream_ldp
from stream_ldp.client.errors import DeliveryError
from stream_ldp.collection.located import CollectionError, Misplaced
from stream_ldp.errors import StreamLDPError
from stream_ldp.extras import MissingExtra
from stream_ldp.ledger.ledger_file import LooserTerms
from stream_ldp.ledger.terms import BudgetExceeded


def exceptions() -> Iterator[type[BaseException]]:
    """All that the package defines, private ones too."""
    for module in pkgutil.walk_packages(stream_ldp.__path__, "stream_ldp."):
        # What is written from the specification alone shares nothing with the package, also no errors.
        if not module.name.endswith("__main__") and not module.name.startswith("stream_ldp.audit.wire."):
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


@pytest.mark.parametrize(
    "raised",
    [
        CollectionError(["survey.yaml:1:1: one", "survey.yaml:2:1: another"]),
        Misplaced("epsilon is wrong", "mechanism", 2),
        BudgetExceeded(cost=2.0, left=1.0, budget=8.0),
        DeliveryError(3, "reports", "no broker answers", unsent=1),
        LooserTerms(["budget"]),
        MissingExtra("pyarrow"),
    ],
    ids=lambda raised: type(raised).__name__,
)
def test_an_exception_comes_out_of_another_process_as_it_was_raised(raised: StreamLDPError) -> None:
    for copied in (pickle.loads(pickle.dumps(raised)), copy.copy(raised)):
        assert type(copied) is type(raised)
        assert (str(copied), vars(copied)) == (str(raised), vars(raised))


@pytest.mark.parametrize("base", [ValueError, StreamLDPError])
def test_impossible_parameters_can_be_caught_as_either(base: type[Exception]) -> None:
    mechanism = importlib.import_module("stream_ldp.mechanisms").RRLDP
    with pytest.raises(base, match="f must be between 0"):
        mechanism(sizes=(2,), f=2.0)
