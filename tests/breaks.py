"""Ways to break the privacy of this package, each a patch of today's code, and what has to catch it.

`python -m tests.breaks` prints which of the audits catches each, and `python -m tests.breaks 18 33` does so of some.
Most are one slip away from the code; all state the epsilon of the honest code. As a plugin of pytest, this module
breaks the package before any test is imported: `pytest -p tests.breaks --break 31 tests/ledger`.
"""

import dataclasses
import functools
import itertools
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from stream_ldp.audit.specified_rows import differences, round_differences
from stream_ldp.cli import app
from stream_ldp.client import batcher, respondent, respondents
from stream_ldp.client.outbox import Outbox
from stream_ldp.client.perturber import Perturber
from stream_ldp.client.reporter import Reporter
from stream_ldp.client.respondent import Respondent
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.ledger import private_file, secret, store
from stream_ldp.ledger.ledger import PhaseAccount
from stream_ldp.mechanisms import (
    RESOLUTION,
    RRLDP,
    DirectResponse,
    FrequencyOracle,
    GivenWords,
    HadamardResponse,
    OSEntropy,
    PermanentWords,
    SetHadamardResponse,
    UnaryResponse,
    direct,
)
from stream_ldp.mechanisms.packing import pack, unpack
from stream_ldp.mechanisms.privacy_loss import PRECISION
from stream_ldp.mechanisms.randomness import user_partition
from stream_ldp.mechanisms.randomness.entropy import WordEntropy
from stream_ldp.records import collection as record_collection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import oracle_choice
from stream_ldp.sets.phases import Phase

Patch = Callable[[pytest.MonkeyPatch], None]

ATTACK, EXACT, CLIENT = "audit", "audit --exact", "audit --client"

SURVEY = """
collection: care-survey
mechanism: {kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}
attributes: [{name: bathing, values: [no, yes]}, {name: mobility, values: [none, some, full]}]
window: {size: 10s, grace: 2s, idle_timeout: 5s}
estimates: [{name: mobility, of: [mobility]}]
"""
#: An attribute of more bits than a block of keyed words has.
WIDE = SURVEY.replace("[none, some, full]", "[{}]".format(", ".join(f"v{value}" for value in range(18))))
#: Direct responses, of which none has a round epsilon.
FILMS = """
collection: films
mechanism: {kind: svim, epsilon: 2.345, k: 3, set_size: 4}
items: {names: [alien, brazil, casablanca, dune, eraserhead, fargo, gravity, heat]}
window: {size: 10s, grace: 1s, idle_timeout: 2s}
"""
#: More than 40 choices, and more than 8 items.
BOOKS = """
collection: books
mechanism: {kind: gfim, epsilon: 2.345, k: 3, k_max: 8, set_size: 4, split: [0.9, 0.1]}
items: {size: 48}
window: {size: 10s, grace: 1s, idle_timeout: 2s}
"""
#: Pairs and triples, which are asked about after the items.
BASKETS = FILMS.replace("films", "baskets") + "itemsets: {k: 3, sizes: [2, 3]}\n"
#: As few candidates as amplification shows itself with, since all of their combinations are enumerated.
FEW_BOOKS = BOOKS.replace("k: 3, k_max: 8", "k: 2, k_max: 4").replace("48", "16")
MINED = BOOKS.replace("gfim", "ldpminer").replace(", split: [0.9, 0.1]", "")
ONE_BIT = "rr-ldp:f=0.25,p=0.25,q=0.75,sizes=2"
WHEEL = "set-hadamard:size=16,slots=4,epsilon=3,hash_bits=3"
HASHED_VALUE = "hadamard:size=4,epsilon=2,hash_bits=3"
LARGE_DIRECT = "direct:size=50,dummies=4,epsilon=2"


@dataclass(frozen=True, kw_only=True)
class Break:
    """One way to break the package.

    number: as the hostile review of the package numbers them.
    what: what is broken, in words.
    patch: breaks it.
    subject: a mechanism, or a collection file's text, whose audits look at the broken code.
    by: the audits that have to catch it.
    test: a test that has to catch it, where no audit can see it or beside one that does.
    """

    number: int
    what: str
    patch: Patch
    subject: str
    by: tuple[str, ...]
    test: str | None = None


