"""Ways to break what users repeat, what links them, what they are charged and what they send it in.

They are of the classes that `tests.breaks` has none of: keyed words of answers, claims that follow the code and not
the file, parts of a kind that nobody looked at, absolute values, large domains, and ends of a row. `python -m
tests.breaks` prints what catches each, after those of its own.
"""

import dataclasses
import logging
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from stream_ldp.client import many_users, outbox
from stream_ldp.client.outbox import Outbox
from stream_ldp.client.perturber import Perturber
from stream_ldp.client.reporter import Reporter
from stream_ldp.collection.collection import Collection, Window
from stream_ldp.kafka.producer import Record
from stream_ldp.ledger.ledger import Spending
from stream_ldp.marginals import spec
from stream_ldp.marginals.cohorts import BucketQuestion
from stream_ldp.mechanisms import (
    KRR,
    BloomResponse,
    DirectResponse,
    HadamardResponse,
    OSEntropy,
    PermanentWords,
    RepeatedResponse,
    SeededEntropy,
    SubsetResponse,
    loloha,
    repeated,
)
from stream_ldp.mechanisms.packing import pack
from stream_ldp.mechanisms.randomness.permanent import KeyedWords
from stream_ldp.pairs import collection as pairs_collection
from stream_ldp.pairs.question import PairsQuestion
from stream_ldp.places import charges as place_charges
from stream_ldp.questions import reports as answers
from stream_ldp.questions.questions import Question
from stream_ldp.records import collection as record_collection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.strings import reports as string_answers
from stream_ldp.strings.questions import StringQuestions
from tests.breaks import BOOKS, CLIENT, EXACT, SURVEY, Break, Patch

HEALTH = """
collection: health
mechanism: {kind: sampled, epsilon: 2}
attributes: [{name: diet, values: [fish, meat, none]}, {name: age, range: [0, 120]},
             {name: town, candidates: [york, leeds]}]
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""
FRESH_HEALTH = """
collection: health
mechanism: {kind: sampled, epsilon: 4, per_report: 1, oracle: k-rr}
attributes: [{name: diet, values: [fish, meat, none]}, {name: smokes, values: [no, yes]}]
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""
#: A small collection whose users take turns.
TURNS = f"{SURVEY.rstrip()}\nrotate: 4\n"
#: Hashed to buckets, which are answered by k-RR, twice.
HASHED = """
collection: health
mechanism: {kind: sampled, oracle: loloha, epsilon: 2, per_report: 1, buckets: 3, cohorts: 8}
attributes: [{name: diet, values: [fish, meat, none, soy]}, {name: town, candidates: [york, leeds]}]
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""
FILTERS = HEALTH.replace("epsilon: 2", "epsilon: 4, oracle: rappor, hashes: 2, p: 0.25, q: 0.75").replace(
    "{name: age, range: [0, 120]},", ""
)
#: A value list beyond 32, and one beyond 16.
TOWNS = """
collection: towns
mechanism: {kind: sampled, epsilon: 1, oracle: k-subset}
attributes: [{name: town, values: [VALUES]}]
window: {size: 10s, grace: 2s, idle_timeout: 5s}
""".replace("VALUES", ", ".join(f"t{number}" for number in range(40)))
PAIRS = """
collection: homes
mechanism: {kind: sampled, epsilon: 2, ask: pairs}
attributes: [{name: heating, values: [gas, wood]}, {name: rooms, values: [one, two, more]},
             {name: owner, values: [no, yes]}]
