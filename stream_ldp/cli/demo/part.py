"""What a part of the demo is: a collection, and the simulated users who report to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from stream_ldp.pipeline.answer import AnswerT

if TYPE_CHECKING:
    from stream_ldp.cli.displays.display import Display
    from stream_ldp.client.subscriber import Subscriber
    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings


class DemoPart(Protocol[AnswerT]):
    """A collection with its population."""

    @property
    def collection(self) -> Collection:
        """The collection."""
        ...

    @property
    def display(self) -> Display[AnswerT]:
        """The display that shows the answers, beside the truth."""
        ...

    def subscriber(self, settings: Settings) -> Subscriber[AnswerT]:
        """Return a subscriber to all answers, from the first on."""
        ...

    async def report(self, settings: Settings) -> None:
        """Let the users report, without end."""
        ...

    @property
    def status(self) -> str:
        """The number of reports so far, on one line."""
        ...

    def summary(self) -> str:
        """Say how many reports there were and how near the last result came to the truth, on one line."""
        ...
