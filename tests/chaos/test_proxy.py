"""Tests of the proxy's faults, on a server that returns what it gets."""

import asyncio
import random
import struct
import time
from collections.abc import AsyncIterator

import pytest

from stream_ldp.kafka.embedded.process import free_ports
from tests.chaos.proxy import Damage, Proxy, reset, swapped

#: To this the server answers by resetting the connection.
RESET = b"reset"


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            if data == RESET:
                reset(writer)
            writer.write(data)
        writer.close()

    inner, outer = free_ports(2)
    async with await asyncio.start_server(serve, "127.0.0.1", inner), Proxy(outer, to=inner) as proxy:
        yield proxy


async def test_bytes_pass_in_both_directions_after_the_delay(proxy: Proxy) -> None:
    reader, writer = await proxy.connect()
    proxy.delay = 0.05
    began = time.monotonic()
    writer.write(b"hello")
    assert await reader.readexactly(5) == b"hello"
    assert time.monotonic() - began >= 0.1
    writer.close()


async def test_a_cut_resets_connections_and_new_ones_end_at_once(proxy: Proxy) -> None:
    reader, writer = await proxy.connect()
    writer.write(b"hello")
    await reader.readexactly(5)
    proxy.refusing = True
    proxy.cut()
    with pytest.raises(ConnectionResetError):
        await reader.readexactly(1)
    reader, writer = await proxy.connect()
    assert await reader.read() == b""
    writer.close()


async def test_a_half_closed_connection_still_takes_what_is_written(proxy: Proxy) -> None:
    reader, writer = await proxy.connect()
    writer.write(b"hello")
    await reader.readexactly(5)
    proxy.half_close()
    assert await reader.read() == b""
    writer.write(b"more")
    await writer.drain()
    writer.close()


async def test_a_silent_connection_neither_answers_nor_ends_and_a_new_one_does(proxy: Proxy) -> None:
    reader, writer = await proxy.connect()
    writer.write(b"hello")
    await reader.readexactly(5)
    proxy.silence()
    writer.write(RESET)
    new_reader, new_writer = await proxy.connect()
    new_writer.write(b"hello")
    assert await new_reader.readexactly(5) == b"hello"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await reader.read()
    for each in (writer, new_writer):
        each.close()


async def test_a_connection_that_the_server_resets_is_reset(proxy: Proxy) -> None:
    reader, writer = await proxy.connect()
    writer.write(RESET)
    with pytest.raises(ConnectionResetError):
        async with asyncio.timeout(2):
            await reader.read()
    writer.close()


def test_swapped_bytes_are_the_same_ones_in_another_order() -> None:
    piece = bytes(range(200))
    for seed in range(50):
        made = swapped(piece, chance=random.Random(seed))
        assert made != piece
        assert sorted(made) == sorted(piece)


async def test_pieces_are_damaged_while_damage_is_done_and_none_afterwards(proxy: Proxy) -> None:
    proxy.chance.random = lambda: 0.0  # type: ignore[method-assign]
    piece = bytes(range(100))
    reader, writer = await proxy.connect()
    proxy.damage = Damage.SWAP
    writer.write(piece)
    answer = await reader.readexactly(100)
    assert answer != piece
    assert sorted(answer) == sorted(piece)
    proxy.damage = Damage.LOSE
    writer.write(piece)
    await asyncio.sleep(0.1)
    proxy.damage = None
    writer.write(b"later")
    assert await reader.readexactly(5) == b"later"
    proxy.damage = Damage.CUT
    writer.write(piece)
    with pytest.raises(ConnectionResetError):
        await reader.readexactly(100)
    assert proxy.damaged == 3


async def test_the_answer_to_a_write_is_lost_as_often_as_it_should_be() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            size = await reader.readexactly(4)
            frame = await reader.readexactly(int.from_bytes(size, "big"))
            writer.write(struct.pack(">i", 4) + frame[4:8])

    inner, outer = free_ports(2)
    write, other = (struct.pack(">ihhi", 8, api, 0, 7) for api in (0, 3))
    async with await asyncio.start_server(serve, "127.0.0.1", inner), Proxy(outer, to=inner, losses=1) as proxy:
        for request, answer in ((other, True), (write, False), (write, True)):
            reader, writer = await proxy.connect()
            writer.write(request)
            assert bool(await reader.read(8)) is answer
            writer.close()
    assert proxy.lost == 1