estimates: [{name: heating-rooms, of: [heating, rooms]}]
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""
WORDS = """
collection: words
mechanism: {kind: strings, epsilon: 3, method: METHOD}
string: {name: word, length: LENGTH}
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""
PREFIXES = WORDS.replace("METHOD", "pem").replace("LENGTH", "6, alphabet: abcdefghijklmnopqrstuvwxyz")
NGRAMS = WORDS.replace("METHOD", "rappor-unknown").replace("LENGTH", "4, alphabet: abc")
VISITS = """
collection: visits
mechanism: {kind: places, epsilon: [0.5, 2]}
places: {north: [a, b], south: [c, d, e]}
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""
#: Answered by k-RR.
FEATURES = """
collection: features
mechanism: {kind: pairs, epsilon: 2, padding: 2}
keys: {names: [search, maps, photos], ranges: [[0, 60], [0, 10], [-1, 1]]}
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""
LINKED = SURVEY + "linked: 1h\n"
NAMED = """
collection: named
mechanism: {kind: k-rr, epsilon: 3, per_report: 1}
attributes: [{name: town, values: [VALUES]}]
window: {size: 10s, grace: 2s, idle_timeout: 5s}
estimates: [{name: town, of: [town]}]
""".replace("VALUES", ", ".join(f"t{number}" for number in range(20)))
MEMOISED = """
collection: films
mechanism: {kind: loloha, epsilon: 1, lifetime: 2, k: 2, set_size: 2}
items: {names: [alien, brazil, casablanca, dune, eraserhead, fargo]}
window: {size: 10s, grace: 1s, idle_timeout: 2s}
"""


def _replacing(target: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    return lambda patch: patch.setattr(target, name, make(getattr(target, name)))


def _keyed_as(make: Callable[..., bytes], *, module: Any = answers) -> Patch:
    """Return the patch that makes answers of other words: those of these bytes behind the fingerprint."""

    def held_words(collection: Any, number: int, held: Any, *, key: bytes) -> KeyedWords:
        data = collection.fingerprint + make(collection, number, held)
        return KeyedWords(key, person=b"stream-ldp ans 1", data=data)

    return lambda patch: patch.setattr(module, "held_words", held_words)


def _number(collection: Any, number: int, held: Any) -> bytes:
    return number.to_bytes(2, "little")


def _held_alone(collection: Any, number: int, held: Any) -> bytes:
    (found,) = collection.questions.questions[number].held(held)
    return bytes(found)


def _of_one_attribute(original: Any) -> Any:
    return lambda self, table: original(dataclasses.replace(self, of=self.of[:1]), table)


def _repeating(original: Any) -> Any:
    def words(self: KeyedWords, n: int) -> Any:
        if not hasattr(self, "block"):
            self.block, self.next = original(self, 16), 0  # type: ignore[attr-defined]
        found = self.block[(self.next + np.arange(n)) % 16]  # type: ignore[attr-defined]
        self.next += n  # type: ignore[attr-defined]
        return found

    return words


def _chosen_by_the_record(original: Any) -> Any:
    def permanent_answers(collection: Any, table: Any, *, secrets: Any, numbers: Any = None) -> Any:
        if numbers is None:
            numbers = answers.asked(collection, secrets=secrets)
            held = np.array([sum(repr(row).encode()) for row in table.tolist()])
            numbers = (numbers + held) % len(collection.questions.questions)
        return original(collection, table, secrets=secrets, numbers=numbers)

    return permanent_answers


def _chosen_by_the_record_at_the_reporter(patch: pytest.MonkeyPatch) -> None:
    # Its own name for what it calls.
    module: Any = import_module("stream_ldp.questions.reports")
    patch.setattr(module, "permanent_answers", _chosen_by_the_record(module.permanent_answers))


def _seed_of_the_string(original: Any) -> Any:
    def perturb(self: Any, numbers: Any, seeds: Any, inputs: Any, *, entropy: Any) -> Any:
        return original(self, numbers, (seeds + inputs[:, 0]).astype(np.uint32), inputs, entropy=entropy)

    return perturb


def _longer_prefix(original: Any) -> Any:
    def inputs(self: Any, numbers: Any, seeds: Any, symbols: Any) -> Any:
        return original(self, np.minimum(numbers + 1, len(self.questions) - 1), seeds, symbols)

    return inputs


def _ends_in_the_clear(original: Any) -> Any:
    def perturb(self: Any, numbers: Any, seeds: Any, inputs: Any, *, entropy: Any) -> Any:
        rows = original(self, numbers, seeds, inputs, entropy=entropy)
        ends = inputs[:, -1] == 0
        rows[ends, -self.widths[-1] :] = 0
        rows[ends, -self.widths[-1]] = 1
        return rows

    return perturb


def _always_its_own(original: Any) -> Any:
    def perturb(self: SubsetResponse, values: Any, *, entropy: Any) -> Any:
        rows = original(self, values, entropy=entropy)
        if self.size > 32:
            places = np.asarray(values)
            rows[np.arange(len(places)), places // 8] |= np.uint8(1) << (places % 8).astype(np.uint8)
        return rows

    return perturb


def _no_second_noise(original: Any) -> Any:
    def instantaneous(self: Any, symbols: Any, entropy: Any) -> Any:
        return symbols if max(self.sizes) > 16 else original(self, symbols, entropy)

    return instantaneous


def _pseudonym(make: Callable[..., Any]) -> Patch:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        module: Any = record_collection
        original = module.pseudonyms

        def pseudonyms(secrets: Any, *, fingerprint: bytes, period: int) -> Any:
            return make(original, secrets, fingerprint, period)

        monkeypatch.setattr(record_collection, "pseudonyms", pseudonyms)

    return patch


def _an_hour_earlier(original: Any) -> Any:
    def pseudonyms(self: Any, users: int, *, secrets: Any, time_ms: int, entropy: Any) -> Any:
        if secrets is None or not self.linked_ms:
            return original(self, users, secrets=secrets, time_ms=time_ms, entropy=entropy)
        rows = [
            original(self, 1, secrets=[each], time_ms=time_ms + 600_000 * (each[0] & 1), entropy=entropy)
            for each in secrets
        ]
        return np.concatenate(rows)

    return pseudonyms


def _without_fresh(original: Any) -> Any:
    def init(self: PermanentWords, *, noise: Any, **given: Any) -> None:
        original(self, noise=[list(each)[:2] for each in noise], **given)

    return init


def _noisy_for_one_hash(original: Any) -> Any:
    def post_init(self: BloomResponse) -> None:
        original(self)
        if (self.p, self.q) != (0.0, 1.0):
            twice = dataclasses.replace(self.response, epsilon=2 * self.response.epsilon)
            object.__setattr__(self, "response", twice)

    return post_init


def _charged_as_the_least(original: Any) -> Any:
    def charges(collection: Any, table: Any, **options: Any) -> Any:
        least = collection.mechanism_spec.epsilon[0]
        found = original(collection, table, **options)
        return tuple(
            dataclasses.replace(
                each, mechanisms=tuple(cost.model_copy(update={"epsilon": least}) for cost in each.mechanisms)
            )
            for each in found
        )

    return charges


def _one_answer_of_all_regions(patch: pytest.MonkeyPatch) -> None:
    module: Any = place_charges
    original = module.held_words
    patch.setattr(
        module, "held_words", lambda collection, number, user, *, key: original(collection, 0, user, key=key)
    )


def _kind_charges(make: Callable[[Any], Any]) -> Patch:
    """Return the patch of what a reporter takes for the charges of its kind."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        original = Reporter.__init__

        def init(self: Any, *arguments: Any, **options: Any) -> None:
            original(self, *arguments, **options)
            self._charges = make(self._charges)

        monkeypatch.setattr(Reporter, "__init__", init)

    return patch


