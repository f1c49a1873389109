"""The examples in docstrings do what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import stream_ldp

PACKAGE = Path(stream_ldp.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_do_what_they_say(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried
    assert not failed


def test_the_main_functions_have_examples() -> None:
    assert {"stream_ldp.kinds", "stream_ldp.testing", "stream_ldp.kafka.settings"} <= set(MODULES)
