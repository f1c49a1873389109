"""Tests that memory which is needed again is not given back."""

from __future__ import annotations

import platform
import resource

import pytest

from stream_ldp.service.heap import keep_freed_memory

_BLOCKS, _BYTES, _TIMES = 4, 2**20, 20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's heap has these thresholds")
def test_blocks_of_megabytes_are_used_again_without_new_pages() -> None:
    keep_freed_memory()
    _fill()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(_TIMES):
        _fill()
    pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert pages < _TIMES * _BLOCKS * _BYTES // resource.getpagesize() // 10


def _fill() -> None:
    assert len([b"x" * _BYTES for _ in range(_BLOCKS)]) == _BLOCKS
