"""This module has a proxy of a broker that loses acknowledgements, so that clients write again what is stored."""

from __future__ import annotations

import asyncio
import struct
from types import TracebackType
from typing import Self

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.embedded.ports import free_ports

__all__ = ["LossyProxy", "ProxiedKafka"]

_PRODUCE = 0


class ProxiedKafka(EmbeddedKafka):
    """A broker with a second listener, which clients reach through a proxy."""

    def __init__(self) -> None:
        super().__init__()
        self.inner_port, self.proxy_port = free_ports(2)

    def properties(self) -> dict[str, str]:
        own = super().properties()
        return own | {
            "listeners": f"{own['listeners']},PROXIED://127.0.0.1:{self.inner_port}",
            "advertised.listeners": f"{own['advertised.listeners']},PROXIED://127.0.0.1:{self.proxy_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }


class LossyProxy:
    """A proxy that ends the connection in place of the answer to each of the first writes.

    lost: number of answers that have been lost.
    """

    def __init__(self, broker: ProxiedKafka, *, losses: int) -> None:
        self.lost = 0
        self._broker = broker
        self._losses = losses
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._broker.proxy_port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        broker, to_broker = await asyncio.open_connection("127.0.0.1", self._broker.inner_port)
        writes: set[int] = set()

        async def requests() -> None:
            while True:
                frame = await _frame(client)
                api, _, correlation = struct.unpack_from(">hhi", frame, 4)
                if api == _PRODUCE:
                    writes.add(correlation)
                to_broker.write(frame)

        async def answers() -> None:
            while True:
                frame = await _frame(broker)
                if struct.unpack_from(">i", frame, 4)[0] in writes and self.lost < self._losses:
                    self.lost += 1
                    return
                to_client.write(frame)

        tasks = [asyncio.create_task(requests()), asyncio.create_task(answers())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        to_broker.close()
        to_client.close()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size, "big"))
