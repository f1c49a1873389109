"""Tests of asynchronous work that is waited for."""

from __future__ import annotations

import asyncio

import pytest

from stream_ldp.client.synchronous import run_blocking


async def seven() -> int:
    await asyncio.sleep(0)
    return 7


def test_work_is_waited_for_and_returns_its_result() -> None:
    assert run_blocking(seven()) == 7


async def test_it_runs_where_a_loop_is_running_already() -> None:
    assert run_blocking(seven()) == 7


def test_what_it_raises_is_raised() -> None:
    async def failing() -> None:
        raise LookupError("nothing")

    with pytest.raises(LookupError, match="nothing"):
        run_blocking(failing())
