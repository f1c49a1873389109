"""Make the Faust app that a worker runs in.

Faust does two things here: it starts, supervises and stops the worker's parts together, and it distributes the
partitions of the partials topic among the workers and feeds the merge from them. All its other features are off.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import faust
from faust.auth import OAuthCredentials, SASLCredentials, SSLCredentials

from stream_ldp.kafka.token_file import TokenFile
from stream_ldp.kafka.unreadable import fault_of
from stream_ldp.pipeline.quarantine import LogEntry
from stream_ldp.service.faust_transport import MAX_RECORDS, WorkerTransport, records_of
from stream_ldp.service.part import aloud
from stream_ldp.service.reports_group import MAX_POLL_INTERVAL_MS

if TYPE_CHECKING:
    from faust.types.auth import CredentialsT

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.service.merger import Merger

#: Records that are merged before the event loop turns for others: some milliseconds of work.
RECORDS_AT_ONCE = 50

#: Seconds between two commits of what has been read. Windows are rebuilt from the log, so the next owner of a
#: partition reads as much again, and nothing more. At Faust's own 2.8 s, to look for what to commit is a tenth of
#: what a worker takes whose users are silent.
COMMIT_SECONDS = 10.0

#: Faust's other features, switched off.
_OFF: dict[str, Any] = {
    # No tables: state is rebuilt from the log.
    "store": "memory://",
    # No topics of its own, and none created: the preflight has checked that every topic exists.
    "topic_allow_declare": False,
    "topic_disable_leader": True,
    # No pages: they listen on all interfaces, unauthenticated, and two workers on a host collide on their port.
    "web_enabled": False,
    # No wait, at a rebalance, for events under way: each has been processed before the loop turns.
    "stream_wait_empty": False,
}


def faust_app(settings: Settings, merger: Merger, *, group: str, datadir: str) -> Any:
    """Make an app whose only agent passes the partials to the merger, and which assigns partitions to the merger.

    group: name of the consumer group of the workers that share the merging; see `GroupNames.merge`.
    datadir: an existing directory. Faust creates one even if it stores nothing, by default in the current directory.
    """
    app = faust.App(
        group,
        broker=[f"kafka://{address}" for address in settings.broker_addresses],
        broker_credentials=_credentials(settings),
        broker_client_id=settings.client_id,
        broker_session_timeout=settings.session_timeout_ms / 1_000,
        broker_heartbeat_interval=settings.heartbeat_interval_ms / 1_000,
        broker_rebalance_timeout=settings.rebalance_timeout_ms / 1_000,
        broker_request_timeout=settings.request_timeout_ms / 1_000,
        # A consumer that has not fetched for so long, as during an outage, does not join its group again.
        broker_max_poll_interval=2 * settings.outage_seconds + MAX_POLL_INTERVAL_MS / 1_000,
        broker_commit_interval=COMMIT_SECONDS,
        consumer_auto_offset_reset="earliest",
        # Without a limit, few bytes that expand to very many records would fill the memory with their objects.
        broker_max_poll_records=MAX_RECORDS,
        datadir=datadir,
        **_OFF,
    )
    app.transport = WorkerTransport(app.conf.broker_consumer, app)
    topic = app.topic(
        settings.topic_names.partials, value_serializer="raw", key_serializer="raw", value_type=bytes, key_type=bytes
    )

    @app.agent(topic, name="merge")
    async def merge(stream: Any) -> None:
        async for event in stream.events():
            try:
                for number, record in enumerate(records_of(event.message), 1):
                    entry = LogEntry.read(
                        *(record.topic, record.partition, record.offset),
                        key=record.key,
                        value=record.value,
                        fault=fault_of(record),
                    )
                    await aloud(merger.apply(entry))
                    if number % RECORDS_AT_ONCE == 0:
                        await asyncio.sleep(0)
            except Exception as error:
                # A plain raise would acknowledge the event and restart the agent alone, every few seconds.
                await app.crash(error)
                raise

    async def assigned(_: Any, /, *partitions: Any, signal: Any, **__: Any) -> None:  # noqa: ARG001
        await merger.take_over({each.partition for each in partitions[0]})

    async def revoked(_: Any, /, *partitions: Any, signal: Any, **__: Any) -> None:  # noqa: ARG001
        await merger.give_up({each.partition for each in partitions[0]})

    app.on_partitions_assigned.connect(assigned)
    app.on_partitions_revoked.connect(revoked)
    return app


def _credentials(settings: Settings) -> CredentialsT | None:
    """Return what proves to the brokers who this is, as `Settings.client_options` has it; None for plaintext."""
    context = settings.ssl_context()
    if settings.sasl_token_file is not None:
        return OAuthCredentials(oauth_cb=TokenFile(settings.sasl_token_file), ssl_context=context)
    if settings.security_protocol.authenticated:
        # Faust takes SASL_SSL from the presence of a context, and SASL_PLAINTEXT, silently, from its absence.
        return SASLCredentials(
            mechanism=settings.sasl_mechanism.value,
            username=settings.sasl_username,
            password=settings.password,
            ssl_context=context,
        )
    return None if context is None else SSLCredentials(context)
