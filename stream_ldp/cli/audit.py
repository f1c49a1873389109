"""This command checks the privacy that a collection or a mechanism promises, by enumeration or by attack."""

import asyncio
import contextlib
import json
import logging
import math
import shlex
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.audit.audited import AuditSubject, Exact
from stream_ldp.audit.enumerate import ENUMERATED, UnknownDistribution
from stream_ldp.audit.one_report import OneReport
from stream_ldp.audit.record_mechanism import AuditedRecords
from stream_ldp.audit.specified_rows import differences, round_differences, w_event_claims
from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.client.audit.finding import Finding
from stream_ldp.client.audit.reporter import audit_reporter
from stream_ldp.client.audit.respondent import audit_respondent
from stream_ldp.collection.located import suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.kinds import KINDS, kind_of, load_collection
from stream_ldp.ledger.ledger import charged
from stream_ldp.mechanisms import Mechanism, OSEntropy, PermanentWords, SeededEntropy
from stream_ldp.mechanisms.notation import EXAMPLES, read_mechanism
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pipeline.plan import finite
from stream_ldp.quantity import quantity
from stream_ldp.steps import share, steps

_TRIALS = 100_000
_CONFIDENCE = 0.99


def audit(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION|MECHANISM",
            help=f"Collection file, or a mechanism such as {' or '.join(EXAMPLES.values())}.",
        ),
    ],
    *,
    exact: Annotated[
        bool, typer.Option("--exact", help="Enumerate all inputs and outputs instead of attacking.")
    ] = False,
    client: Annotated[
        bool,
        typer.Option(
            "--client",
            help="Run the collection's clients on a broker in memory, and look at all that leaves them.",
        ),
    ] = False,
    through: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="With --client: the command of a client in any language that is audited in place of this one; it "
            "speaks the protocol of docs/clients/contract.md.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=100,
            show_default=str(_TRIALS),
            help="Number of simulated users with each of the two records, or sets, that an attack distinguishes.",
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            show_default=str(_CONFIDENCE),
            help="Probability that no lower bound is above the true epsilon, in (0, 1).",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of all randomness, in place of the operating system's generator."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Attack the code, or enumerate what it does, and fail if a claim is disproved.

    Every epsilon is in nats. Without --exact, simulated users with two different records or sets report, and an
    attacker derives a lower bound of epsilon from their reports, which is shown beside the claimed epsilon. It comes
    close to epsilon where the reports that distinguish the two are frequent enough. With --exact, epsilon is
    enumerated from the probabilities with which the code produces its outputs. With --client, the reporters of a
    collection run as in an application, with restarts, for users with different values. All that is seen of them
    beside their perturbed rows must not depend on these values. With --through, a client in another language runs, as
    a process, and all that leaves it is compared with the specification.
    """
    if through is not None and not client:
        fail("--through belongs to --client: give both", code=2)
    if exact and client:
        fail("--exact enumerates the mechanism, and --client runs the clients: give one of them", code=2)
    if exact and not (trials is confidence is seed is None):
        fail("--exact draws nothing at random: leave out --trials, --confidence and --seed", code=2)
    if client and not (trials is confidence is seed is None):
        fail("--client has no number of trials: leave out --trials, --confidence and --seed", code=2)
    if confidence is not None and not 0 < confidence < 1:
        fail(f"--confidence must be above 0 and below 1, got {confidence}", code=2)
    audited = read(subject)
    if client:
        _run_client(audited, subject, through=through, as_json=as_json)
    elif exact:
        _enumerate(audited, subject, as_json=as_json)
    else:
        _attack(
            audited,
            trials=trials or _TRIALS,
            confidence=confidence or _CONFIDENCE,
            seed=seed,
            as_json=as_json,
        )


def _enumerate(audited: AuditSubject, subject: str, *, as_json: bool) -> None:
    with _examining("the code"), share(ENUMERATED):
        found = audited.enumerated()
        if (collection := audited.collection) is not None:
            kind = kind_of(collection)
            client: Any = kind.specified(read_file(Path(subject)), collection.meaning)
            others = [*differences(collection, kind.reports_at_once, client)]
            if kind.rounds is not None:
                asked = kind.rounds.asked(collection, 0)
                others += round_differences(collection, kind.reports, asked, client)
            found = replace(
                found,
                differences=(*found.differences, *others),
                w_event=list(w_event_claims(collection, found.claims, claimed=kind.per_turn(collection))),
            )
    if as_json:
        _print_json(_document(found))
    else:
        _print_enumerated(found)
    if found.disproved or found.differences:
        has = "does not have" if found.differences else "has"
        claims = f"{len(found.disproved)} of {len(found.claims) + len(found.w_event) + len(found.wide)} claims"
        where = "".join(f"\n  in {each}" for each in found.differences)
        fail(f"DISPROVED: {claims}; the code {has} the probabilities that it states{where}")
    if not as_json:
        echo("Every claim holds to 1e-9, and every decision has the stated probabilities to 2^-32.")


def _document(found: Exact) -> dict[str, Any]:
    document: dict[str, Any] = {
        "results": [claim.row for claim in found.claims],
        "probabilities_as_stated": not found.differences,
    }
    if found.changing is not None:
        document["changing"] = found.changing
    if found.w_event:
        document["w_event"] = [claim.row for claim in found.w_event]
    if found.wide:
        document["real_width"] = [claim.row for claim in found.wide]
    if found.miniature is not None:
        document["miniature"] = found.miniature
    if found.differences:
        document["differences"] = list(found.differences)
    return document


def _print_enumerated(found: Exact) -> None:
    if found.miniature is not None:
        echo(f"It is too large to enumerate; enumerated in miniature: {found.miniature}.")
    _print_table(found.title, [claim.row for claim in found.claims])
    if found.changing:
        _print_table(f"{found.changes} that may change before each report, which no formula covers", found.changing)
        echo("`if constant` is what so many reports cost as long as there is no change.", "")
    if found.w_event:
        _print_table(
            "Any windows, or epochs, that follow each other, of a user whose reports have fresh noise",
            [claim.row for claim in found.w_event],
        )
    if found.wide:
        _print_table(
            "At their real width, some values and sets, and some ways to draw the rows",
            [claim.row for claim in found.wide],
        )


def _run_client(audited: AuditSubject, subject: str, *, through: str | None, as_json: bool) -> None:
    # Imported here, since other audits need not wait for the import of clients.
    from stream_ldp.cli.audit import audit_clients  # noqa: PLC0415
    from stream_ldp.client.audit.sending import SENT  # noqa: PLC0415
    from stream_ldp.client.audit.through import audit_through  # noqa: PLC0415
    from stream_ldp.client.process import ClientFailed  # noqa: PLC0415

    if audited.collection is None:
        fail(
            f"{subject}: --client audits the reporters of a collection: give the file of one",
            code=2,
        )
    file, collection = read_file(Path(subject)), audited.collection
    if through is not None and (kind_of(collection).rounds is not None or collection.rotate is not None):
        fail(
            f"{subject}: --through audits reports of records without turns; a suite tests clients that answer rounds",
            code=2,
        )
    failed: ClientFailed | None = None
    with tempfile.TemporaryDirectory() as directory, _without_warnings(), _examining("a client"), share(SENT):
        if through is None:
            found = asyncio.run(audit_clients(collection, file, Path(directory)))
        else:
            text = Path(subject).read_text(encoding="utf-8")
            try:
                found = audit_through(shlex.split(through), collection, text, file, Path(directory))
            except ClientFailed as failure:
                failed = failure
    if failed is not None:  # which says nothing of what a client promises
        fail(f"--through: {failed}", code=2)
    rows = [{"promise": each.promise, "chance": each.chance, "result": each.problem or "holds"} for each in found]
    if as_json:
        _print_json({"results": rows})
    else:
        table = Table(title="All that leaves the collection's clients", title_justify="left", box=box.SIMPLE)
        for name in ("promise", "fails by chance", "result"):
            table.add_column(name)
        for row in rows:
            chance = f"at most {row['chance']:g}" if row["chance"] else "never"
            table.add_row(str(row["promise"]), chance, "holds" if row["result"] == "holds" else "BROKEN")
        print_whole(Console(highlight=False), table)
    if broken := [each for each in found if each.problem is not None]:
        where = "".join(f"\n  {each.promise}: {each.problem}" for each in broken)
        fail(f"DISPROVED: {len(broken)} of {len(found)} promises of the client{where}")
    if not as_json:
        echo(f"All {len(found)} promises of the client hold.")


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep back what clients print for their users, such as of a new ledger: its users are nobody."""
    logger = logging.getLogger("stream_ldp")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _examining(target: str) -> Iterator[None]:
    """End the command with one message, and status 1, if the code under audit fails, whatever it raises."""
    try:
        yield
    except UnknownDistribution as error:
        fail(f"DISPROVED: what {target} does cannot be enumerated: {error}")
    except Exception as error:  # noqa: BLE001  # code that is broken may raise anything, which is a finding, no bug here
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.name}, {last.filename}:{last.lineno}"
        fail(f"DISPROVED: {target} fails in {place}: {type(error).__name__}: {error}")


