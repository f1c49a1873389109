"""This command serves the gateway until Ctrl-C or SIGTERM."""

import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from stream_ldp.cli.arguments import CollectionFiles
from stream_ldp.cli.descriptors import LEAST, require_descriptors
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.table import text_of
from stream_ldp.cli.logs import begin_log
from stream_ldp.cli.options import SERVER, load_collections, with_settings
from stream_ldp.cli.running import quick_loop, run, until_signal
from stream_ldp.client.reporter import now_ms
from stream_ldp.errors import DataError
from stream_ldp.gateway.limiter import Limiter
from stream_ldp.gateway.server import Door, Gateway, Source
from stream_ldp.http.hosts import Hosts
from stream_ldp.http.origins import origin_of
from stream_ldp.http.port import Port
from stream_ldp.http.proxies import Proxies
from stream_ldp.http.token import Tokens
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import shared_secret
from stream_ldp.kafka.tracing import begin_tracing, end_tracing

#: Seconds that a stop waits for batches under way: longer than the gateway's patience with the brokers.
STOP_SECONDS = 15.0

_DOOR_PANEL = "Who may come in"


@with_settings((*SERVER, "tracing"))
def gateway(
    files: CollectionFiles,
    *,
    host: Annotated[str, typer.Option(help="Address to serve on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to serve on; 0 for any free one.")] = 8443,
    cert_file: Annotated[
        Path | None,
        typer.Option(help="PEM file of the certificate for HTTPS; plain HTTP without one.", show_default=False),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(help="PEM file of its key; not needed if the certificate's has it.", show_default=False),
    ] = None,
    tokens_file: Annotated[
        Path | None,
        typer.Option(
            help="File of bearer tokens, one a line; a client must have one. Without the file, everyone may come in.",
            show_default=False,
            rich_help_panel=_DOOR_PANEL,
        ),
    ] = None,
    rate: Annotated[
        float,
        typer.Option(
            min=0.001, help="Batches per second of one client, by token or address.", rich_help_panel=_DOOR_PANEL
        ),
    ] = 10.0,
    burst: Annotated[
        int, typer.Option(min=1, help="Batches that a client may send at once.", rich_help_panel=_DOOR_PANEL)
    ] = 20,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Origin of a page whose scripts may report, such as https://a.example; * for all. May be repeated.",
            show_default=False,
            rich_help_panel=_DOOR_PANEL,
        ),
    ] = None,
    settings: Settings,
) -> None:
    """Serve the gateway until Ctrl-C or SIGTERM.

    A client POSTs a batch, in the bytes of docs/wire.md, to /v1/collections/NAME/batches, and gets its number of
    reports once the brokers have it. What a worker would not count is refused at once, with the reason. A gateway
    keeps nothing, so run as many as you like, and behind whatever balances their load.
    """
    begin_log(settings)
    require_descriptors(LEAST)
    sources = [
        Source(collection=collection, text=Path(file).read_text(encoding="utf-8"))
        for file, collection in load_collections(files).items()
    ]
    door = Door(limiter=Limiter(rate=rate, burst=burst), tokens=_tokens(tokens_file), origins=_origins(origin or ()))
    served = Gateway(sources, settings=settings, door=door, now_ms=now_ms)
    opened = Port(
        served.answer,
        host=host,
        port=port,
        hosts=Hosts.of(settings.allowed_hosts),
        proxies=Proxies.of(settings.trusted_proxies),
        tls=_tls(cert_file, key_file),
        stop_seconds=STOP_SECONDS,
        count=served.note,
        refuse=served.refuse,
    )
    begin_tracing(settings, service="stream-ldp-gateway")
    try:
        work = until_signal(_serve(served, opened, host=host, scheme="https" if cert_file else "http"))
        run(work, loop=quick_loop())
    finally:
        end_tracing()


def _origins(given: Iterable[str]) -> frozenset[str]:
    found = {each: "*" if each == "*" else origin_of(each) for each in given}
    if wrong := [each for each, origin in found.items() if origin is None]:
        fail(
            f"--origin {wrong[0]!r} is no origin: write its scheme and host alone, such as https://a.example", code=2
        )
    return frozenset(each for each in found.values() if each is not None)


def _tokens(file: Path | None) -> Tokens:
    if file is None:
        return Tokens()
    _require_kept(file, "--tokens-file")
    try:
        with text_of(file) as lines:
            found = frozenset(token for line in lines if (token := line.strip()))
    except DataError as error:
        fail(f"--tokens-file {error}", code=2)
    if not found:
        fail(f"--tokens-file {file} holds no token, so nobody could come in", code=2)
    return Tokens.of(*found)


def _require_kept(file: Path, option: str) -> None:
    """End the command if everybody may read a file with a secret."""
    if problem := shared_secret(file):
        fail(f"{option} {problem}", code=2)


def _tls(cert_file: Path | None, key_file: Path | None) -> ssl.SSLContext | None:
    if cert_file is None:
        if key_file is not None:
            fail("--key-file is given without its --cert-file", code=2)
        return None
    _require_kept(key_file or cert_file, "--key-file" if key_file else "--cert-file")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # The password is empty: without one, OpenSSL would ask for that of an encrypted key at the terminal.
        context.load_cert_chain(cert_file, key_file, password="")  # nosec B106
    except (ssl.SSLError, OSError) as error:
        fail(f"--cert-file {cert_file} and its key cannot be used: {error}", code=2)
    return context


async def _serve(served: Gateway, opened: Port, *, host: str, scheme: str) -> None:
    async with served.connected():
        try:
            await opened.start()
            echo(f"The gateway is at {scheme}://{host}:{opened.address[1]}/v1/collections; Ctrl-C ends it.")
            await served.watch_brokers()
        finally:
            await opened.stop()
