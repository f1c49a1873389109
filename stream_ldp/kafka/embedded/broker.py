"""This module says what every broker of this package does: it starts, has an address, and stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["EmbeddedBroker"]


class EmbeddedBroker(ABC):
    """A broker in a child process, as a context manager: it runs within the block."""

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """Address for clients, host:port."""

    @abstractmethod
    def start(self) -> None:
        """Start the child process, and wait until clients can use the broker."""

    @abstractmethod
    def stop(self) -> None:
        """End the child process."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
