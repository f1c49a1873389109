"""One subject for each kind of collection: what the contract of all kinds is held against.

A new kind has a line here, and passes every test of this folder, or the suite fails.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stream_ldp.pipeline.cells import CellKey

#: The windows of all subjects, in memory and on a broker.
WINDOW = "window: {size: 10s, grace: 1s, idle_timeout: 5s}"
WINDOW_ON_KAFKA = "window: {size: 10s, grace: 1s, idle_timeout: never}"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A collection of a kind, users of it, and what is true of them.

    text: the collection's file, with `WINDOW` in it.
    held: what a user holds, as clients take it; two thirds of all users hold the first, and one third the second.
    refused: what no user of the collection may hold, and what is said of it.
    cost: epsilon in nats of all reports of a user who always holds the same; one to each phase.
    truth: by target and key of a cell, the share of the users, or their mean; nothing else is true of them.
    summary: the description of the collection on a line.
    planned: parts of its plan.
    misspelt: a key of the file, and how it is misspelt.
    another: a text of the file and another, with which reports mean something else.
    label: what a value is of, the value, which many hold, and what people read in place of it; None for kinds
        whose values are in no list.
    evaluated: text of a collection to evaluate, the key that varies, and the metrics of each series.
    """

    text: str
    held: tuple[Any, Any]
    refused: Mapping[str, Any]
    cost: float
    truth: Mapping[tuple[str, CellKey], float]
    summary: str
    planned: Sequence[str]
    misspelt: tuple[str, str]
    another: tuple[str, str]
    evaluated: tuple[str, str, Mapping[str, str]]
    window_on_kafka: str = WINDOW_ON_KAFKA
    label: tuple[str, str, str] | None = None

    @property
    def labelled_text(self) -> str:
        """The same collection whose people read a label in place of a value."""
        if self.label is None:
            return self.text
        name, value, label = self.label
        return f"{self.text.rstrip()}\ntitle: About people\nlabels: {{{name}: {{{value}: {label}}}}}\n"

    @property
    def text_on_kafka(self) -> str:
        """The same collection with rows, in the windows of a real broker: a format whose only place is its name."""
        name = self.text.split()[1]
        text = self.text.replace(WINDOW, self.window_on_kafka).replace("{", "{{").replace("}", "}}")
        return text.replace(f"collection: {name}", "collection: {name}", 1).rstrip() + "\nrows: true\n"

    def users(self, count: int) -> list[Any]:
        """Return what so many users hold."""
        return [self.held[number % 3 == 2] for number in range(count)]

    @property
    def refused_lines(self) -> dict[str, Any]:
        """What is refused of all that a line of a file can say."""
        return {
            message: wrong
            for message, wrong in self.refused.items()
            if not isinstance(wrong, dict) or not any(isinstance(value, list) for value in wrong.values())
        }

    def lines(self, held: Sequence[Any]) -> str:
        """Write what users hold as the file that commands read."""
        if not isinstance(held[0], dict):
            return "".join(f"{' '.join(each)}\n" for each in held)
        rows = [list(held[0]), *(each.values() for each in held)]
        return "".join(f"{','.join(map(str, row))}\n" for row in rows)


def _shares(target: str, *names: Sequence[str], group: str = "") -> dict[tuple[str, CellKey], float]:
    first, second = map(tuple, names)
    return {(target, (group, first)): 2 / 3, (target, (group, second)): 1 / 3}


