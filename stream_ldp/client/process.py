"""A client in any language as a process: one line of JSON asks, and lines of JSON say what has left it.

docs/clients/contract.md has the protocol.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from stream_ldp.errors import StreamLDPError

PROTOCOL = 1

#: Seconds within which a client answers a request; the longest makes some ten thousand reports.
PATIENCE = 120.0


class ClientRefused(StreamLDPError, RuntimeError):
    """A client does not do what it was asked to.

    reason, detail: see docs/clients/contract.md.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class ClientEnded(StreamLDPError, RuntimeError):
    """A client has ended, by itself or since it was asked to crash.

    left: what had left it since it was asked.
    status: of its process.
    """

    def __init__(self, command: Sequence[str], *, status: int, left: tuple[Left, ...]) -> None:
        super().__init__(f"{command[0]} has ended with status {status} before it answered")
        self.status = status
        self.left = left


class ClientFailed(StreamLDPError, RuntimeError):
    """A client does not speak the protocol, does not answer in time, or says that it has a fault."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hello:
    """What a client says of itself: see docs/clients/contract.md."""

    language: str
    client: str
    mechanisms: frozenset[str]
    steps: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """A record of Kafka, or a request to a gateway, that has left a client.

    value: the batch.
    headers: name and value of each.
    topic, key, timestamp_ms: of a record of Kafka; None of a request.
    path: of a request; None of a record.
    """

    value: bytes
    headers: tuple[tuple[str, str], ...]
    topic: str | None = None
    key: bytes | None = None
    timestamp_ms: int | None = None
    path: str | None = None

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Self:
        """Read what a client says has left it."""
        key = line.get("key")
        return cls(
            value=bytes.fromhex(line["value"]),
            headers=tuple((name, value) for name, value in line["headers"]),
            topic=line.get("topic"),
            key=None if key is None else bytes.fromhex(key),
            timestamp_ms=line.get("timestamp_ms"),
            path=line.get("path"),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Reported:
    """What came of a request to report.

    left: what has left the client, in order.
    reports: number of reports that it has charged and sent.
    spent: nats that all reports of the user have cost.
    receipt: what the user is shown; None where nothing was reported.
    """

    left: tuple[Left, ...]
    reports: int
    spent: float
    receipt: str | None


class ClientProcess:
    """A client in a process of its own, which lives as long as the `with` block."""

    def __init__(self, command: Sequence[str], *, cwd: Path | None = None, patience: float = PATIENCE) -> None:
        """Prepare for a program and its arguments.

        cwd: the directory in which it runs.
        patience: seconds within which it answers.
        """
        self._command = tuple(command)
        self._cwd = cwd
        self._patience = patience
        self._process: subprocess.Popen[str] | None = None
        self._hello: Hello | None = None

    def __enter__(self) -> Self:
        """Start the program.

        Raises:
            ClientFailed: it cannot be started, or speaks another version of the protocol.
        """
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def hello(self) -> Hello:
        """What the client says of itself."""
        if self._hello is None:
            raise RuntimeError("the client is not running: use it inside its `with` block")
        return self._hello

    def restart(self) -> None:
        """End the process, if it has not ended, and start another: it has nothing but what is on the disk."""
        self._end()
        self._start()

    def collection(self, file: str, *, document: Mapping[str, Any], meaning: str) -> bytes:
        """Give the client a collection, and return the fingerprint that the client makes of it, 16 bytes.

        file, document, meaning: as a gateway serves them; a client reads those that it needs.
        """
        answer, _ = self._ask(do="collection", file=file, document=document, meaning=meaning)
        return bytes.fromhex(answer["fingerprint"])

    def user(
        self, user: str, *, secret: bytes, path: Path | None = None, terms: Mapping[str, Any] | None = None
    ) -> float:
        """Begin the ledger of a new user, or open one that is there; return what was spent, in nats.

        path: of the ledger; None to keep it in memory.
        terms: of a new user; None to open a ledger that is there.
        """
        others = {} if path is None else {"path": str(path)}
        agreed = {} if terms is None else {"terms": terms}
        answer, _ = self._ask(do="user", user=user, secret=secret.hex(), **others, **agreed)
        return float(answer["spent"])

    def report(
        self,
        collection: str,
        user: str,
        record: Mapping[str, Any],
        *,
        time_ms: int,
        words: Sequence[int] | None = None,
        times: int = 1,
        rounds: Sequence[Mapping[str, Any]] = (),
        crash: str | None = None,
    ) -> Reported:
        """Let a user report; see docs/clients/contract.md for what the arguments mean.

        Raises:
            ClientEnded: it has crashed, as it was asked to.
            ClientRefused: it does not report.
        """
        given = {"words": words, "crash": crash, "rounds": list(rounds) or None}
        answer, left = self._ask(
            do="report",
            collection=collection,
            user=user,
            record=record,
            time_ms=time_ms,
            times=times,
            **{name: value for name, value in given.items() if value is not None},
        )
        return Reported(left=left, reports=answer["reports"], spent=answer["spent"], receipt=answer["receipt"])

    def spent(self, user: str) -> float:
        """Return what all reports of a user have cost, in nats, as the user's ledger says."""
        answer, _ = self._ask(do="spent", user=user)
        return float(answer["spent"])

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603  the auditor's own command
                self._command,
                cwd=self._cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            raise ClientFailed(f"{self._command[0]} cannot be started: {error.strerror}") from error
        try:
            answer, _ = self._ask(do="hello")
            if answer.get("protocol") != PROTOCOL:
                raise ClientFailed(f"{self._command[0]} speaks protocol {answer.get('protocol')}, not {PROTOCOL}")
        except StreamLDPError as error:
            self._end()
            raise ClientFailed(f"{self._command[0]} does not say hello: {error}") from error
        self._hello = Hello(
            language=answer["language"],
            client=answer["client"],
            mechanisms=frozenset(answer["mechanisms"]),
            steps=tuple(answer["steps"]),
        )

    def _end(self) -> None:
        process, self._process, self._hello = self._process, None, None
        if process is None:
            return
        with process:  # which closes its pipes: a client ends when its input does
            timer = threading.Timer(self._patience, process.kill)
            timer.start()
            try:
                process.communicate()
            finally:
                timer.cancel()

    def _ask(self, **request: Any) -> tuple[dict[str, Any], tuple[Left, ...]]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("the client is not running: use it inside its `with` block")
        left: list[Left] = []
        timer = threading.Timer(self._patience, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                answer = self._read(line)
                if "left" not in answer:
                    return self._checked(answer), tuple(left)
                left.append(Left.of(answer["left"]))
        except BrokenPipeError:
            pass  # it has ended, as its status shows
        finally:
            timer.cancel()
        raise ClientEnded(self._command, status=process.wait(), left=tuple(left))

    def _read(self, line: str) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except json.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise ClientFailed(
                f"{self._command[0]} answers with a line that is no JSON object: {line[:200].rstrip()}"
            )
        return answer

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        if "failed" in answer:
            raise ClientFailed(f"{self._command[0]}: {answer['failed']}")
        if "refused" in answer:
            raise ClientRefused(answer["refused"], answer.get("detail", ""))
        return answer
