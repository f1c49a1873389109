"""Run work in a process that is killed at a place of choice, before or after a call of the system."""

import fcntl
import os
import signal
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

#: Functions of `os` and `fcntl` that are no calls of the system, or by which a process ends.
_OTHERS = frozenset({"_exit", "abort", "fork", "fspath", "getpid", "kill", "urandom", "fsencode", "fsdecode"})


def killed(work: Callable[[], object], *, at: int) -> bool:
    """Do the work in a process that is killed at a place, and return whether it came so far.

    Each call of the system has two places, before and after it; the first has the number 0.
    """
    with warnings.catch_warnings():
        # The child calls nothing that another thread might have locked.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            return True
        assert os.waitstatus_to_exitcode(status) == 0, "the work failed without having been killed"
        return False
    try:
        _count(at)
        work()
    except BaseException:  # noqa: BLE001  a child must not go on with the tests
        os._exit(1)
    os._exit(0)


def _count(at: int) -> None:
    """Let this process be killed at a place."""
    places = 0

    def step() -> None:
        nonlocal places
        if places == at:
            os.kill(os.getpid(), signal.SIGKILL)
        places += 1

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            step()
            result = call(*arguments, **named)
            step()
            return result

        return wrapped

    for module in (os, fcntl):
        for name in _calls(module):
            setattr(module, name, counted(getattr(module, name)))


def _calls(module: ModuleType) -> list[str]:
    return [
        name
        for name, member in vars(module).items()
        if type(member) is type(os.open) and not name.startswith("W") and name not in _OTHERS
    ]