def _attack(audited: AuditSubject, *, trials: int, confidence: float, seed: int | None, as_json: bool) -> None:
    entropy = OSEntropy() if seed is None else SeededEntropy(seed)
    with _examining("the code"):
        planned = audited.attacks(noise=lambda: entropy, secrets=entropy)
    # Several bounds share the allowed error equally.
    each_confidence = 1 - (1 - confidence) / len(planned)
    results: list[dict[str, Any]] = []
    for attack in steps(planned, "attacks"):
        start = time.perf_counter()
        with _examining(attack.target):
            found = attack.run(trials=trials, confidence=each_confidence, entropy=entropy)
        results.append(
            {
                "target": attack.target,
                "neighbours": attack.neighbours,
                "reports": attack.reports,
                "values": attack.values.value,
                "epsilon": attack.claimed,
                "lower_bound": found.epsilon,
                "trials": found.trials,
                "seconds": time.perf_counter() - start,
            }
        )
    if as_json:
        _print_json({"confidence": confidence, "results": results})
    else:
        _print_table(f"Lower bounds of epsilon by attack, all of them valid with confidence {confidence:g}", results)
    if disproved := [each for each in results if each["lower_bound"] > each["epsilon"]]:
        fail(f"DISPROVED: {len(disproved)} of {len(results)} attacks show more than the epsilon that is claimed")
    if not as_json:
        echo(f"No lower bound exceeds the claimed epsilon: {quantity(len(results), 'attack')} did not disprove it.")


