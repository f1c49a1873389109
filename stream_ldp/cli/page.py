"""This command serves a live page with the answers of collections."""

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import Annotated, Any

import typer

from stream_ldp.cli.arguments import CollectionFiles
from stream_ldp.cli.descriptors import LEAST, require_descriptors
from stream_ldp.cli.echo import echo, echo_problem
from stream_ldp.cli.logs import begin_log
from stream_ldp.cli.options import PAGE, load_collections, with_settings
from stream_ldp.cli.running import run, until_signal
from stream_ldp.client.subscriber import Subscriber, readable
from stream_ldp.http.hosts import Hosts
from stream_ldp.http.proxies import Proxies
from stream_ldp.kafka.broker_watch import BrokerWatch
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of
from stream_ldp.page.history import FINALS, History
from stream_ldp.page.server import PageServer


@with_settings(PAGE)
def page(
    files: CollectionFiles,
    *,
    host: Annotated[
        str,
        typer.Option(
            help="Address to serve the page on; everyone who can reach it sees the answers, or with a token "
            "(--page-token-file) everyone who has it."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the page; 0 for any free one.")] = 8080,
    finals: Annotated[
        bool,
        typer.Option("--finals", help="Leave out answers of open windows, and of the earlier phases of an epoch."),
    ] = False,
    keep: Annotated[int, typer.Option(min=1, help="Number of final answers of each series to keep.")] = FINALS,
    settings: Settings,
) -> None:
    """Serve the page until Ctrl-C or SIGTERM.

    It shows each collection's answers as they come, and those of past windows that the topic still has. It only
    reads answers, so it may run anywhere and as often as one likes; it needs no worker on its machine.

    Answers of open windows are on a topic of their own, since they reveal more of each user: who may read final
    answers alone has --finals.
    """
    begin_log(settings)
    require_descriptors(LEAST)
    collections = list(load_collections(files).values())
    watch = BrokerWatch(settings, endless=True)
    server = PageServer(
        History.of(collections, finals=keep),
        collections={each.name: each for each in collections},
        host=host,
        port=port,
        hosts=Hosts.of(settings.allowed_hosts),
        proxies=Proxies.of(settings.trusted_proxies),
        token=settings.page_token,
        problems=watch.problems,
    )
    subscribers = [
        Subscriber(
            collection.name,
            kind_of(collection).answer,
            settings=settings,
            finals_only=finals,
            provisional=not finals,
            from_beginning=True,
        )
        for collection in collections
    ]
    run(until_signal(_page(server, subscribers, watch)))


async def _page(server: PageServer, subscribers: Iterable[Subscriber[Any]], watch: BrokerWatch) -> None:
    async with AsyncExitStack() as opened:
        # Before the address is shown: whatever is missing would end a page that somebody has just opened.
        reading = [await opened.enter_async_context(subscriber) for subscriber in subscribers]
        await server.start()
        opened.push_async_callback(server.stop)
        echo(f"The page is at {server.url}; Ctrl-C ends it.")
        following = [asyncio.create_task(_follow(subscriber, server)) for subscriber in reading]
        following.append(asyncio.create_task(watch.run()))
        try:
            # A task group would hide the error of one of them in a group of errors, which nobody explains to users.
            await asyncio.gather(*following)
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)


async def _follow(subscriber: Subscriber[Any], server: PageServer) -> None:
    """Show all answers of one collection, and say on standard error which records are none."""
    async for answer in readable(subscriber, on_unreadable=echo_problem):
        server.show(answer)
