"""One collection of the demo, and the simulated users who answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from stream_ldp.pipeline.answer import AnswerT

if TYPE_CHECKING:
    from stream_ldp.cli.views.view import View
    from stream_ldp.client.subscriber import AnswerSubscriber
    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings

__all__ = ["Part"]


class Part(Protocol[AnswerT]):
    """A collection with its population."""

    @property
    def collection(self) -> Collection:
        """What is asked."""
        ...

    @property
    def view(self) -> View[AnswerT]:
        """What is shown of the answers, beside the truth."""
        ...

    def subscriber(self, settings: Settings) -> AnswerSubscriber[AnswerT]:
        """All the answers from the first on."""
        ...

    async def answer(self, settings: Settings) -> None:
        """Let the users answer, without end."""
        ...

    @property
    def status(self) -> str:
        """How much has been answered, on one line."""
        ...

    def summary(self) -> str:
        """What there was, and how near the last result came to the truth, on one line."""
        ...