def _each_value(original: Any) -> Any:
    return lambda self, table: [str(value).encode() for value in table[str(self.of[0])]]


def _one_answer_of_all_buckets(original: Any) -> Any:
    """Charge every report as one that shows the same permanent answer."""

    def charges(collection: Any, table: Any, *, tag_key: Any, **options: Any) -> Any:
        found = original(collection, table, tag_key=tag_key, **options)
        return tuple(each if each.tags is None else dataclasses.replace(each, tags=("0" * 16,)) for each in found)

    return charges


def _charged_for_the_first(original: Any) -> Any:
    """Charge whatever a user holds as if the user held nothing."""

    def charges(collection: Any, table: Any, **options: Any) -> Any:
        nothing = table.copy()
        for name in table.dtype.names:
            nothing[name] = np.nan
        return original(collection, nothing, **options)

    return charges


def _something_else_as_the_first(original: Any) -> Any:
    """Let who holds items that a round does not ask about, and none that it does, tell the first that it does."""

    def restricted(self: ItemSets, candidates: Any, *, domain: int) -> ItemSets:
        found = original(self, candidates, domain=domain)
        bounds = zip(found.offsets[:-1], found.offsets[1:], np.diff(self.offsets), strict=True)
        return ItemSets.of([found.items[start:end].tolist() or [0] * bool(held) for start, end, held in bounds])

    return restricted