SUBJECTS: dict[str, Subject] = {
    "records": Subject(
        text=f"""\
collection: care-survey
mechanism: {{kind: k-rr, epsilon: 4}}
attributes:
  - {{name: bathing, values: [no, yes]}}
  - {{name: mobility, values: [none, some, full]}}
{WINDOW}
estimates:
  - {{name: both, of: [bathing, mobility], method: em}}
synthesis: {{records: 30, seed: 7}}
""",
        held=({"bathing": "no", "mobility": "some"}, {"bathing": "yes", "mobility": "full"}),
        refused={
            "attribute 'mobility': the given value is not one of none, some, full": {
                "bathing": "no",
                "mobility": "hidden",
            }
        },
        cost=8.0,
        truth=_shares("both", ["no", "some"], ["yes", "full"]),
        summary="2 attributes, lifetime epsilon 4.000 of each and 8.000 of a record, 3 bits a report, estimates both",
        planned=["bathing, mobility", "Errors to expect", "0.0"],
        misspelt=("estimates:", "estimtes:"),
        another=("epsilon: 4", "epsilon: 3"),
        label=("bathing", "no", "Bathes alone"),
        evaluated=(
            "{mechanism: {kind: rr-ldp, f: 0.25}, attributes: [bathing, mobility]}",
            "mechanism.f=0.25,0.5",
            {"joint": "avd coverage width rmse iterations certified"},
        ),
    ),
    "sets": Subject(
        text=f"""\
collection: films
mechanism: {{kind: ldpminer, epsilon: 6, k: 2, k_max: 4, set_size: 3}}
items: {{names: [Alien, Brazil, Casablanca, Dogville, Eraserhead, Fargo]}}
{WINDOW}
""",
        held=(["Alien", "Brazil"], ["Brazil"]),
        refused={"an item of the set is not among the collection's items": ["hidden"]},
        cost=3.0,
        truth={("items", ("", ("Alien",))): 2 / 3, ("items", ("", ("Brazil",))): 1.0},
        summary="6 items, ldpminer for the top 2, sequential epochs of 2 phases at epsilon 6.000",
        planned=["Each phase", "0.0134 / 0.0321"],
        misspelt=("items:", "itmes:"),
        another=("epsilon: 6", "epsilon: 5"),
        # Answers come at the end of a window, which then closes in a second; silent partitions take half a minute
        # through the next one, time for a worker to take over from a dead one.
        window_on_kafka="window: {size: 30s, grace: 200ms, idle_timeout: 400ms}\nevery: 300ms",
        label=("item", "Alien", "Alien from 1979"),
        evaluated=(
            "{mechanism: {kind: svim, k: 2}}",
            "mechanism.epsilon=1,2",
            {"heavy-hitters": "ndcg re f1 mse coverage"},
        ),
    ),
    "sampled": Subject(
        text=f"""\
collection: diets
mechanism: {{kind: sampled, epsilon: 4}}
attributes:
  - {{name: diet, values: [meat, fish, plants]}}
  - {{name: age, range: [0, 100]}}
{WINDOW}
""",
        held=({"diet": "meat", "age": 30}, {"diet": "plants", "age": 60}),
        refused={
            "attribute 'diet': the given value is not one of meat, fish, plants": {"diet": "hidden", "age": 1},
            "attribute 'age': the given value is not a number": {"diet": "fish", "age": "nan"},
        },
        cost=4.0,
        truth=_shares("marginals", ["meat"], ["plants"], group="diet") | {("marginals", ("age", ("mean",))): 40.0},
        summary="2 attributes, each user asked about one at epsilon 4.000, 16 bits a report",
        planned=["frequencies", "0.02226"],
        misspelt=("attributes:", "atributes:"),
        another=("epsilon: 4", "epsilon: 3"),
        label=("diet", "meat", "Eats meat"),
        evaluated=(
            "{mechanism: {kind: sampled}, attributes: [diet, {name: age, range: }]}",
            "mechanism.epsilon=1,2",
            {
                "frequency": "mse mse_expected avd",
                "mean": "mse mse_expected avd avd_expected",
                "distribution": "wasserstein range_tenth range_half quantile coverage",
            },
        ),
    ),
    "strings": Subject(
        text=f"""\
collection: words
mechanism: {{kind: strings, epsilon: 6, k: 2}}
string: {{name: word, length: 6, alphabet: abcdefghijklmnopqrstuvwxyz}}
{WINDOW}
""",
        held=({"word": "banana"}, {"word": "fig"}),
        # Every text is a value: those that cannot be found are one, which nobody is told by silence.
        refused={"attribute 'word': the given value is not text, and not a number": {"word": ["hidden"]}},
        cost=6.0,
        truth=_shares("strings", ["banana"], ["fig"]),
        summary="strings of at most 6 letters by pem, 3 questions, each user asked one at epsilon 6.000, 48 bits "
        "a report",
        planned=["its beginning of 2", "0.004433"],
        misspelt=("string:", "sting:"),
        another=("epsilon: 6", "epsilon: 5"),
        evaluated=(
            "{mechanism: {kind: strings, k: 2}, string: {name: word, length: 6, alphabet: abfgin}}",
            "mechanism.epsilon=4,6",
            {"strings": "found recall reported false nobodys expected covered"},
        ),
    ),
    "views": Subject(
        text=f"""\
collection: habits
mechanism: {{kind: sampled, epsilon: 4, ask: pairs}}
attributes:
  - {{name: diet, values: [meat, fish, plants]}}
  - {{name: smokes, values: [no, yes]}}
{WINDOW}
estimates:
  - {{name: diet-smokes, of: [diet, smokes]}}
synthesis: {{records: 60000, seed: 3}}
""",
        held=({"diet": "meat", "smokes": "no"}, {"diet": "plants", "smokes": "yes"}),
        refused={"attribute 'smokes': the given value is not one of no, yes": {"diet": "meat", "smokes": "hidden"}},
        cost=4.0,
        truth=_shares("diet-smokes", ["meat", "no"], ["plants", "yes"]),
        summary="2 attributes in 1 view, each user asked about one at epsilon 4.000, 3 bits a report, 1 estimate",
        planned=["pairs", "0.0282"],
        misspelt=("attributes:", "atributes:"),
        another=("epsilon: 4", "epsilon: 3"),
        label=("diet", "meat", "Eats meat"),
        evaluated=(
            "{mechanism: {kind: sampled, ask: pairs}, attributes: [diet, smokes]}",
            "mechanism.epsilon=1,2",
            {"joint": "avd coverage width rmse iterations certified avd_expected"},
        ),
    ),
    "places": Subject(
        text=f"""\
collection: visits
mechanism: {{kind: places, epsilon: [1, 4]}}
places: {{north: [a, b], south: [c, d, e]}}
{WINDOW}
""",
        held=(
            {"place": "a", "region": "everywhere", "epsilon": "4"},
            {"place": "d", "region": "south", "epsilon": "4"},
        ),
        refused={
            "attribute 'place': the given value is not one of a, b, c, d, e": {
                "place": "hidden",
                "region": "south",
                "epsilon": "4",
            },
            "attribute 'epsilon': the given value is not one of 1, 4": {
                "place": "d",
                "region": "south",
                "epsilon": "2",
            },
            "the place is outside the region 'north'": {"place": "d", "region": "north", "epsilon": "4"},
        },
        cost=4.0,
        truth=_shares("places", ["a"], ["d"]),
        summary="5 places in 3 regions, each user states one of the user's choice, and is hidden within it at "
        "epsilon 1.000 or 4.000, 11 bits a report",
        planned=["regions", "47.81"],
        misspelt=("places: {", "place: {"),
        another=("[1, 4]", "[2, 4]"),
        label=("place", "a", "Old Town"),
        evaluated=(
            "{mechanism: {kind: places, epsilon: [1, 4]}, places: {north: [a, b], south: [c, d, e]}}",
            "mechanism.weights=users,variance",
            dict.fromkeys(["places", "without regions"], "rmse rmse_expected rmse_projected avd"),
        ),
    ),
    "pairs": Subject(
        text=f"""\
collection: features
mechanism: {{kind: pairs, epsilon: 4, padding: 2}}
keys: {{names: [search, maps, photos], ranges: [[0, 60], [0, 10], [0, 5]], clip: false}}
{WINDOW}
""",
        held=({"search": "30", "maps": "", "photos": ""}, {"search": "6", "maps": "10", "photos": ""}),
        refused={
            "attribute 'maps': the given number is not from 0 to 10": {"search": "", "maps": "11", "photos": ""},
            "attribute 'maps': the given value is not a number": {"search": "", "maps": "hidden", "photos": ""},
        },
        cost=4.0,
        truth={
            ("pairs", ("frequency", ("search",))): 1.0,
            ("pairs", ("frequency", ("maps",))): 1 / 3,
        },
        summary="3 keys with numbers, each user asked about one at epsilon 4.000, 3 bits a report",
        planned=["share who hold a key", "mean of its numbers"],
        misspelt=("keys: {", "kes: {"),
        another=("epsilon: 4", "epsilon: 3"),
        label=("key", "search", "Search box"),
        evaluated=(
            "{mechanism: {kind: pairs, epsilon: 4}, keys: {names: [search, maps, photos], range: [0, 60]}}",
            "mechanism.epsilon=1,4",
            {"frequency": "mae mse mse_expected coverage", "mean": "reported mae mse mse_expected coverage"},
        ),
    ),
    # Of tests/toy.py, which the package does not know.
    "coin": Subject(
        text=f"""\
collection: coins
mechanism: {{kind: coin, truth: 0.9}}
{WINDOW}
""",
        held=({"side": "heads"}, {"side": "tails"}),
        refused={"attribute 'side': the given value is not one of tails, heads": {"side": "hidden"}},
        cost=math.log(9),
        truth={("heads", ("", ("heads",))): 2 / 3},
        summary="a coin that shows the truth with probability 0.9",
        planned=["1,000 users", "± 0.0198"],
        misspelt=("truth:", "truht:"),
        another=("truth: 0.9", "truth: 0.8"),
        evaluated=("{mechanism: {kind: coin}}", "mechanism.truth=0.8,0.9", {"heads": "error"}),
    ),
}