def _print_json(document: dict[str, Any]) -> None:
    echo(json.dumps(finite(document), allow_nan=False))


def _print_table(title: str, rows: Sequence[dict[str, Any]]) -> None:
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    names = [name for name in rows[0] if name != "values"]  # the target says it
    for name in names:
        text = isinstance(rows[0][name], str)
        table.add_column(name.replace("_", "\n"), justify="left" if text else "right", no_wrap=not text)
    for row in rows:
        table.add_row(*(_text(name, row[name]) for name in names))
    print_whole(Console(highlight=False), table)


def _text(name: str, value: Any) -> str:
    match value:
        case math.inf:
            return "lifetime" if name == "reports" else "unbounded"
        case float() if name == "seconds":
            return f"{value:.1f}"
        case float() if name == "lower_bound":
            # A lower bound is rounded down, as an epsilon is rounded up: neither may look stronger than it is.
            return f"{math.floor(value * 1e6) / 1e6:.6f}"
        case float():
            return shown_epsilon(value, decimals=6)
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def read_file(path: Path) -> dict[str, Any]:
    """Read a collection file as data in which every scalar is text, without the code that reads collections."""
    document: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506
    return document


def read(subject: str) -> AuditSubject:
    """Read a collection file or a mechanism, or end the command with what is wrong with it."""
    kind, colon, _ = subject.partition(":")
    if Path(subject).exists() or not (colon or kind in EXAMPLES):
        collection = load_collection(Path(subject))
        audited: AuditSubject = kind_of(collection).claims(collection)
        return audited
    owner = next((known.name for known in KINDS.values() if kind in known.mechanisms), None)
    if kind not in EXAMPLES and owner is not None:
        fail(
            f"{subject}: {kind} is a mechanism of collections of {owner}: write it in a collection file, and audit "
            "that",
            code=2,
        )
    if kind not in EXAMPLES:
        fail(f"{subject}: no such file, and {kind!r} is no mechanism{suggestion(kind, EXAMPLES)}", code=2)
    try:
        mechanism = read_mechanism(subject)
    except ParameterError as error:
        fail(f"{subject}: {error}", code=2)
    if not isinstance(mechanism, Mechanism):
        return OneReport(randomizer=mechanism)
    attributes = [(str(place), [str(value) for value in range(size)]) for place, size in enumerate(mechanism.sizes)]
    words = PermanentWords(
        collection=subject,
        attributes=attributes,
        noise=mechanism.noise,
        counts=mechanism.words,
        by_value=mechanism.keyed_by_value,
    )
    return AuditedRecords(mechanism=mechanism, words=words, charged=charged)


async def audit_clients(collection: Any, file: Mapping[str, Any], directory: Path) -> list[Finding]:
    """Run the clients of a collection, and return what is found of each promise.

    file: the collection's file, as data.
    directory: an empty directory, for the files of the audit's users.
    """
    kind = kind_of(collection)
    client: Any = kind.specified(file, collection.meaning)
    audit = audit_reporter if kind.rounds is None else audit_respondent
    return await audit(collection, client, file, directory)