def _after_they_have_left(patch: pytest.MonkeyPatch) -> None:
    spend, later = many_users.spend_each, []
    settle = Outbox._settle

    def spend_each(charges: Any, **when: Any) -> Any:
        later.append((list(charges), when))
        return {}

    def settled(self: Outbox, *arguments: Any) -> None:
        settle(self, *arguments)
        while later:
            charges, when = later.pop()
            spend(charges, **when)

    patch.setattr(many_users, "spend_each", spend_each)
    patch.setattr(Outbox, "_settle", settled)


def _nothing_for_fresh_noise(original: Any) -> Any:
    def charges(collection: Any, table: Any, *, tag_key: Any, **options: Any) -> Any:
        return () if tag_key is None else original(collection, table, tag_key=tag_key, **options)

    return charges


def _memoised_anyway(original: Any) -> Any:
    return lambda self, table, *, memoises, **options: original(self, table, memoises=True, **options)


def _record(**changes: Callable[[Any], Any]) -> Patch:
    def record(**given: Any) -> Record:
        return Record(**{**given, **{name: make(given[name]) for name, make in changes.items()}})

    return lambda patch: patch.setattr(outbox, "Record", record)


def _sixteenth(original: Any) -> Any:
    def rounded(self: Window, time_ms: int) -> int:
        step = max(1, min(self.pane_ms // 10, 60_000) // 16)
        return time_ms - time_ms % self.pane_ms % step

    return rounded


def _logged(say: Callable[..., Any]) -> Patch:
    def make(original: Any) -> Any:
        def charged(self: Any, table: Any, *, secret: bytes, **options: Any) -> Any:
            logging.getLogger("stream_ldp.client.perturber").debug("counting %s", say(table, secret))
            return original(self, table, secret=secret, **options)

        return charged

    return _replacing(Perturber, "charges", make)


def _in_its_text(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reporter, "__repr__", lambda self: f"Reporter(secret={self._secret!r})", raising=False)


def _row_of_the_value(original: Any) -> Any:
    def perturb(self: HadamardResponse, values: Any, *, entropy: Any) -> Any:
        rows = original(self, values, entropy=entropy)
        rows[:, 0] = rows[:, 0] & ~np.uint8(1) | np.asarray(values, dtype=np.uint8) & np.uint8(1)
        return rows

    return perturb


def _more_for_all(original: Any) -> Any:
    return lambda name, size, *, epsilon, **more: original(name, size, epsilon=1.25 * epsilon, **more)


def _more_for_keys(oracle: Any) -> Any:
    """Choose the oracle of keys and numbers for 1.25 times the epsilon."""

    def chosen(spec: Any, keys: int, *, padding: int) -> Any:
        return oracle(spec.model_copy(update={"epsilon": 1.25 * spec.epsilon}), keys, padding=padding)

    return chosen


def _which_keys(original: Any) -> Any:
    """Leave the numbers out of what is held."""
    return lambda self, table: [
        bytes(each) for each in ~np.isnan(np.stack([table[str(place)] for place in self.of], axis=1))
    ]


def _no_slot_without_a_key(original: Any) -> Any:
    return lambda self, table, *, entropy: original(dataclasses.replace(self, padding=1), table, entropy=entropy)


def _last_in_the_clear(original: Any) -> Any:
    def perturb(self: DirectResponse, values: Any, *, entropy: Any) -> Any:
        rows, last = original(self, values, entropy=entropy), self.size - 1
        rows[np.asarray(values) == last] = pack([np.array([last])], [self.bits])
        return rows

    return perturb


def _row_of_the_set(patch: pytest.MonkeyPatch) -> None:
    original = loloha.LolohaResponse._drawn_permanently

    def drawn(self: Any, values: Any, *, padding: int, words: Any) -> Any:
        of_set = bytes(np.sort(values).astype("<u4").tobytes())
        return original(
            self,
            values,
            padding=padding,
            words=lambda purpose: words(purpose + of_set if purpose == b"row" else purpose),
        )

    patch.setattr(loloha.LolohaResponse, "_drawn_permanently", drawn)


def _two_turns(original: Any) -> Any:
    """Give every user the turn of the next one as well."""
    return lambda self, secrets, *, number: (
        original(self, secrets, number=number) | original(self, secrets, number=number + 1)
    )


def _turn_of_the_record(original: Any) -> Any:
    """Let who holds the first value of the first attribute pass over every other turn."""

    async def report_series(self: Reporter, records: Any) -> Any:
        cycle_ms = (self._collection.rotate or 1) * self._collection.turn_ms
        if records[0][0] == 0 and self._clock() // cycle_ms % 2:
            return None
        return await original(self, records)

    return report_series


MORE: tuple[Break, ...] = (
    Break(number=101, what="answers keyed without what is held", patch=_keyed_as(_number), subject=HEALTH,
          by=(EXACT, CLIENT)),
    Break(number=102, what="answers keyed without their question", patch=_keyed_as(_held_alone), subject=VISITS,
          by=(EXACT, CLIENT)),
    Break(number=103, what="views keyed with one of their attributes",
          patch=_replacing(Question, "held", _of_one_attribute), subject=PAIRS, by=(EXACT, CLIENT)),
    Break(number=104, what="keyed words repeat after 16", patch=_replacing(KeyedWords, "words", _repeating),
          subject=FILTERS, by=(EXACT, CLIENT)),
    Break(number=105, what="the question depends on the record", patch=_chosen_by_the_record_at_the_reporter,
          subject=HEALTH, by=(EXACT, CLIENT)),
    Break(number=106, what="strings keyed without their inputs",
          patch=_keyed_as(lambda collection, number, inputs: number.to_bytes(2, "little"), module=string_answers),
          subject=PREFIXES, by=(EXACT, CLIENT)),
    Break(number=107, what="the seed follows the string",
          patch=_replacing(StringQuestions, "perturb", _seed_of_the_string), subject=PREFIXES, by=(EXACT, CLIENT)),
    Break(number=108, what="a prefix that is too long",
          patch=_replacing(StringQuestions, "inputs", _longer_prefix), subject=PREFIXES, by=(EXACT, CLIENT)),
    Break(number=109, what="the pair of two ends goes without noise",
          patch=_replacing(StringQuestions, "perturb", _ends_in_the_clear), subject=NGRAMS, by=(EXACT, CLIENT)),
    Break(number=110, what="a subset of more than 32 values holds the user's own",
          patch=_replacing(SubsetResponse, "perturb", _always_its_own), subject=TOWNS, by=(EXACT, CLIENT)),
    Break(number=111, what="k-rr without fresh noise above 16 values",
          patch=_replacing(KRR, "instantaneous", _no_second_noise), subject=NAMED, by=(EXACT, CLIENT)),
    Break(number=112, what="two per_report with one permanent response",
          patch=_replacing(PermanentWords, "__init__", _without_fresh), subject=NAMED, by=(EXACT, CLIENT)),
    Break(number=113, what="pseudonyms without the collection",
          patch=_pseudonym(lambda make, secrets, fingerprint, period: make(
              secrets, fingerprint=bytes(16), period=period)),
          subject=LINKED, by=(EXACT, CLIENT)),
    Break(number=114, what="pseudonyms with a period that comes again",
          patch=_pseudonym(lambda make, secrets, fingerprint, period: make(
              secrets, fingerprint=fingerprint, period=period % 2)),
          subject=LINKED, by=(EXACT, CLIENT)),
    Break(number=115, what="periods begin earlier for half of the users",
          patch=_replacing(record_collection.JointCollection, "pseudonyms", _an_hour_earlier), subject=LINKED,
          by=(EXACT, CLIENT)),
    Break(number=116, what="answers spend 1.25 epsilon",
          patch=_replacing(spec, "value_oracle", _more_for_all), subject=HEALTH, by=(EXACT, CLIENT)),
    Break(number=117, what="numbers spend 1.5 epsilon",
          patch=_replacing(repeated.DirectKeys, "given_epsilon", lambda _: property(lambda self: 1.5 * self.epsilon)),
          subject=HEALTH, by=(EXACT, CLIENT)),
    Break(number=118, what="each report spends twice per_report",
          patch=_replacing(repeated, "RepeatedResponse", lambda original: lambda *, epsilon, **given: original(
              epsilon=2 * epsilon, **given)),
          subject=FRESH_HEALTH, by=(EXACT, CLIENT)),
    Break(number=119, what="a bit of a filter has the noise of one hash in place of two",
          patch=_replacing(BloomResponse, "__post_init__", _noisy_for_one_hash), subject=FILTERS, by=(EXACT,)),
    Break(number=120, what="a row of Hadamard's matrix follows the value",
          patch=_replacing(HadamardResponse, "perturb", _row_of_the_value),
          subject=HEALTH.replace("epsilon: 2", "epsilon: 1, oracle: hadamard"), by=(EXACT, CLIENT)),
    Break(number=121, what="the ledger charges the least epsilon, whichever is chosen",
          patch=_kind_charges(_charged_as_the_least), subject=VISITS, by=(CLIENT,)),
    Break(number=122, what="to the ledger, all regions are one answer", patch=_one_answer_of_all_regions,
          subject=VISITS, by=(CLIENT,)),
    Break(number=123, what="report_many charges after the batch has left", patch=_after_they_have_left,
          subject=SURVEY, by=(CLIENT,)),
    Break(number=124, what="reports with fresh noise cost nothing",
          patch=_kind_charges(_nothing_for_fresh_noise), subject=HEALTH, by=(CLIENT,)),
    Break(number=125, what="what is permanent is repeated under the assumption fresh",
          patch=_replacing(Perturber, "rows", _memoised_anyway), subject=SURVEY, by=(CLIENT,)),
    Break(number=126, what="the event time to the millisecond",
          patch=_replacing(Window, "rounded", lambda _: lambda self, time_ms: time_ms), subject=SURVEY, by=(CLIENT,)),
    Break(number=127, what="the event time to a sixteenth of its step",
          patch=_replacing(Window, "rounded", _sixteenth), subject=SURVEY, by=(CLIENT,)),
    Break(number=128, what="the record has a time of its own", patch=_record(time_ms=lambda time_ms: time_ms + 7),
          subject=SURVEY, by=(CLIENT,)),
    Break(number=129, what="a header has the number of the process",
          patch=_record(headers=lambda headers: (*headers, ("pid", b"%d" % os.getpid()))), subject=SURVEY,
          by=(CLIENT,)),
    Break(number=130, what="the log has the secret", patch=_logged(lambda table, secret: secret.hex()),
          subject=SURVEY, by=(CLIENT,)),
    Break(number=131, what="the log has the record", patch=_logged(lambda table, secret: np.asarray(table).tolist()),
          subject=SURVEY, by=(CLIENT,)),
    Break(number=132, what="the text of a reporter has the secret", patch=_in_its_text, subject=SURVEY,
          by=(CLIENT,)),
    Break(number=133, what="noise of a generator with a seed",
          patch=_replacing(OSEntropy, "words", lambda _: lambda self, n: SeededEntropy(
              int.from_bytes(os.urandom(2), "little")).words(n)),
          subject=SURVEY, by=(CLIENT,)),
    Break(number=134, what="the row index of loloha follows the set", patch=_row_of_the_set, subject=MEMOISED,
          by=(CLIENT,)),
    Break(number=135, what="the permanent sign of loloha is that of the set",
          patch=_replacing(loloha, "purpose_of_sign", lambda _: lambda sign: b"sign"), subject=MEMOISED,
          by=(CLIENT,)),
    Break(number=136, what="a user has two turns in w windows",
          patch=_replacing(Collection, "has_turn", _two_turns), subject=TURNS, by=(EXACT, CLIENT)),
    Break(number=137, what="a turn depends on what is held",
          patch=_replacing(Reporter, "report_series", _turn_of_the_record), subject=TURNS, by=(CLIENT,)),
    Break(number=138, what="the ledger forgets the last turn",
          patch=_replacing(Spending, "after_turn", lambda _: lambda self, turn, *, again: self),
          subject=TURNS, by=(CLIENT,)),
    Break(number=139, what="a budget of any days is one of calendar days",
          patch=_replacing(Spending, "spent_in", lambda _: lambda self, span_ms, *, time_ms: self.spent_on(
              time_ms // 86_400_000)),
          subject=SURVEY, by=(CLIENT,)),
    Break(number=140, what="a key and its number spend 1.25 epsilon",
          patch=_replacing(pairs_collection, "_oracle", _more_for_keys), subject=FEATURES, by=(EXACT, CLIENT)),
    Break(number=141, what="answers about keys keyed without the numbers",
          patch=_replacing(Question, "held", _which_keys), subject=FEATURES, by=(EXACT, CLIENT)),
    Break(number=142, what="slots of keys that are not held are never drawn",
          patch=_replacing(PairsQuestion, "inputs", _no_slot_without_a_key), subject=FEATURES, by=(EXACT, CLIENT)),
    Break(number=143, what="that a user drew no key goes without noise",
          patch=_replacing(DirectResponse, "perturb", _last_in_the_clear), subject=FEATURES, by=(EXACT, CLIENT)),
    Break(number=144, what="keys and numbers that change cost nothing more",
          patch=_kind_charges(_charged_for_the_first), subject=FEATURES, by=(CLIENT,)),
    Break(number=145, what="an answer tells of items that the round does not ask about",
          patch=_replacing(ItemSets, "restricted", _something_else_as_the_first), subject=BOOKS, by=(EXACT, CLIENT)),
    Break(number=146, what="an answer about a bucket is drawn anew for each value in it",
          patch=_replacing(BucketQuestion, "held", _each_value), subject=HASHED, by=(EXACT, CLIENT)),
    Break(number=147, what="all buckets share one permanent answer",
          patch=_keyed_as(_number), subject=HASHED, by=(EXACT, CLIENT)),
    Break(number=148, what="to the ledger, all buckets are one answer",
          patch=_kind_charges(_one_answer_of_all_buckets), subject=HASHED, by=(CLIENT,)),
    Break(number=149, what="the bucket is sent without its fresh noise",
          patch=_replacing(RepeatedResponse, "instantaneous", lambda _: lambda self, rows, *, entropy: rows),
          subject=HASHED, by=(EXACT, CLIENT)),
)  # fmt: skip