#: Forms of kinds, of which the suite of all kinds has none: only what a broker is asked about is different.
FORMS: dict[str, Subject] = {
    "grids": replace(
        SUBJECTS["views"],
        text=f"""\
collection: work
mechanism: {{kind: sampled, epsilon: 4, ask: attributes 0.5 + pairs, cells: 2}}
attributes: [{{name: age, range: [0, 100]}}, {{name: hours, range: [0, 100]}}]
{WINDOW}
estimates: [{{name: both, of: [age, hours]}}]
""",
        held=({"age": 30, "hours": 60}, {"age": 60, "hours": 20}),
        truth=_shares("both", ["[0,50)", "[50,100]"], ["[50,100]", "[0,50)"]),
    ),
    "steps": replace(
        SUBJECTS["sampled"],
        text=f"""\
collection: ages
mechanism: {{kind: sampled, epsilon: 4}}
attributes: [{{name: age, range: [0, 100], step: 1, quantiles: [0.5]}}]
{WINDOW}
""",
        held=({"age": 30}, {"age": 60}),
        truth={("marginals", ("age", ("mean",))): 40.0, ("marginals", ("quantiles of age", ("quantile 0.5",))): 30.0},
    ),
    "itemsets": replace(
        SUBJECTS["sets"],
        text=f"""\
collection: baskets
mechanism: {{kind: ldpminer, epsilon: 9, k: 2, k_max: 4, set_size: 3}}
items: {{names: [Alien, Brazil, Casablanca, Dogville, Eraserhead, Fargo]}}
itemsets: {{k: 1, sizes: [2]}}
{WINDOW}
""",
    ),
}


def rotated_text(subject: Subject) -> str:
    """Return the file of the same collection whose users each report once in three windows, or epochs."""
    return f"{subject.text.rstrip()}\nrotate: 3\n"


def plain(answer: Any) -> Any:
    """Return an answer as data."""
    return json.loads(answer.to_bytes())
