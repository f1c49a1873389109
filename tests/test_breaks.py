"""Every known way to break the privacy of the package is caught: by an audit, or by a test that is named for it.

`python -m tests.breaks` prints the table of what catches what.
"""

from pathlib import Path

import pytest

from stream_ldp.audit.wire.sets import Sets
from stream_ldp.client.audit.reporter import Auditor
from stream_ldp.client.audit.respondent import RoundAuditor
from stream_ldp.kinds import parse_collection
from tests.breaks import (
    ATTACK,
    BREAKS,
    CLIENT,
    EXACT,
    FILMS,
    HASHED_VALUE,
    MINED,
    TRIALS,
    WHEEL,
    Break,
    caught,
    caught_by_rows,
    caught_by_test,
)
from tests.breaks_of_answers import MORE
from tests.breaks_of_readers import READERS
from tests.client.audit.files import auditor_of, data


def named(broken: Break) -> str:
    return f"{broken.number:02} {broken.what}"


def honest(subject: str) -> Break:
    return Break(number=99, what="nothing", patch=lambda _: None, subject=subject, by=())


def by(audit: str) -> list[Break]:
    return [each for each in BREAKS if audit in each.by]


async def surroundings_of(auditor: RoundAuditor) -> list[str]:
    """What is seen around the rows of sets of all sizes."""
    lasting, _ = await auditor.runs()
    return list(auditor.surroundings(lasting))


async def order_of(auditor: RoundAuditor) -> list[str]:
    order, _ = await auditor.population()
    return order


def test_each_break_has_something_that_catches_it() -> None:
    every = (*BREAKS, *MORE, *READERS)
    assert len(every) == len({each.number for each in every}) == 105
    assert [each for each in every if not each.by and each.test is None] == []


def test_what_each_break_breaks_is_there() -> None:
    """Or one that is not run every day would break nothing any more."""
    for broken in (*BREAKS, *MORE, *READERS):
        with pytest.MonkeyPatch.context() as patch:
            broken.patch(patch)


@pytest.mark.parametrize(
    "subject",
    # Honest rows of every kind are those of the specification in tests/audit: here, one is enough.
    [
        pytest.param(subject, marks=pytest.mark.long if number else ())
        for number, subject in enumerate(dict.fromkeys(each.subject for each in MORE))
    ],
)
def test_rows_that_are_not_broken_are_those_of_the_specification(subject: str) -> None:
    assert not caught_by_rows(honest(subject))


@pytest.mark.parametrize("broken", [each for each in MORE if EXACT in each.by], ids=named)
def test_rows_show(broken: Break) -> None:
    assert caught_by_rows(broken)


@pytest.mark.long
@pytest.mark.parametrize("subject", dict.fromkeys(each.subject for each in MORE))
@pytest.mark.parametrize("audit", [EXACT, CLIENT])
def test_no_audit_accuses_what_is_not_broken(subject: str, audit: str) -> None:
    """It fails by chance in 5 of 10^6 runs."""
    assert not caught(honest(subject), audit)


@pytest.mark.long
@pytest.mark.parametrize(
    ("broken", "audit"),
    [pytest.param(each, audit, id=f"{named(each)} by {audit}") for each in MORE for audit in each.by],
)
def test_each_audit_catches_what_it_has_to(broken: Break, audit: str) -> None:
    assert caught(broken, audit)


@pytest.mark.parametrize(
    "subject",
    # Those that are not broken are enumerated by the tests of the audits, too: here, the quickest is enough.
    [
        pytest.param(subject, marks=() if subject == FILMS else pytest.mark.long)
        for subject in dict.fromkeys(each.subject for each in by(EXACT))
    ],
)
def test_the_exact_audit_accuses_nothing_that_is_not_broken(subject: str) -> None:
    assert not caught(honest(subject), EXACT)


