"""See to it that a process that serves may open as many files and connections as it needs.

Without them it would neither work nor end: a listening socket that cannot accept is ready again at once, forever,
and each attempt is a line of the log.
"""

import sys

from stream_ldp.cli.failure import fail

#: Descriptors of a process that serves: some 20 of its own (the streams, three event loops, ports that listen), and a
#: connection to each of up to four brokers and to a coordinator for each of five clients that all collections share.
LEAST = 64
#: Those of a collection: the connections of two more clients, which publish and read the log back.
EACH_COLLECTION = 12
#: As many as are asked for where the system allows it: a gateway or a page has one for each of its clients.
WANTED = 4_096


def require_descriptors(least: int) -> None:
    """Raise the limit of the process as far as it may be raised, or end the command if that is too low.

    least: number of descriptors without which the command cannot work.
    """
    if sys.platform == "win32":
        return  # which has no such limit
    import resource  # noqa: PLC0415

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return
    most = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if soft < least:
        fail(
            f"this process may open {soft} files and connections, and needs {least}\n"
            "  -> raise the limit: ulimit -n, LimitNOFILE in systemd, ulimits in Compose"
        )
