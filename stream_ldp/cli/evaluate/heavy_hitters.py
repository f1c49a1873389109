"""This command measures how good the rankings of a known population of item sets are."""

from __future__ import annotations

import functools
import inspect
import time
from dataclasses import asdict
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

import numpy as np
import typer

from stream_ldp.cli.evaluate._inputs import distinct, numbers, ordered
from stream_ldp.cli.evaluate._options import AsJson, Repeats, Seed
from stream_ldp.cli.evaluate._results import echo_json, show_results
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.item_sets import named_sets
from stream_ldp.cli.inputs.text_file import text_of
from stream_ldp.cli.progress import watched
from stream_ldp.collection.located import suggestion
from stream_ldp.errors import DataError
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity
from stream_ldp.sets.evaluation import scores, trials
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import METHODS, parse_spec
from stream_ldp.sets.methods.oracle_choice import telling_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic.fields import FieldInfo

    from stream_ldp.sets.evaluation import Score
    from stream_ldp.sets.phases import Method

__all__ = ["Transactions", "heavy_hitters", "read_transactions"]

#: The options of methods that are flags, in the order in which they are shown.
_OPTIONS = ("set_size", "k_max", "finalists", "combine", "hash_bits", "for_ever")

#: The methods whose reports are made afresh in every epoch. One epoch does not show what others are for.
_FRESH = [kind for kind, spec in METHODS.items() if "for_ever" not in spec.model_fields]


def _field(option: str) -> FieldInfo:
    return next(spec.model_fields[option] for spec in METHODS.values() if option in spec.model_fields)


def _help(option: str) -> str:
    # Of options that a method redeclares, one without a description may come first.
    described = next(
        text
        for spec in METHODS.values()
        if option in spec.model_fields and (text := spec.model_fields[option].description)
    )
    kinds = [kind for kind, spec in METHODS.items() if option in spec.model_fields]
    only = "" if len(kinds) == len(METHODS) else f" Only for {', '.join(kinds)}."
    return f"{described[:1].upper()}{described[1:]}.{only}"


def _flag(option: str) -> inspect.Parameter:
    annotation = _field(option).annotation
    kind: Any = next((part for part in get_args(annotation) if part is not NoneType), annotation)
    if get_origin(kind) is Annotated:
        kind, *_ = get_args(kind)
    default = (
        "what 90 % of the sets do not exceed, of svim the most telling size; 0 to leave it out"
        if option == "set_size"
        else False
    )
    return inspect.Parameter(
        option,
        inspect.Parameter.KEYWORD_ONLY,
        default=typer.Option(None, f"--{option.replace('_', '-')}", help=_help(option), show_default=default),
        annotation=kind | None,
    )