# Honest clients of every kind break no promise in tests/client/audit.
@pytest.mark.long
@pytest.mark.parametrize("subject", dict.fromkeys(each.subject for each in by(CLIENT) if EXACT not in each.by))
def test_the_audit_of_the_client_accuses_nothing_that_is_not_broken(subject: str) -> None:
    """It fails by chance in 4 of 10^6 runs."""
    assert not caught(honest(subject), CLIENT)


@pytest.mark.parametrize(
    "broken",
    # That broken wheels, hashes and unary codes are caught is shown in seconds for small ones, in tests/audit, and so
    # is that of words, edges, slots and wide responses; others have a quick test of their own. Of those that are
    # left, one of each part of a mechanism is enough: its probabilities, words, slots, and what amplifies it.
    [
        pytest.param(
            each,
            marks=pytest.mark.long
            if each.subject in (WHEEL, HASHED_VALUE, MINED)
            or each.test
            or each.number in {3, 6, 7, 8, 10, 11, 14, 16, 39}
            else (),
        )
        for each in by(EXACT)
    ],
    ids=named,
)
def test_the_exact_audit_catches(broken: Break) -> None:
    assert caught(broken, EXACT)


# One takes seconds: others are quickly caught by the part of the audit that looks for them, below; of ledgers,
# tests/ledger has quick tests, and of randomness that is not the system's, tests/client/audit. That the whole audit
# catches what is broken is shown by tests/cli/test_audit.py.
@pytest.mark.long
@pytest.mark.parametrize("broken", [each for each in by(CLIENT) if EXACT not in each.by], ids=named)
def test_the_audit_of_the_client_catches(broken: Break) -> None:
    assert caught(broken, CLIENT)


#: Parts of the audit of reporters, and of those of item sets, by the number of a break that each looks for.
PARTS = {20: Auditor.permanence, 21: Auditor.rows, 25: Auditor.order}
PARTS_OF_ROUNDS = {26: surroundings_of, 35: order_of}


@pytest.mark.parametrize("broken", [each for each in BREAKS if each.number in PARTS], ids=named)
async def test_a_part_of_the_audit_of_a_reporter_catches(
    broken: Break, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken.patch(monkeypatch)
    assert await PARTS[broken.number](auditor_of(broken.subject, tmp_path)) != []


@pytest.mark.parametrize("broken", [each for each in BREAKS if each.number in PARTS_OF_ROUNDS], ids=named)
async def test_a_part_of_the_audit_of_rounds_catches(
    broken: Break, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken.patch(monkeypatch)
    collection = parse_collection(broken.subject)
    auditor = RoundAuditor(collection, Sets(data(broken.subject)), tmp_path)
    assert await PARTS_OF_ROUNDS[broken.number](auditor) != []


def test_rows_show_that_an_itemset_is_held_where_one_of_its_items_is() -> None:
    (broken,) = [each for each in BREAKS if each.number == 160]
    assert caught_by_rows(broken)
    assert not caught_by_rows(honest(broken.subject))


# To run a test on the broken package takes two seconds, of which most are imports.
@pytest.mark.long
@pytest.mark.parametrize("broken", [each for each in BREAKS if not each.by], ids=named)
def test_a_named_test_catches(broken: Break) -> None:
    assert caught_by_test(broken)


@pytest.mark.long
@pytest.mark.parametrize("broken", READERS, ids=named)
def test_a_named_test_catches_what_no_audit_looks_at(broken: Break) -> None:
    assert caught_by_test(broken)


@pytest.mark.long
@pytest.mark.parametrize("broken", [each for each in by(CLIENT) if EXACT in each.by], ids=named)
def test_the_audit_of_the_client_catches_too(broken: Break) -> None:
    assert caught(broken, CLIENT)


@pytest.mark.long
@pytest.mark.parametrize("broken", by(ATTACK), ids=named)
def test_the_attack_catches(broken: Break) -> None:
    assert caught(broken, ATTACK, trials=TRIALS)
