"""What every client keeps to, in whatever language: see docs/clients/contract.md."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from itertools import count, islice, repeat
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from stream_ldp.audit.wire.batch import read, rounded_time
from stream_ldp.audit.wire.notation import WHOLE, canonical
from stream_ldp.audit.wire.sets import Sets
from stream_ldp.client.process import ClientEnded, ClientProcess, ClientRefused, Left
from stream_ldp.collection import Collection
from stream_ldp.kinds import KINDS
from tests.clients.contract.cases import EVERYTHING, GOLDEN, OF_RECORDS, TIME_MS, opened, rows_of, specified, vectors
from tests.clients.contract.laws import Alike, between, chances, epsilon, fixed, remainders
from tests.paths import REPOSITORY

#: A true client fails a test of chances with this probability.
ERROR_RATE = 1e-6

#: A word that decides some things one way and some the other.
WORD = 2**30 + 12_345

SURVEY: dict[str, Any] = {
    "collection": "care-survey",
    "mechanism": {"kind": "k-rr", "epsilon": 2},
    "attributes": [
        {"name": "bathing", "values": ["no", "yes"]},
        {"name": "mobility", "values": ["none", "some", "full"]},
    ],
    "window": {"size": "60s"},
    "estimates": [{"name": "bathing-mobility", "of": ["bathing", "mobility"]}],
}
RECORD = {"bathing": "no", "mobility": "some"}
OTHER = {"bathing": "yes", "mobility": "full"}
SECRET = bytes(range(32))

_users = count()


def new_user(client: ClientProcess, *, secret: bytes = SECRET, path: Path | None = None, **terms: Any) -> str:
    """Begin the ledger of a user."""
    name = f"user-{next(_users)}"
    client.user(name, secret=secret, path=path, terms=terms)
    return name


def left_of(left: tuple[Left, ...]) -> list[bytes]:
    return [row for each in left for row in rows_of(each.value)]


def check_vector(client: ClientProcess, vector: Mapping[str, Any], *, name: str, most: int | None = None) -> None:
    """Compare what leaves for the users of a vector with its rows."""
    collection = opened(client, vector["file"], name=name)
    if name == "record_reports":
        user = new_user(client, secret=bytes.fromhex(vector["secret"]), **EVERYTHING)
        reported = client.report(
            collection.name, user, vector["record"], time_ms=vector["time_ms"], words=vector["fresh_words"] or None
        )
        assert [row.hex() for row in left_of(reported.left)] == ([vector["row"]] if vector["asked"] else [])
        assert (reported.reports == 1) is vector["asked"]
        return
    fresh = {(each["record"], each["secret"]): each for each in vector.get("fresh", [])}
    for place, record in islice(enumerate(vector["records"]), most):
        for number, secret in islice(enumerate(vector["secrets"]), most):
            asked = fresh.get((place, number))
            if vector.get("fresh") and asked is None:
                continue
            words = None if asked is None else asked["words"]
            user = new_user(client, secret=bytes.fromhex(secret), **EVERYTHING)
            reported = client.report(collection.name, user, record, time_ms=TIME_MS, words=words)
            expected = vector["rows"][place][number] if asked is None else asked["row"]
            assert [row.hex() for row in left_of(reported.left)] == [expected]


def test_the_page_says_what_each_client_speaks_and_where_it_is_killed(client: ClientProcess) -> None:
    spoken, told = {name for kind in KINDS.values() for name in kind.mechanisms} | {"views"}, client.hello
    assert told.mechanisms <= spoken
    row = f"| {told.language} | {len(told.mechanisms)} of {len(spoken)} | {', '.join(told.steps)} |"
    assert row in (REPOSITORY / "docs" / "clients" / "contract.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OF_RECORDS)
def test_a_client_reproduces_vectors_of_each_kind(client: ClientProcess, name: str) -> None:
    for vector in vectors(name)[::3]:
        check_vector(client, vector, name=name, most=2)


@pytest.mark.long
@pytest.mark.parametrize("name", OF_RECORDS)
def test_a_client_reproduces_all_vectors(client: ClientProcess, name: str) -> None:
    for vector in vectors(name):
        check_vector(client, vector, name=name)


def test_sets_report_under_the_fingerprint_of_their_round_or_not_at_all(client: ClientProcess) -> None:
    for vector in vectors("item_reports"):
        collection = opened(client, vector["file"])
        user = new_user(client, secret=bytes.fromhex(vector["secret"]), **EVERYTHING)
        rounds = [vector["round"]] if vector["round"] else []
        reported = client.report(
            collection.name, user, {"items": vector["items"]}, time_ms=vector["time_ms"], rounds=rounds
        )
        carried = [read(each.value).fingerprint.hex() for each in reported.left]
        assert (vector.get("carried") in carried) is vector["asked"]
        if vector["asked"] and len(carried) == 1:
            assert [len(row) for row in left_of(reported.left)] == [len(vector["row"]) // 2]
        again = client.report(
            collection.name, user, {"items": vector["items"]}, time_ms=vector["time_ms"], rounds=rounds
        )
        assert (again.reports, again.spent) == (0, reported.spent)


def test_sizes_of_sets_and_what_they_lack_are_reported_as_the_specification_says(client: ClientProcess) -> None:
    """Of sets with no item, one, as many as a power of two, and one more, every client makes the same row."""
    for vector in vectors("item_reports"):
        lacks = "names" in vector["file"]["items"] and (vector["round"] or {}).get("missing")
        if not (vector["file"]["collection"] == "asked-films" or lacks) or not vector["asked"]:
            continue
        collection, specification = opened(client, vector["file"]), Sets(vector["file"])
        rounds = [vector["round"]] if vector["round"] else []
        for held in (0, 1, 2, 3, 4, 5, 9):
            items = vector["file"]["items"]["names"][:held]
            for word in (0, WORD, 2**31):
                user = new_user(client, secret=bytes.fromhex(vector["secret"]), **EVERYTHING)
                reported = client.report(
                    collection.name, user, {"items": items}, time_ms=vector["time_ms"], rounds=rounds, words=[word]
                )
                numbers = specification.numbers_of(items)
                rows = specification.fresh_rows(vector["phase"], vector["round"], numbers, repeat(word))
                assert left_of(reported.left)[0] in rows


def test_a_round_about_all_items_is_taken_only_as_a_phase_about_sizes_may_ask_it(client: ClientProcess) -> None:
    (vector, *_) = (each for each in vectors("item_reports") if each["round"] and each["round"]["candidates"] is None)
    collection = opened(client, vector["file"])

    def reports(asked: dict[str, Any]) -> int:
        user = new_user(client, secret=bytes.fromhex(vector["secret"]), **EVERYTHING)
        return client.report(
            collection.name, user, {"items": ["Heat"]}, time_ms=vector["time_ms"], rounds=[asked]
        ).reports

    assert reports(vector["round"]) == 1
    changes: list[dict[str, Any]] = [{"padding": 11}, {"padding": 0}, {"candidates": [1, 2]}, {"candidates": []}]
    for change in [*changes, {"epsilon": 4.1}]:
        assert reports(vector["round"] | change) == 0
    without = {name: value for name, value in vector["round"].items() if name != "candidates"}
    assert reports(without) == 0
    assert reports(vector["round"] | {"missing": True}) == 0


def test_a_client_says_what_a_set_lacks_only_after_a_count(client: ClientProcess) -> None:
    asked = [
        each for each in vectors("item_reports") if each["round"] and each["asked"] and each["round"]["candidates"]
    ]
    after_count = [each for each in asked if each["round"].get("missing")]
    others = [each for each in asked if each["phase"] == 2]
    assert after_count
    assert others
    for vector, changes, reports in (
        *((each, {}, 1) for each in after_count),
        *((each, {"missing": 1}, 0) for each in after_count),
        *((each, {"missing": True}, 0) for each in others),
    ):
        collection = opened(client, vector["file"])
        user = new_user(client, secret=bytes.fromhex(vector["secret"]), **EVERYTHING)
        reported = client.report(
            collection.name,
            user,
            {"items": vector["items"]},
            time_ms=vector["time_ms"],
            rounds=[vector["round"] | changes],
        )
        carried = [read(each.value).fingerprint.hex() for each in reported.left]
        assert sum(each != vector["fingerprint"] for each in carried) == reports


#: Words of rows whose noise is all fresh: by mechanism, what each decision treats alike.
KEPT_OF_2, KEPT_OF_3 = 3_782_994_644, 3_380_079_312
ENUMERATED: dict[str, tuple[dict[str, Any], list[list[Alike]]]] = {
    "k-rr": (
        {"kind": "k-rr", "epsilon": 2},
        [between(KEPT_OF_2), between(KEPT_OF_3, KEPT_OF_3 + 457_443_992)],
    ),
    "rr-ldp": ({"kind": "rr-ldp", "f": 0.25}, [between(2**29)] * 5),
    "rr-ldp with two stages": (
        {"kind": "rr-ldp", "f": 0.25, "p": 0.25, "q": 0.75},
        [*[between(2**29)] * 2, *[between(2**30, 3 * 2**30)] * 2],
    ),
}


@pytest.mark.parametrize(
    "name",
    # One stage of noise is the first of two.
    [pytest.param(name, marks=pytest.mark.long if name == "rr-ldp" else ()) for name in ENUMERATED],
)
def test_rows_cost_what_is_charged_by_enumeration_of_what_leaves(client: ClientProcess, name: str) -> None:
    mechanism, words = ENUMERATED[name]
    attributes = SURVEY["attributes"][: 1 if name == "rr-ldp with two stages" else 2]
    file = {
        **SURVEY,
        "mechanism": mechanism,
        "attributes": attributes,
        "estimates": [{"name": "b", "of": ["bathing"]}],
    }
    collection = opened(client, file)
    laws, charged = [], []
    for bathing in ("no", "yes"):
        for mobility in ("none", "some", "full") if len(attributes) == 2 else (None,):
            record = {"bathing": bathing} if mobility is None else {"bathing": bathing, "mobility": mobility}
            user = new_user(client, budget=None, fresh=True)
            laws.append(chances(client, collection.name, user, record, words))
            user = new_user(client, budget=None, fresh=True)
            charged.append(client.report(collection.name, user, record, time_ms=TIME_MS).spent)
            assert sum(laws[-1].values()) == 1
    assert len(set(charged)) == 1
    assert epsilon(laws) <= charged[0] * (1 + 1e-12)
    assert epsilon(laws) == pytest.approx(charged[0], rel=1e-6)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 2, 0], [7, 7, 7, 7]], ids=str)
def test_sets_of_values_cost_what_is_charged_in_whatever_order_they_are(
    client: ClientProcess, order: list[int]
) -> None:
    """The last word decides; those before it order the values, and equal ones leave them in their order."""
    values = ["a", "b", "c", "d"]
    file = {
        **SURVEY,
        "mechanism": {"kind": "k-subset", "epsilon": 0.5},
        "attributes": [{"name": "v", "values": values}],
        "estimates": [{"name": "v", "of": ["v"]}],
    }
    collection = opened(client, file)
    kept, run = 2_673_442_470, 810_762_413
    words = [*map(fixed, order), between(kept // 2, kept, kept + run)]
    user = new_user(client, budget=None, fresh=True)
    laws = [chances(client, collection.name, user, {"v": value}, words) for value in values]
    assert [sum(law.values()) for law in laws] == [1] * 4
    assert all(row[0].bit_count() == 2 for law in laws for row in law)
    user = new_user(client, budget=None, fresh=True)
    charged = client.report(collection.name, user, {"v": "a"}, time_ms=TIME_MS).spent
    assert epsilon(laws) <= charged * (1 + 1e-12)
    assert epsilon(laws) == pytest.approx(charged, rel=1e-6)


#: Rows of other kinds whose noise is all fresh: file and place of a vector, what two users hold, and words. Question
#: and seed depend on nothing that is held, so the law is that of the users who have one of each.
ANSWERS: dict[str, tuple[str, int, list[dict[str, Any]], list[list[Alike]]]] = {
    "places": (
        "places",
        2,
        [{"place": place, "region": "town", "epsilon": 1} for place in ("0", "3")],
        [between(2_041_685_230), remainders(3)],
    ),
    "strings": (
        "strings",
        0,
        [{"word": "banana"}, {"word": "apple"}],
        [fixed(0), fixed(12_345), between(2_205_548_027), remainders(7)],
    ),
    "sampled": (
        "sampled",
        11,
        [{"smokes": "no"}, {"smokes": "yes"}],
        [fixed(0), between(3_782_994_644), remainders(1)],
    ),
    # Of no keys, or of two at the ends of their ranges: a slot, its end, which no word changes, and the answer.
    "pairs": (
        "pairs",
        0,
        [{}, {"search": 60, "maps": 10}],
        [fixed(0), remainders(2), between(), between(2_848_022_992), remainders(7)],
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_cost_what_is_charged_by_enumeration_of_what_leaves(client: ClientProcess, name: str) -> None:
    file, place, held, words = ANSWERS[name]
    collection = opened(client, vectors(file)[place]["file"], name=file)
    laws = [chances(client, collection.name, new_user(client, budget=None, fresh=True), each, words) for each in held]
    assert [sum(law.values()) for law in laws] == [1, 1]
    user = new_user(client, budget=None, fresh=True)
    charged = client.report(collection.name, user, held[0], time_ms=TIME_MS).spent
    assert epsilon(laws) <= charged * (1 + 1e-12)
    assert epsilon(laws) == pytest.approx(charged, rel=1e-6)


@pytest.mark.long
def test_rows_of_sets_have_the_chances_of_their_response(client: ClientProcess) -> None:
    vector = vectors("item_reports")[0]
    collection = opened(client, vector["file"])
    made: Counter[bytes] = Counter()
    reports = 1_500
    for number in range(reports):
        user = new_user(client, secret=hashlib.sha256(number.to_bytes(4, "big")).digest(), budget=100)
        time_ms = TIME_MS // 180_000 * 180_000
        made.update(left_of(client.report(collection.name, user, {"items": ["Heat"]}, time_ms=time_ms).left))
    # Of 13 choices, the item fills one of 3 slots, and dummies 0 and 1 the others: section 12 of docs/wire.md.
    kept, choices, own = vector["response"]["kept"] / WHOLE, 13, {7, 10, 11}
    shares = [kept / 3 + (1 - kept) / (choices - 1) * 2 / 3, (1 - kept) / (choices - 1)]
    expected = [reports * shares[number not in own] for number in range(choices)]
    found = [made[bytes([number])] for number in range(choices)]
    assert stats.chisquare(found, expected).pvalue > ERROR_RATE


def test_rows_of_the_system_s_randomness_have_the_enumerated_chances(client: ClientProcess) -> None:
    collection = opened(client, SURVEY)
    user = new_user(client, budget=None, fresh=True)
    law = chances(client, collection.name, user, RECORD, ENUMERATED["k-rr"][1])
    reports = 4_000
    made = Counter(left_of(client.report(collection.name, user, RECORD, time_ms=TIME_MS, times=reports).left))
    assert made.keys() <= law.keys()
    expected = [float(reports * law[row]) for row in law]
    assert stats.chisquare([made[row] for row in law], expected).pvalue > ERROR_RATE


#: By file of vectors, one whose reports are permanent, and one whose reports have noise of their own, if any has.
CHARGED = [
    *((name, 0) for name in OF_RECORDS),
    ("record_reports", 36),
    ("record_reports", 41),
    ("sampled", 6),
    ("sampled", 7),
    ("sampled", 20),
]


@pytest.mark.parametrize(("name", "place"), CHARGED)
def test_rows_and_charges_are_those_of_the_specification(client: ClientProcess, name: str, place: int) -> None:
    vector = vectors(name)[place]
    collection = opened(client, vector["file"], name=name)
    asked = specified(collection, vector["file"])
    for number, held in enumerate(asked.held()[:4]):
        secret = hashlib.sha256(number.to_bytes(4, "big")).digest()
        for memoises in (True, False):
            user = new_user(client, secret=secret, budget=None, linked=True, fresh=not memoises)
            reported = client.report(collection.name, user, held, time_ms=TIME_MS, words=[WORD], times=2)
            expected = asked.whole_row(secret, held, time_ms=TIME_MS, words=repeat(WORD), memoises=memoises)
            assert left_of(reported.left) == [expected] * 2
            assert reported.spent == pytest.approx(asked.cost(secret, [held] * 2, memoises=memoises), rel=1e-6)


def test_a_record_has_what_the_specification_gives_it_and_nothing_else(client: ClientProcess) -> None:
    collection = opened(client, SURVEY)
    user = new_user(client, budget=None)
    ids = set()
    for time_ms in (TIME_MS, TIME_MS + 12_345, TIME_MS - 1):
        (left,) = client.report(collection.name, user, RECORD, time_ms=time_ms, times=3).left
        batch = read(left.value)
        ids.add(batch.batch_id)
        assert (batch.fingerprint, len(batch.rows)) == (collection.fingerprint, 3)
        assert batch.time_ms == rounded_time(SURVEY["window"], time_ms)
        assert left.headers == (("content-type", "application/vnd.sldp.batch;v=1"),)
        if left.path is None:
            assert left.topic == f"stream-ldp.{collection.name}.reports"
            assert (left.key, left.timestamp_ms) == (batch.batch_id, batch.time_ms)
        else:
            assert left.path == f"/v1/collections/{collection.name}/batches"
    assert len(ids) == 3


#: Attributes, and what a record may say of them, with another value that stands for the same.
AGE = {"bins": [0, 10, 20], "missing": "none", "other": "else"}
AGES: dict[Any, Any] = {
    **dict.fromkeys(("5", "+5", "5.", "05", ".5e1", "50E-1", "-0", "-1e400", -0.0, "\u0035"), 5),
    **dict.fromkeys(("12.0", "12e0", 12.5, "1e400"), 12),
    **dict.fromkeys(
        (" 5", "5 ", "5\n", "\u00a05", "\ufeff5", "1_0", "1,0", "0x5", "5f", "5d", "e1", ".", "+"), "else"
    ),
    **dict.fromkeys(("\u0665", "\uff15", "\u22125", "inf", "-inf", "Infinity", "nan", "NaN", "null", " "), "else"),
    **dict.fromkeys(("", None), "none"),
}
NAME = {"values": ["true", "false", "\u00e9", "5"], "missing": "none", "other": "else"}
NAMES: dict[Any, Any] = {
    **dict.fromkeys(("True", "TRUE", "e\u0301", "\u00c9", "5.0", " 5", "05"), "else"),
    **dict.fromkeys(("", None), "none"),
    True: "true",
    False: "false",
    5.0: "5",
}


@pytest.mark.parametrize(("attribute", "alike"), [(AGE, AGES), (NAME, NAMES)], ids=["numbers", "texts"])
def test_what_a_record_says_stands_for_the_same_value_with_every_client(
    client: ClientProcess, attribute: dict[str, Any], alike: dict[Any, Any]
) -> None:
    """If two clients read a record differently, its user has two permanent answers."""
    mechanism = {"kind": "sampled", "epsilon": 12}
    window = {"size": "60s"}
    file = {"collection": "a", "mechanism": mechanism, "attributes": [{"name": "a", **attribute}], "window": window}
    collection = opened(client, file)

    def row(value: Any) -> list[bytes]:
        user = new_user(client, budget=None)
        return left_of(client.report(collection.name, user, {"a": value}, time_ms=TIME_MS).left)

    rows = {value: row(value) for value in alike.values()}
    assert len({each for (each,) in rows.values()}) == len(rows)
    assert {value: row(value) for value in alike} == {value: rows[other] for value, other in alike.items()}


def crash(client: ClientProcess, step: str, path: Path) -> tuple[list[bytes], float]:
    """Let a client crash at a step; return the rows that left it, and what was spent by then."""
    collection = opened(client, SURVEY)
    user = new_user(client, path=path / step, budget=10)
    with pytest.raises(ClientEnded) as ended:
        client.report(collection.name, user, RECORD, time_ms=TIME_MS, crash=step)
    client.restart()
    spent = client.user(user, secret=SECRET, path=path / step)
    # The ledger is whole: the user may go on.
    opened(client, SURVEY)
    assert client.report(collection.name, user, RECORD, time_ms=TIME_MS).reports == 1
    return left_of(ended.value.left), spent


def check_crash(client: ClientProcess, step: str, path: Path) -> None:
    rows, spent = crash(client, step, path)
    assert len(rows) == (step == "sent")
    assert spent == pytest.approx(4 if step in ("charged", "sent") else 0)


def test_a_crash_before_a_report_leaves_keeps_its_charge(client: ClientProcess, tmp_path: Path) -> None:
    check_crash(client, "charged", tmp_path)


@pytest.mark.long
def test_a_crash_at_any_step_loses_no_charge_of_what_has_left(client: ClientProcess, tmp_path: Path) -> None:
    assert {"charged", "sent"} <= set(client.hello.steps)
    for step in client.hello.steps:
        check_crash(client, step, tmp_path)


DAY_MS = 86_400_000
LINKED = {**SURVEY, "mechanism": {"kind": "rr-ldp", "f": 0.25, "p": 0.25, "q": 0.75}, "linked": "7d"}


@pytest.mark.parametrize(
    ("reason", "terms", "file", "records"),
    [
        ("too_many_values", {"budget": 100}, SURVEY, [RECORD, OTHER]),
        ("too_many_values", {"budget": 100, "values": 2}, SURVEY, [RECORD, OTHER, {**RECORD, "mobility": "none"}]),
        ("budget_exceeded", {"budget": 3.9}, SURVEY, [RECORD]),
        ("budget_exceeded", {"budget": 7.9, "values": 3}, SURVEY, [RECORD, OTHER]),
        ("budget_exceeded", {"budget": 11.9, "fresh": True}, SURVEY, [RECORD, RECORD, RECORD]),
        ("day_budget_exceeded", {"budget": 100, "per_day": 3.9}, SURVEY, [RECORD]),
        ("linking_refused", {"budget": 100}, LINKED, [RECORD]),
        ("bad_record", {"budget": 100}, SURVEY, [{"bathing": "sometimes-hidden", "mobility": "some"}]),
        ("bad_record", {"budget": 100}, SURVEY, [{"bathing": "no"}]),
        ("bad_record", {"budget": 100}, SURVEY, [{**RECORD, "smoking": "sometimes-hidden"}]),
    ],
)
def test_what_the_terms_do_not_allow_is_neither_charged_nor_sent(
    client: ClientProcess, reason: str, terms: dict[str, Any], file: dict[str, Any], records: list[dict[str, str]]
) -> None:
    collection = opened(client, file)
    user = new_user(client, **terms)
    *allowed, refused = records
    for record in allowed:
        assert client.report(collection.name, user, record, time_ms=TIME_MS).reports == 1
    before = client.spent(user)
    with pytest.raises(ClientRefused) as refusal:
        client.report(collection.name, user, refused, time_ms=TIME_MS)
    assert refusal.value.reason == reason
    assert "sometimes-hidden" not in refusal.value.detail
    assert SECRET.hex() not in refusal.value.detail
    assert client.spent(user) == before


def test_the_budget_of_a_day_begins_anew_the_next(client: ClientProcess) -> None:
    collection = opened(client, SURVEY)
    user = new_user(client, budget=100, per_day=4.1, fresh=True)
    assert client.report(collection.name, user, RECORD, time_ms=TIME_MS).reports == 1
    with pytest.raises(ClientRefused, match="day_budget_exceeded"):
        client.report(collection.name, user, RECORD, time_ms=TIME_MS)
    assert client.report(collection.name, user, RECORD, time_ms=TIME_MS + DAY_MS).reports == 1


def test_days_that_follow_each_other_have_a_budget_whenever_they_begin(client: ClientProcess) -> None:
    collection = opened(client, SURVEY)
    user = new_user(client, budget=100, per_span=8.1, span_days=7, fresh=True)
    # Of days: a clock that is set back finds what lies ahead of it.
    for day, reports in ((0, 1), (3, 1), (6, 0), (2, 0), (7.5, 1), (9, 0)):
        time_ms = TIME_MS + int(day * DAY_MS)
        if reports:
            assert client.report(collection.name, user, RECORD, time_ms=time_ms).reports == 1
            continue
        with pytest.raises(ClientRefused, match="span_budget_exceeded"):
            client.report(collection.name, user, RECORD, time_ms=time_ms)


def test_budgets_that_are_as_large_as_the_costs_cover_them_and_repeated_answers(client: ClientProcess) -> None:
    collection = opened(client, SURVEY)
    for fresh, nats in ((False, 4), (True, 8)):
        user = new_user(client, budget=nats, per_day=nats, per_span=nats, span_days=7, fresh=fresh)
        for _ in range(2):
            assert client.report(collection.name, user, RECORD, time_ms=TIME_MS).reports == 1
        assert client.spent(user) == nats
    with pytest.raises(ClientRefused, match="budget_exceeded"):
        client.report(collection.name, user, RECORD, time_ms=TIME_MS)


def turning(client: ClientProcess, vector: Mapping[str, Any]) -> tuple[Collection, dict[str, Any]]:
    """Give a client the collection of a vector whose users take turns; return what a user of it may hold, too."""
    files = json.loads((GOLDEN / "collections.json").read_text(encoding="utf-8"))
    file = {**(vector.get("file") or files[vector["collection"]]), "rotate": vector["rotate"]}
    if "epochs" in vector:
        file["epochs"] = vector["epochs"]
    collection = opened(client, file, name="views" if "ask" in file["mechanism"] else "")
    assert collection.fingerprint.hex() == vector["fingerprint"]
    held = {"items": []} if "items" in file else dict(specified(collection, file).held()[0])
    return collection, held


@pytest.mark.parametrize("place", range(len(vectors("turns"))))
def test_users_report_in_their_turns_alone_whatever_the_clock_says(client: ClientProcess, place: int) -> None:
    vector = vectors("turns")[place]
    collection, held = turning(client, vector)
    turn_ms, w_ms = vector["turn_ms"], vector["rotate"] * vector["turn_ms"]
    for each in vector["asked"][-3:]:
        user = new_user(client, secret=bytes.fromhex(vector["secret"]), **EVERYTHING)
        time_ms = each["number"] * turn_ms + 1
        reported = client.report(collection.name, user, held, time_ms=time_ms)
        # Which phases of an epoch ask depends on the user, too.
        assert (reported.reports == 1) is each["asks"] or ("items" in held and not reported.reports)
        if not reported.reports:
            continue
        # The same turn again, the one before, by a clock that is set back, and the last that is not the user's.
        for later_ms in (0, -w_ms, w_ms - turn_ms):
            assert client.report(collection.name, user, held, time_ms=time_ms + later_ms).reports == 0
        again = client.report(collection.name, user, held, time_ms=time_ms + w_ms)
        assert again.reports == 1 or "items" in held


def test_a_ledger_that_is_missing_damaged_there_or_another_user_s_stops_the_client(
    client: ClientProcess, tmp_path: Path
) -> None:
    path = tmp_path / "ada"
    with pytest.raises(ClientRefused, match="bad_ledger"):
        client.user("ada", secret=SECRET, path=path)
    client.user("ada", secret=SECRET, path=path, terms={"budget": 4})
    with pytest.raises(ClientRefused, match="bad_ledger"):
        client.user("ada", secret=SECRET, path=path, terms={"budget": 4})
    with pytest.raises(ClientRefused, match="bad_ledger"):
        client.user("bob", secret=bytes(32), path=path)
    files = [each for each in tmp_path.iterdir() if each.is_file() and each.stat().st_size]
    assert files
    for file in files:
        assert not file.stat().st_mode & 0o077
    for file in files:
        file.write_bytes(file.read_bytes().replace(b"4", b"9"))
    with pytest.raises(ClientRefused, match="bad_ledger") as refusal:
        client.user("ada", secret=SECRET, path=path)
    assert SECRET.hex() not in refusal.value.detail


#: Terms with a budget of some days, without their number.
HALF = {"budget": 4, "per_span": 1}


def test_terms_that_make_no_sense_begin_no_ledger(client: ClientProcess, tmp_path: Path) -> None:
    for number, terms in enumerate([{"budget": -1}, {"budget": 4, "per_day": 0}, {"budget": 4, "values": 0}, HALF]):
        with pytest.raises(ClientRefused):
            client.user("ada", secret=SECRET, path=tmp_path / str(number), terms=terms)
    assert not [each for each in tmp_path.iterdir() if not each.name.startswith(".")]


#: Where the parameters of the first randomizer are in a meaning; the last of them is its chance to say the truth.
PARAMETERS = {"sampled": (3, 0, -1), "strings": (4, 0, 1), "places": (3, 0, -1), "pairs": (5,)}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_meaning_that_costs_more_than_the_file_says_or_is_another_s_is_refused(
    client: ClientProcess, name: str
) -> None:
    vector = vectors(name)[0]
    collection = opened(client, vector["file"], name=name)
    text = json.dumps(vector["file"])
    meaning = json.loads(collection.meaning)
    renamed = ["another", *meaning[1:]]
    with pytest.raises(ClientRefused, match="bad_collection"):
        client.collection(text, document=collection.document, meaning=canonical(renamed))
    parameters = meaning
    for place in PARAMETERS[name]:
        parameters = parameters[place]
    parameters[-1] = WHOLE - 1
    with pytest.raises(ClientRefused, match="bad_collection"):
        client.collection(text, document=collection.document, meaning=canonical(meaning))