def _with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take a flag for each option of the methods, in place of its parameter `options`, a dict."""
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for each in signature.parameters.values():
        parameters += map(_flag, _OPTIONS) if each.name == "options" else [each]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        options = {name: arguments.pop(name) for name in _OPTIONS}
        command(**arguments, options=options)

    # Typer reads both: the signature for defaults, the annotations for types.
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


@_with_flags
def heavy_hitters(
    *,
    data: Annotated[
        Path,
        typer.Option(
            help="Text file with the items of a user on each line, separated by blanks; an empty line is an empty "
            "set. Read as gzip if its name ends in .gz."
        ),
    ],
    k: Annotated[str, typer.Option("--k", metavar="K,...", help=_help("k"))],
    epsilon: Annotated[str, typer.Option(metavar="EPSILON,...", help=_help("epsilon"))],
    methods: Annotated[
        str, typer.Option(metavar="METHOD,...", help=f"Methods to compare, from {', '.join(METHODS)}.")
    ] = ",".join(_FRESH),
    users: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="one for each line",
            help="Number of users in each repeat, each with one line; drawn with replacement if there are fewer "
            "lines.",
        ),
    ] = None,
    repeats: Repeats = 10,
    seed: Seed = 0,
    options: dict[str, Any],
    as_json: AsJson = False,
) -> None:
    """Repeat this with every method, k and epsilon, and print the means of each.

    The items are those that occur in the file. NDCG, relative error (re), F1 and mean squared error (mse) compare the
    published k items with the true top k of the users drawn; an item that is not a candidate has the estimate 0, and
    one that is not published has no gain. Coverage is the part of the published items whose frequency is within 1.96
    standard errors of the truth. Seconds are those of a whole epoch, for all users and the server.
    """
    kinds = _kinds(methods, options)
    sizes = numbers(k, int, "--k")
    epsilons = numbers(epsilon, float, "--epsilon")
    transactions = read_transactions(data)
    size = options["set_size"]
    options["set_size"] = transactions.usual_size if size is None else size or None
    telling = transactions if size is None else None
    chosen = _methods(kinds, sizes, epsilons, domain=transactions.domain, options=options, telling=telling)
    users = users or len(transactions.sets)
    outcomes = trials(
        transactions.sets, methods=chosen, users=users, repeats=repeats, seed=seed, clock=time.perf_counter
    )
    results = scores(watched(outcomes, total=repeats * len(chosen), what="epochs"))
    settings = {
        "data": data.name,
        "items": transactions.domain,
        "users": users,
        "repeats": repeats,
        "seed": seed,
        "methods": kinds,
        "k": sizes,
        "epsilon": epsilons,
        **options,
    }
    if as_json:
        echo_json(settings, [_row(each) for each in results])
    else:
        _show(settings, results)


def _kinds(methods: str, options: dict[str, Any]) -> list[str]:
    kinds = distinct(methods, "method")
    for kind in kinds:
        if kind not in METHODS:
            fail(f"{kind!r} is not a method{suggestion(kind, list(METHODS))}", code=2)
    for option, value in options.items():
        if value is not None and not any(option in METHODS[kind].model_fields for kind in kinds):
            fail(f"--{option.replace('_', '-')} means nothing to {methods}: leave it out", code=2)
    return kinds


def _methods(
    kinds: Sequence[str],
    sizes: Sequence[int],
    epsilons: Sequence[float],
    *,
    domain: int,
    options: dict[str, Any],
    telling: Transactions | None,
) -> list[tuple[float, Method]]:
    """Make the methods to compare.

    telling: the sets for which to find svim's set size, which corrects for larger sets; None to take the given one.
    """
    given = {option: value for option, value in options.items() if value is not None}
    chosen = []
    for k in sizes:
        for epsilon in epsilons:
            for kind in kinds:
                own = {option: value for option, value in given.items() if option in METHODS[kind].model_fields}
                if telling is not None and kind == "svim":
                    own["set_size"] = telling_size(telling.sets, k=k, domain=domain, epsilon=epsilon)
                spec = parse_spec({"kind": kind, "k": k, "epsilon": epsilon, **own})
                chosen.append((epsilon, spec.method(domain=domain)))
    return chosen


class Transactions(NamedTuple):
    """Item sets over items 0 to domain - 1, and the least size that 90 % of them do not exceed."""

    sets: ItemSets
    domain: int
    usual_size: int


def read_transactions(path: Path) -> Transactions:
    """Read the sets of a file.

    Raises:
        DataError: the file cannot be read or holds no sets; the message never repeats an item.
    """
    codes: dict[str, int] = {}
    with text_of(path) as file:
        # The items of each line by the order of their first appearance.
        sets = ItemSets.of([codes.setdefault(name, len(codes)) for name in names] for names in named_sets(file, path))
    if not len(sets):
        raise DataError(f"{path}: empty; it needs a user's items on each line")
    if len(codes) < 2:
        raise DataError(f"{path}: {quantity(len(codes), 'different item')}; a ranking needs at least two")
    places = np.empty(len(codes), dtype=np.int64)
    places[[codes[name] for name in ordered(codes)]] = np.arange(len(codes))
    usual = int(np.quantile(sets.sizes, 0.9, method="inverted_cdf"))
    return Transactions(ItemSets(sets.offsets, places[sets.items]), len(codes), max(usual, 1))


def _row(score: Score) -> dict[str, Any]:
    row: dict[str, Any] = {"method": score.method, "epsilon": score.epsilon, "k": score.k}
    deviation = asdict(score.deviation)
    for name, mean in asdict(score.mean).items():
        row |= {name: mean, f"{name}_sd": deviation[name]}
    return row


def _show(settings: dict[str, Any], results: Sequence[Score]) -> None:
    given = ", ".join(f"{name.replace('_', '-')} {settings[name]}" for name in _OPTIONS if settings[name] is not None)
    show_results(
        [
            (
                each.method,
                str(each.k),
                shown_epsilon(each.epsilon),
                f"{each.mean.ndcg:.3f}",
                f"{each.deviation.ndcg:.3f}",
                f"{each.mean.re:.3f}",
                f"{each.deviation.re:.3f}",
                f"{each.mean.f1:.3f}",
                f"{each.mean.mse:.1e}",
                f"{each.mean.coverage:.2f}",
                f"{each.mean.seconds:.3f}",
            )
            for each in results
        ],
        title="Published against the true top k of the users drawn",
        words=["method"],
        numbers=["k", "epsilon", "ndcg", "sd", "re", "sd", "f1", "mse", "coverage", "seconds"],
        said=f"{settings['data']}: {quantity(settings['items'], 'item')}; "
        f"{quantity(settings['users'], 'user')}, repeats: "
        f"{settings['repeats']}; {given}.",
    )