def _replacing(target: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    """Return the patch that replaces something by what `make` makes of it."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(target, name, make(getattr(target, name)))

    return patch


def _perturb(broken: Callable[[RRLDP, Any, Any, Any], Any]) -> Patch:
    """Return the patch of `RRLDP.perturb` by a function of mechanism, values, entropy and permanent words."""

    def make(original: Any) -> Any:
        def perturb(self: RRLDP, values: Any, *, entropy: Any, permanent_words: Any = None) -> Any:
            found = broken(self, self._checked(values), entropy, permanent_words)
            if found is None:
                return original(self, values, entropy=entropy, permanent_words=permanent_words)
            return self.packed(found)

        return perturb

    return _replacing(RRLDP, "perturb", make)


def _permanent(mechanism: RRLDP, values: Any, entropy: Any, words: Any) -> Any:
    return mechanism.permanent(values, entropy if words is None else GivenWords(words))


def _one_hot(mechanism: RRLDP, values: Any, *_: Any) -> Any:
    return np.concatenate(
        [values[:, [place]] == np.arange(size) for place, size in enumerate(mechanism.sizes)], axis=1
    ).astype(np.uint8)


def _reuses_words(mechanism: RRLDP, values: Any, entropy: Any, words: Any) -> Any:
    if words is None:
        return None
    return mechanism.instantaneous(_permanent(mechanism, values, entropy, words), GivenWords(words))


def _twice(mechanism: RRLDP, values: Any, entropy: Any, words: Any) -> Any:
    once = mechanism.instantaneous(_permanent(mechanism, values, entropy, words), entropy)
    return mechanism.instantaneous(once, entropy)


def _singly(mechanism: RRLDP, values: Any, entropy: Any, words: Any) -> Any:
    return _permanent(mechanism, values, entropy, words) if len(values) == 1 else None


def _keyed_without(**nothing: Any) -> Patch:
    """Return the patch that leaves something out of the key of permanent words."""

    def make(original: Any) -> Any:
        def init(self: PermanentWords, **given: Any) -> None:
            less = {name: each(given[name]) if callable(each) else each for name, each in nothing.items()}
            original(self, **{**given, **less})

        return init

    return _replacing(PermanentWords, "__init__", make)


def _repeating(original: Any) -> Any:
    def words(self: PermanentWords, secret: bytes, values: Any) -> Any:
        found = original(self, secret, values)
        starts = np.cumsum([0, *self._counts[:-1]])
        places = [start + np.arange(count) % 16 for start, count in zip(starts, self._counts, strict=True)]
        return found[np.concatenate(places)]

    return words


def _coarse(original: Any) -> Any:
    return lambda *arguments, **options: original(*arguments, **options) & np.uint32(0xFF000000)


def _padded(slots: Callable[[int], int]) -> Patch:
    def make(original: Any) -> Any:
        def sampled(self: Any, *sets: Any, padding: int, entropy: Any) -> Any:
            return original(self, *sets, padding=slots(padding), entropy=entropy)

        return sampled

    return _replacing(FrequencyOracle, "sampled", make)


def _rounded_to_nearest(original: Any) -> Any:
    def kept(epsilon: float, *, inside: int = 1, outside: int) -> int:
        floor = original(epsilon, inside=inside, outside=outside)
        with localcontext(PRECISION):
            odds = inside * Decimal(epsilon).exp()
            return int((RESOLUTION * odds / (odds + outside)).to_integral_value()) or int(floor)

    return kept


def _one_word_more(original: Any) -> Any:
    def respond(self: DirectResponse, values: Any, *, entropy: Any) -> Any:
        other = DirectResponse(size=self.size, dummies=self.dummies, epsilon=self.epsilon)
        object.__setattr__(other, "kept", self.kept + 1)
        return original(other, values, entropy=entropy)

    return respond


def _spends_twice(original: Any) -> Any:
    def respond(self: DirectResponse, values: Any, *, entropy: Any) -> Any:
        if self.counters <= 40:
            return original(self, values, entropy=entropy)
        return original(
            DirectResponse(size=self.size, dummies=self.dummies, epsilon=2 * self.epsilon), values, entropy=entropy
        )

    return respond


def _alone_in_the_clear(original: Any) -> Any:
    def perturb(self: DirectResponse, values: Any, *, entropy: Any) -> Any:
        if len(values) == 1:
            return pack([np.asarray(values)], [self.bits])
        return original(self, values, entropy=entropy)

    return perturb


def _amplified_hash(original: Any) -> Any:
    def for_set(cls: Any, size: int, *, padding: int, epsilon: float) -> Any:
        return cls.for_value(size, epsilon=direct.amplified(epsilon, padding=padding))

    return classmethod(for_set)


def _plain_third_bit(original: Any) -> Any:
    def perturb(self: HadamardResponse, values: Any, *, entropy: Any) -> Any:
        rows = original(self, values, entropy=entropy)
        if self.hash_bits < 3:
            return rows
        *indices, sent = unpack(rows, self._widths)
        plain = (np.bitwise_count(indices[2] & np.asarray(values)) & np.int64(1)) << 2
        return self.packed(np.array(indices), np.where(np.asarray(values) < self.size, sent & ~4 | plain, sent))

    return perturb


def _a_hash_too_many(original: Any) -> Any:
    def of_at_most_slots(self: SetHadamardResponse, favoured: Any, users: int, entropy: Any) -> Any:
        held = np.bincount(favoured // 2**self.hash_bits, minlength=users)
        return favoured[entropy.subsets(held, self.slots + (self.slots > 3))]

    return of_at_most_slots


def _dummy_is_a_value(original: Any) -> Any:
    def perturb(self: UnaryResponse, values: Any, *, entropy: Any) -> Any:
        return original(self, np.minimum(values, self.size - 1), entropy=entropy)

    return perturb


def _cached(original: Any) -> Any:
    cached = functools.lru_cache(lambda n: np.frombuffer(os.urandom(4 * n), dtype="<u4"))
    return lambda self, n: cached(n)


def _daily(original: Any) -> Any:
    def rows(self: Perturber, table: Any, *, secrets: Any, time_ms: int, **options: Any) -> Any:
        day = (time_ms // 86_400_000).to_bytes(8, "little")
        changed = None if secrets is None else [each[8:] + day for each in secrets]
        return original(self, table, secrets=changed, time_ms=time_ms, **options)

    return rows


def _first_users_words(original: Any) -> Any:
    return lambda self, secrets, values: original(self, [secrets[0]] * len(secrets), values)


def _parity(original: Any) -> Any:
    async def report_series(self: Reporter, values: Any) -> Any:
        clock = self._clock
        self._clock = lambda: clock() // 2_000 * 2_000 + 1_000 * (int(values[0][0]) % 2)
        try:
            return await original(self, values)
        finally:
            self._clock = clock

    return report_series


def _counted(original: Any) -> Any:
    numbers = itertools.count()

    def words(n: int, *, entropy: Any) -> Any:
        found = original(n, entropy=entropy)
        found[-1] = next(numbers)
        return found

    return words


def _sorted(original: Any) -> Any:
    def batch_of(rows: Any, **options: Any) -> Any:
        batch = original(rows, **options)
        return dataclasses.replace(batch, rows=np.array(sorted(batch.rows.tolist()), dtype=np.uint8))

    return batch_of


def _larger_earlier(original: Any) -> Any:
    def plan(self: Respondent, asked: Any) -> None:
        known = set(self._due)
        original(self, asked)
        for key in set(self._due) - known:
            due_ms, round_ = self._due[key]
            begin = max(self._clock(), asked.start_ms)
            held = 0 if self._table is None else int(self._table.sizes[0])
            self._due[key] = (begin + (due_ms - begin) // (1 + held), round_)

    return plan


def _any_of(original: Any) -> Any:
    def containing(self: ItemSets, itemsets: Any, *, domain: int) -> ItemSets:
        held = (self.items[start:end] for start, end in itertools.pairwise(self.offsets.tolist()))
        return ItemSets.of(np.flatnonzero(np.isin(itemsets, each).any(axis=1)).tolist() for each in held)

    return containing


def _other_half(original: Any) -> Any:
    module: Any = respondent

    def plan(self: Respondent, asked: Any) -> None:
        honest = module.partition_words
        if self._table is not None and self._table.sizes[0] > 8:
            module.partition_words = lambda *a, **o: honest(*a, **o) ^ np.uint32(2**31)
        try:
            original(self, asked)
        finally:
            module.partition_words = honest

    return plan


def _silent(original: Any) -> Any:
    async def report(self: Respondent, asked: Any) -> None:
        held = set() if self._table is None else set(self._table.items.tolist())
        if asked.candidates is None or held & set(asked.candidates):
            await original(self, asked)

    return report


def _two_a_debit(original: Any) -> Any:
    async def publish(self: Outbox, batches: Any) -> None:
        await original(self, [*batches, *(dataclasses.replace(each, batch_id=os.urandom(16)) for each in batches)])

    return publish


def _unlocked(original: Any) -> Any:
    def update(self: Any, change: Any) -> None:
        book = self.read()
        with store.locked(self.path):
            self._write(change(book))

    return update


def _one_decimal(original: Any) -> Any:
    def charges(*arguments: Any, **options: Any) -> Any:
        (report,) = original(*arguments, **options)
        return (dataclasses.replace(report, epsilon=round(report.epsilon, 1)),)

    return charges


def _coarse_partition(patch: pytest.MonkeyPatch) -> None:
    coarse = _coarse(user_partition.partition_words)
    for module in (user_partition, respondent, respondents, record_collection):
        patch.setattr(module, "partition_words", coarse)


def _in_order(n: int, *, entropy: Any) -> Any:
    return np.arange(n)


def _readable(original: Any) -> Any:
    def keep(path: Path) -> None:
        original(path)
        path.chmod(0o640)

    return keep


_STORE = "tests/ledger/test_store.py"
_PERMANENT = "tests/mechanisms/randomness/test_permanent.py"

BREAKS: tuple[Break, ...] = (
    Break(number=0, what="perturb sends the one-hot record", patch=_perturb(_one_hot), subject=SURVEY,
          by=(ATTACK, EXACT, CLIENT)),
    Break(number=1, what="permanent words keyed without collection", patch=_keyed_without(collection=""),
          subject=SURVEY, by=(EXACT,), test=f"{_PERMANENT}::test_different_meanings_share_no_word"),
    Break(number=2, what="permanent words keyed without f",
          patch=_keyed_without(noise=lambda noise: [[] for _ in noise]),
          subject=SURVEY, by=(EXACT,), test=f"{_PERMANENT}::test_different_meanings_share_no_word"),
    Break(number=3, what="words repeat every 16 bits", patch=_replacing(PermanentWords, "words", _repeating),
          subject=WIDE, by=(EXACT, ATTACK)),
    Break(number=4, what="IRR reuses the PRR's words", patch=_perturb(_reuses_words), subject=SURVEY,
          by=(EXACT, CLIENT)),
    Break(number=5, what="IRR twice", patch=_perturb(_twice), subject=ONE_BIT, by=(EXACT,)),
    Break(number=6, what="threshold <= instead of <",
          patch=_replacing(WordEntropy, "below", lambda _: lambda self, thresholds: self.words(
              thresholds.size).reshape(thresholds.shape) <= thresholds),
          subject=SURVEY, by=(EXACT,)),
    Break(number=7, what="PRF with 8 bits a word", patch=_replacing(PermanentWords, "words", _coarse),
          subject=SURVEY, by=(EXACT,)),
    Break(number=8, what="a single user gets no IRR", patch=_perturb(_singly), subject=SURVEY, by=(EXACT, CLIENT)),
    Break(number=9, what="the system's words are cached", patch=_replacing(OSEntropy, "words", _cached),
          subject=SURVEY, by=(CLIENT,)),
    Break(number=10, what="p rounded to the nearest", patch=_replacing(direct, "kept_inside", _rounded_to_nearest),
          subject=FILMS, by=(EXACT,)),
    Break(number=11, what="direct response keeps one word too many",
          patch=_replacing(DirectResponse, "respond", _one_word_more), subject=FILMS, by=(EXACT,)),
    Break(number=12, what="modulo bias",
          patch=_replacing(WordEntropy, "integers", lambda _: lambda self, sizes: (
              self.words(sizes.size).astype(np.int64).reshape(sizes.shape) % sizes)),
          subject=FILMS, by=(EXACT,)),
    Break(number=13, what="one padding slot too few", patch=_padded(lambda slots: max(slots - 1, 1)),
          subject=FILMS, by=(EXACT,)),
    Break(number=14, what="one padding slot too few for l > 3", patch=_padded(lambda slots: slots - (slots > 3)),
          subject=FILMS, by=(EXACT,)),
    Break(number=15, what="amplified with l + 1",
          patch=_replacing(direct, "amplified", lambda honest: lambda epsilon, *, padding: honest(
              epsilon, padding=padding + 1)),
          subject=FILMS, by=(EXACT,)),
    Break(number=16, what="hashing amplified like direct",
          patch=_replacing(HadamardResponse, "for_set", _amplified_hash), subject=FEW_BOOKS, by=(EXACT,)),
    Break(number=17, what="third bit of a hash not perturbed",
          patch=_replacing(HadamardResponse, "perturb", _plain_third_bit), subject=HASHED_VALUE, by=(EXACT, ATTACK)),
    Break(number=18, what="wheel does not cut l + 1 hashes for l > 3",
          patch=_replacing(SetHadamardResponse, "_of_at_most_slots", _a_hash_too_many), subject=WHEEL,
          by=(EXACT, ATTACK)),
    Break(number=19, what="unary: a dummy sends a value's code",
          patch=_replacing(UnaryResponse, "perturb", _dummy_is_a_value), subject=MINED, by=(EXACT,)),
    Break(number=38, what="direct: a single user is not perturbed",
          patch=_replacing(DirectResponse, "perturb", _alone_in_the_clear), subject=FILMS, by=(EXACT, ATTACK)),
    Break(number=39, what="direct spends 2 epsilon where k > 40",
          patch=_replacing(DirectResponse, "respond", _spends_twice), subject=LARGE_DIRECT, by=(EXACT, ATTACK)),
    Break(number=41, what="one group is asked by two phases",
          patch=_replacing(Phase, "asks", lambda _: lambda self, words: (
              (words >= self.share[0]) & (words <= self.share[1]))),
          subject=FILMS, by=(EXACT, ATTACK)),
    Break(number=20, what="Reporter redraws the PRR every day", patch=_replacing(Perturber, "rows", _daily),
          subject=SURVEY, by=(CLIENT,)),
    Break(number=21, what="report_many: the first user's words for all",
          patch=_replacing(PermanentWords, "words_of", _first_users_words), subject=SURVEY, by=(CLIENT,)),
    Break(number=22, what="the event time's parity tells a value",
          patch=_replacing(Reporter, "report_series", _parity), subject=SURVEY, by=(CLIENT,)),
    Break(number=23, what="batch id with a counter", patch=_replacing(batcher, "random_words", _counted),
          subject=SURVEY, by=(CLIENT,)),
    Break(number=25, what="rows of a batch are sorted", patch=_replacing(batcher, "batch_of", _sorted),
          subject=SURVEY, by=(CLIENT,)),
    Break(number=26, what="larger sets answer earlier", patch=_replacing(Respondent, "_plan", _larger_earlier),
          subject=BOOKS, by=(CLIENT,)),
    Break(number=27, what="sets of more than 8 items are asked by another group",
          patch=_replacing(Respondent, "_plan", _other_half), subject=BOOKS, by=(CLIENT,)),
    Break(number=160, what="an itemset counts as held where one of its items is",
          patch=_replacing(ItemSets, "_containing", _any_of), subject=BASKETS, by=(CLIENT,)),
    Break(number=28, what="silent where no candidate is held", patch=_replacing(Respondent, "_report", _silent),
          subject=BOOKS, by=(CLIENT,)),
    Break(number=29, what="two answers a debit", patch=_replacing(Outbox, "publish", _two_a_debit),
          subject=BOOKS, by=(CLIENT,)),
    Break(number=30, what="answered epochs are forgotten",
          patch=_replacing(PhaseAccount, "is_over", lambda _: lambda self, epoch: False),
          subject=BOOKS, by=(CLIENT,)),
    Break(number=31, what="ledger reads outside its lock",
          patch=_replacing(store.FileStore, "update", _unlocked), subject=SURVEY, by=(),
          test=f"{_STORE}::test_threads_count_all_that_they_send"),
    Break(number=32, what="directory is not synced",
          patch=_replacing(private_file, "sync_directory", lambda _: lambda path: None), subject=SURVEY, by=(),
          test=f"{_STORE}::test_spending_syncs_the_file_before_and_the_directory_after_replacing_it"),
    Break(number=33, what="ledger rounds epsilon to one decimal",
          patch=_replacing(Perturber, "charges", _one_decimal), subject=BOOKS, by=(CLIENT,)),
    Break(number=34, what="partition word of 8 bits", patch=_coarse_partition, subject=BOOKS, by=(EXACT,),
          test="tests/mechanisms/randomness/test_user_partition.py"),
    Break(number=35, what="many users answer in order",
          patch=_replacing(respondents, "random_order", lambda _: _in_order),
          subject=FILMS, by=(CLIENT,)),
    Break(number=36, what="secret is readable by the group",
          patch=_replacing(secret, "keep_draft", _readable), subject=SURVEY, by=(CLIENT,)),
)  # fmt: skip

#: Trials of the attacks of the table, a fifth of the default.
TRIALS = 20_000

#: Number of the first break of what no audit looks at.
_UNAUDITED = 200

_ARGUMENTS = {ATTACK: ("--seed", "1"), EXACT: ("--exact",), CLIENT: ("--client",)}


def caught(broken: Break, audit: str, *, trials: int | None = None) -> bool | None:
    """Run one audit on the broken package in this process: whether it fails; None if it does not apply."""
    is_collection = broken.subject.startswith("\n")
    if audit == CLIENT and not is_collection:
        return None
    arguments = [*_ARGUMENTS[audit], *(["--trials", str(trials)] if trials and audit == ATTACK else [])]
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        subject = broken.subject
        if is_collection:
            Path(directory, "collection.yaml").write_text(broken.subject)
            subject = str(Path(directory, "collection.yaml"))
        broken.patch(patch)
        _forget_oracles()
        result = CliRunner().invoke(app, ["audit", subject, *arguments])
    _forget_oracles()
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, 1) or (result.exit_code == 1 and "DISPROVED" not in result.stderr):
        raise RuntimeError(f"the audit has no verdict: {result.stderr}")
    return result.exit_code == 1


def _forget_oracles() -> None:
    """Forget the oracles that were chosen by other code than that which runs now."""
    oracle_choice.item_oracle.cache_clear()
    oracle_choice.value_oracle.cache_clear()


def caught_by_rows(broken: Break) -> bool:
    """Compare the collection and its rows with the specification on the broken package, as `audit --exact` does."""
    with pytest.MonkeyPatch.context() as patch:
        broken.patch(patch)
        try:
            collection = parse_collection(broken.subject)
            kind = kind_of(collection)
            file = yaml.load(broken.subject, Loader=yaml.BaseLoader)
            client: Any = kind.specified(file, collection.meaning)
            found = differences(collection, kind.reports_at_once, client)
            if kind.rounds is None:
                return any(found)
            asked = kind.rounds.asked(collection, 0)
            return any(itertools.chain(found, round_differences(collection, kind.reports, asked, client)))
        except (ValueError, IndexError):
            # Code that is broken may raise anything.
            return True


def caught_by_test(broken: Break) -> bool:
    """Run the break's test on the broken package, in a process of its own: whether it fails."""
    assert broken.test is not None
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.breaks", "--break", str(broken.number)]
    result = subprocess.run([*command, broken.test], capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1):
        raise RuntimeError(f"the test could not be run: {result.stdout}{result.stderr}")
    return result.returncode == 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let pytest take the number of a break, where this module is one of its plugins."""
    parser.addoption("--break", type=int, required=True, help="number of the break of the package")


def pytest_configure(config: pytest.Config) -> None:
    """Break the package, before any test is imported."""
    number = config.getoption("--break")
    from tests.breaks_of_readers import READERS  # noqa: PLC0415  it is made of what is here

    (broken,) = [each for each in (*BREAKS, *READERS) if each.number == number]
    broken.patch(pytest.MonkeyPatch())


def _columns(broken: Break) -> Iterator[str]:
    for audit in _ARGUMENTS:
        # No audit looks at what is not sent: its honest code is another audit's.
        found = caught(broken, audit, trials=TRIALS) if broken.by or broken.number < _UNAUDITED else None
        yield "-" if found is None else "caught" if found else "passes"
    if broken.test is None:
        yield ""
    else:
        name = re.sub(r"^tests/|\.py", "", broken.test)
        yield f"{name} {'fails' if caught_by_test(broken) else 'passes'}"


def main(*numbers: str) -> None:
    """Print what catches each break, as a table."""
    sys.stdout.write("| # | break | audit | audit --exact | audit --client | test |\n|---|---|---|---|---|---|\n")
    from tests.breaks_of_answers import MORE  # noqa: PLC0415  it is made of what is here
    from tests.breaks_of_readers import READERS  # noqa: PLC0415

    for broken in (*BREAKS, *MORE, *READERS):
        if not numbers or str(broken.number) in numbers:
            sys.stdout.write(f"| {broken.number:02} | {broken.what} | {' | '.join(_columns(broken))} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
