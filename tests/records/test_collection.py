"""Tests of files of JointCollection: which are refused, where the fault is located, what the fingerprint covers."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_ldp.collection.collection import MAX_BITS, MAX_PANES
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.printable import printable
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from tests.paths import GOLDEN
from tests.profiles import examples
from tests.records.examples import TEXT, problems_of

NOT_A_DURATION = "is not a duration; write a whole number and a unit, such as 500ms, 60s, 5m, 2h or 1d"
NAMES = "use at most 63 lower-case letters, digits, - and _, with a letter or digit at both ends"


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        # Not YAML, or no keys.
        (TEXT, "", "1:1: expected keys such as `collection:` and `window:`"),
        (TEXT, "# nothing yet\n", "1:1: expected keys such as `collection:` and `window:`"),
        (TEXT, "survey", "1:1: expected keys such as `collection:` and `window:`"),
        (TEXT, "\n- survey\n", "2:1: expected keys such as `collection:` and `window:`"),
        ("  - {name: both", "\t- {name: both", r"8:1: not YAML: found character '\t' that cannot start any token"),
        ("[no, yes]", "[no, yes", "4:37: not YAML: expected ',' or ']', but got '}'"),
        ("window:", "[window]:", "6:1: not YAML: found unhashable key"),
        # Keys: missing, misspelt, twice.
        ("name: bathing, ", "", "4:5: attributes.0.name: this key is required"),
        ("f: 0.25", "f: 0.25, r: 1", "2:36: mechanism.r: unknown key"),
        ("estimates:", "estimate: []\nestimates:", "7:1: estimate: unknown key"),
        # Names and values.
        ("survey", "a" * 64, f"1:13: collection: {NAMES}"),
        ("name: both", "name: both/2", f"8:12: estimates.0.name: {NAMES}"),
        ("[no, yes]", "no", "4:29: attributes.0.values: expected a list, such as [no, ...]"),
        (
            "estimates:\n",
            "estimates: all\n# ",
            "7:12: estimates: expected a list, each with keys such as `name:` and `of:`",
        ),
        ("[no, yes]", "[no]", "4:29: attributes.0.values: at least 2 needed"),
        ("[no, yes]", "[[no], yes]", "4:30: attributes.0.values.0: expected text"),
        ("[no, yes]", '["", yes]', "4:30: attributes.0.values.0: String should have at least 1 character"),
        (
            "[no, yes]",
            '["a\\tb", yes]',
            "4:30: attributes.0.values.0: control characters, such as a tab or a new line",
        ),
        *(
            (
                "[no, yes]",
                f'["a\\U{ord(each):08x}b", yes]',
                "4:30: attributes.0.values.0: control characters, such as",
            )
            for each in "\x7f\x9b\xad\u061c\u200b\u200d\u200f\u2028\u202e\u2060\u2066\u2069\ufeff"
            "\ufe0f\u3164\u115f\u1160\uffa0\xa0\u3000\u2800\U000e0041\U000e0100"
        ),
        ("[no, yes]", f"[no, {'x' * 201}]", "4:34: attributes.0.values.1: String should have at most 200 characters"),
        ("[no, yes]", "[no, yes, no]", "4:39: attributes.0.values.2: values of attribute 'bathing' must be distinct"),
        ("name: mobility", "name: bathing", "5:12: attributes.1.name: attribute names must be distinct"),
        ("- {name: both", "- {name: both, of: [bathing]}\n  - {name: both", "9:12: estimates.1.name: estimate names"),
        # The mechanism.
        (
            "{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}",
            "rr-ldp",
            "2:12: mechanism: expected keys such as `kind:` and `f:`",
        ),
        (
            "rr-ldp",
            "rappor",
            "2:19: mechanism.kind: expected one of 'rr-ldp', 'k-rr', 'k-subset', 'hashed-k-rr', got 'rappor'",
        ),
        ("f: 0.25", "f: high", "2:30: mechanism.f: 'high' is not a number"),
        ("f: 0.25", "f: 0", "2:30: mechanism.f: f must be between 0 (no privacy) and 1 (no information)"),
        ("f: 0.25", "f: nan", "2:30: mechanism.f: f must be between 0 (no privacy) and 1 (no information)"),
        ("f: 0.25", "f: 1e-12", "2:30: mechanism.f: f must be between 0 (no privacy) and 1 (no information)"),
        (", q: 0.75", "", "2:39: mechanism.p: p and q belong together: give both, or neither"),
        ("p: 0.25", "p: 0.8", "2:39: mechanism.p: p (chance to send 1 for a 0) must be below q (for a 1)"),
        ("q: 0.75", "q: 1.5", "2:48: mechanism.q: q is a probability, from 0 to 1, got 1.5"),
        ("p: 0.25, q: 0.75", "q: 0.75", "2:39: mechanism.q: p and q belong together: give both, or neither"),
        (
            "rr-ldp, f: 0.25, p: 0.25, q: 0.75",
            "k-rr, epsilon: 40",
            "2:34: mechanism.epsilon: epsilon=40.0 is beyond the resolution of 2^-32 with 2 values",
        ),
        # Windows.
        ("60s", "9" * 4_301 + "d", "6:16: window.size: '" + "9" * 40 + "' is too long; at most 36600d"),
        ("60s", "٣s", f"6:16: window.size: '٣s' {NOT_A_DURATION}"),
        ("size: 60s", "size: 60s, hop: 7s", "6:26: window.hop: size must be a whole multiple of hop"),
        ("size: 60s", "size: 1d, hop: 1ms", f"6:25: window.hop: size is 86,400,000 times hop; at most {MAX_PANES:,}"),
        # The sample.
        ("window:", "sample: 1.5\nwindow:", "6:9: sample: it should be less than or equal to 1"),
        ("window:", "sample: few\nwindow:", "6:9: sample: 'few' is not a number"),
        # Estimates.
        ("mobility]", "mobilty]", "8:32: estimates.0.of.1: 'mobilty' is not an attribute; did you mean 'mobility'?"),
        ("mobility]", "bathing]", "8:32: estimates.0.of.1: attributes of estimate 'both' must be distinct"),
        ("[bathing, mobility]", "[]", "8:22: estimates.0.of: at least 1 needed"),
        (
            "mobility]",
            "mobility], method: magic",
            "8:51: estimates.0.method: expected 'em', 'lasso' or 'lremh', got 'magic'",
        ),
        ("mobility]", "mobility], delta: inf", "8:50: estimates.0.delta: it should be a finite number"),
        ("mobility]", "mobility], every: soon", f"8:50: estimates.0.every: 'soon' {NOT_A_DURATION}"),
    ],
)
def test_every_problem_is_found_and_located(right: str, wrong: str, problem: str) -> None:
    assert right in TEXT
    found = problems_of(TEXT.replace(right, wrong, 1))
    assert len(found) == 1, "one mistake, one problem"
    assert found[0].startswith(f"survey.yaml:{problem}")


def test_too_large_an_estimate_or_report_is_refused() -> None:
    values = f"[{', '.join(map(str, range(400)))}]"
    cells = TEXT.replace("[no, yes]", values).replace("[none, some, full]", values)
    assert problems_of(cells) == ["survey.yaml:8:22: estimates.0.of: 160,000 cells; at most 131,072 can be solved"]
    document = yaml.safe_load(TEXT)
    document["attributes"][0]["values"] = [str(value) for value in range(MAX_BITS)]
    document["estimates"][0]["of"] = ["mobility"]
    with pytest.raises(ValueError, match=f"{MAX_BITS + 3:,} values in all; at most {MAX_BITS:,} fit a report"):
        JointCollection.model_validate(document | {"window": {"size": 60_000}})


labels = st.text(
    st.characters(exclude_categories=["C"]).filter(lambda each: printable(each) == each), min_size=1, max_size=8
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(labels, min_size=1, max_size=3, unique=True))
    p, q = sorted(draw(st.lists(st.integers(1, 2**32 - 1), min_size=2, max_size=2, unique=True)))
    return {
        "collection": draw(st.from_regex(r"[a-z][a-z0-9_-]{0,5}[a-z0-9]", fullmatch=True)),
        "mechanism": {
            "kind": "rr-ldp",
            "f": draw(st.integers(1, 2**31 - 2)) / 2**31,
            "p": p / 2**32,
            "q": q / 2**32,
        },
        "attributes": [
            {"name": name, "values": draw(st.lists(labels, min_size=2, max_size=4, unique=True))} for name in names
        ],
        "window": {"size": "60s"},
        "estimates": [{"name": "one", "of": [names[0]]}],
    }


def fingerprint(document: dict[str, Any]) -> bytes:
    return JointCollection.parse(yaml.safe_dump(document, allow_unicode=True)).fingerprint


@settings(deadline=None)
@given(documents(), st.sampled_from(["60s", "1m", "90s, hop: 30s"]), st.data())
def test_windows_and_estimates_do_not_change_the_fingerprint(
    document: dict[str, Any], size: str, data: st.DataObject
) -> None:
    before = fingerprint(document)
    window = {"size": "120s", "hop": "30s", "grace": "1s", "idle_timeout": "never", "memory": 0.5, "max_age": "2d"}
    document["window"] |= {key: window[key] for key in data.draw(st.sets(st.sampled_from(sorted(window))))}
    if "hop" in document["window"]:
        document["window"]["size"] = "120s"
    document["estimates"] = [
        {"name": "other", "of": [attribute["name"] for attribute in document["attributes"]], "method": "em"}
    ]
    assert fingerprint(document) == before


@pytest.mark.parametrize(
    "what", ["name", "f", "p", "q", "no IRR", "attribute", "attributes", "value", "values", "order of values"]
)
@settings(deadline=None, max_examples=examples(20, quick=5))
@given(document=documents())
def test_reports_of_different_meaning_have_different_fingerprints(document: dict[str, Any], what: str) -> None:
    before = fingerprint(document)
    attribute = document["attributes"][-1]
    unused = "".join(each["name"] for each in document["attributes"]) + "2"
    values, mechanism = attribute["values"], document["mechanism"]
    if what == "name":
        document["collection"] += "2"
    # The next threshold: the smallest other meaning that there is.
    elif what == "f":
        mechanism["f"] += 2**-31
    elif what == "p":
        mechanism["p"] -= 2**-32
    elif what == "q":
        mechanism["q"] += 2**-32
    elif what == "no IRR":
        del mechanism["p"], mechanism["q"]
    elif what == "attribute":
        attribute["name"] = unused
        document["estimates"] = [{"name": "one", "of": [unused]}]
    elif what == "attributes":
        document["attributes"].append({"name": unused, "values": ["a", "b"]})
    elif what == "value":
        values[0] = "".join(values) + "2"
    elif what == "values":
        values.append("".join(values) + "2")
    else:
        values.reverse()
    assert fingerprint(document) != before


@pytest.mark.parametrize("spelling", ["0.25", ".25", "0.250", "25e-2", "2.5E-1", "0.2500000000001"])
def test_the_spelling_of_a_number_does_not_change_the_fingerprint(spelling: str) -> None:
    """The last one is within half of 2^-32 of the others: the same thresholds, the same reports."""
    text = TEXT.replace("0.25", spelling)
    assert JointCollection.parse(text).fingerprint == JointCollection.parse(TEXT).fingerprint


def test_attributes_in_another_order_have_another_fingerprint() -> None:
    first, second = TEXT.splitlines()[3:5]
    swapped = TEXT.replace(f"{first}\n{second}", f"{second}\n{first}")
    assert JointCollection.parse(swapped).fingerprint != JointCollection.parse(TEXT).fingerprint


SURVEY = JointCollection.parse(TEXT)


def test_a_record_is_encoded_in_the_order_of_the_attributes() -> None:
    assert SURVEY.encode({"mobility": "full", "bathing": "no"}) == (0, 2)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"bathing": "no"}, "attribute 'mobility' is missing"),
        (
            {"bathing": "no", "mobilty": "none"},
            "'mobilty' is not an attribute of collection 'survey'; did you mean 'mobility'?",
        ),
        (
            {"bathing": "no", "mobility": "SECRET"},
            "attribute 'mobility': the given value is not one of none, some, full",
        ),
    ],
)
def test_a_record_that_does_not_fit_the_attributes_is_refused(record: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        SURVEY.encode(record)


@settings(deadline=None)
@given(st.text(min_size=1).filter(lambda value: value not in "attribute 'mobility': the given value is not one of"))
def test_a_refused_value_is_not_repeated_in_the_error(value: str) -> None:
    """Errors in its chain do not repeat the value either, since a traceback prints them too."""
    with pytest.raises(ValueError, match="mobility") as caught:
        SURVEY.encode({"bathing": "no", "mobility": f"<{value}>"})
    error: BaseException | None = caught.value
    while error is not None:
        assert f"<{value}>" not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize(
    ("of", "bits"), [(["bathing"], (0, 1)), (["mobility"], (2, 3, 4)), (["mobility", "bathing"], (2, 3, 4, 0, 1))]
)
def test_attributes_are_mapped_to_their_bits_in_the_order_asked(of: list[str], bits: tuple[int, ...]) -> None:
    assert SURVEY.bits_of(of) == bits


SECRETS = [number.to_bytes(32, "big") for number in range(20_000)]


def sampled(sample: float) -> JointCollection:
    return JointCollection.parse(f"{TEXT}sample: {sample}\n")


def test_a_sample_is_drawn_anew_in_each_pane_and_is_the_same_in_all_of_it() -> None:
    collection = sampled(0.1)
    first, same, second = (collection.asks(SECRETS, time_ms=time_ms) for time_ms in (0, 59_999, 60_000))
    assert (first == same).all()
    # Binomial with standard deviations 42 and 14; the secrets are fixed, so that this never changes.
    assert abs(first.sum() - 2_000) < 130
    assert abs((first & second).sum() - 200) < 45


def test_a_sample_of_all_asks_everybody_and_means_the_same_as_none() -> None:
    everybody, plain = sampled(1), JointCollection.parse(TEXT)
    assert everybody.fingerprint == plain.fingerprint
    for collection in (everybody, plain):
        assert collection.asks(SECRETS[:100], time_ms=0).all()
        assert collection.asks_some(100, entropy=SeededEntropy(1)).all()


def test_users_without_a_secret_are_drawn_with_the_same_chance() -> None:
    # Binomial with standard deviation 42; seeded.
    assert abs(sampled(0.1).asks_some(20_000, entropy=SeededEntropy(1)).sum() - 2_000) < 130


def test_a_sample_changes_the_fingerprint_with_the_pane_in_which_it_is_drawn() -> None:
    texts = [TEXT, *(f"{TEXT}sample: {share}\n" for share in (0.5, 0.25))]
    texts.append(texts[-1].replace("size: 60s", "size: 60s, hop: 20s"))
    assert len({JointCollection.parse(text).fingerprint for text in texts}) == 4


LINKED = f"{TEXT}linked: 7d\n"


def test_a_linked_collection_has_the_fingerprint_and_the_batches_of_the_specification() -> None:
    golden = json.loads((GOLDEN / "linked.json").read_text())
    survey = (GOLDEN / "care-survey.yaml").read_text()
    collection = JointCollection.parse(f"{survey}linked: 7d\n")
    assert collection.linked_ms == golden["linked"]
    assert collection.fingerprint.hex() == golden["fingerprint"]
    batch = golden["batch"]
    secret = bytes.fromhex(golden["secret"])
    (pseudonym,) = collection.pseudonyms(1, secrets=[secret], time_ms=batch["time_ms"], entropy=SeededEntropy(1))
    report = np.packbits([int(bit) for bit in batch["report"]], bitorder="little")
    encoded = wire.encode(
        wire.Batch(
            fingerprint=collection.fingerprint,
            batch_id=bytes.fromhex(batch["batch_id"]),
            time_ms=batch["time_ms"],
            rows=np.concatenate([pseudonym, report])[None],
        )
    )
    assert encoded.hex() == batch["bytes"]
    decoded = wire.decode([encoded], formats={collection.fingerprint: JointLayout(collection)})
    assert not decoded.rejected


def test_a_period_changes_the_fingerprint_and_none_leaves_it() -> None:
    texts = [TEXT, LINKED, LINKED.replace("7d", "1d"), f"{LINKED}sample: 0.5\n"]
    assert len({JointCollection.parse(text).fingerprint for text in texts}) == 4
    assert (
        JointCollection.parse(LINKED.replace("7d", "168h")).fingerprint == JointCollection.parse(LINKED).fingerprint
    )


def test_an_answer_of_a_linked_collection_is_made_of_its_period_until_then() -> None:
    collection = JointCollection.parse(f"{TEXT}linked: 5m\n")
    assert collection.most_windows == 5
    assert collection.windows_before(300_000) == ()
    assert collection.windows_before(480_000) == ((1.0, 420_000), (1.0, 360_000), (1.0, 300_000))
    assert collection.windows_before(-60_000) == ((1.0, -120_000), (1.0, -180_000), (1.0, -240_000), (1.0, -300_000))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("linked: 7d", "linked: 90s", "linked: a period is a whole number of windows of 60000 ms, got 90000 ms"),
        ("size: 60s", "size: 60s, hop: 20s", "linked needs windows without reports in common"),
        ("size: 60s", "size: 60s, memory: 0.5", "linked needs windows without reports in common"),
        ("linked: 7d", "linked: 7d\nsynthesis: {records: 5, stop: paper}", "linked needs stop certificate"),
        ("linked: 7d", "linked: 30d", "43,200 windows a period; at most 10,080"),
        ("p: 0.25, q: 0.75", "", "linked needs rr-ldp with p and q"),
        ("{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", "{kind: k-rr, epsilon: 2}", "linked needs rr-ldp with p and q"),
        (
            "{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}",
            "{kind: k-rr, epsilon: 2, per_report: 1}",
            "linked needs rr-ldp with p and q",
        ),
        ("mobility]}", "mobility], method: lasso}", "linked needs method em or lremh, and stop certificate"),
        ("mobility]}", "mobility], stop: paper}", "linked needs method em or lremh, and stop certificate"),
        ("mobility]}", "mobility], prior: temporal}", "leave temporal out"),
        ("60s", "60s, returning: 0.5", "window.returning: of linked reports, the users are counted: leave it out"),
        ("60s", "60s, reports_per_user: 2", "window.reports_per_user: of linked reports, the users are counted"),
        ("linked: 7d", "linked: yes", "linked"),
    ],
)
def test_what_cannot_be_linked_is_refused_and_says_why(old: str, new: str, problem: str) -> None:
    (told,) = problems_of(LINKED.replace(old, new))
    assert problem in told


def test_pseudonyms_last_for_a_period_and_are_none_where_nothing_is_linked() -> None:
    linked, plain = JointCollection.parse(LINKED), JointCollection.parse(TEXT)
    week_ms, entropy = 7 * 24 * 3_600_000, SeededEntropy(1)
    first, same, next_week = (
        linked.pseudonyms(100, secrets=SECRETS[:100], time_ms=time_ms, entropy=entropy)
        for time_ms in (0, week_ms - 1, week_ms)
    )
    assert (first == same).all()
    assert (first != next_week).any(axis=1).all()
    assert plain.pseudonyms(100, secrets=SECRETS[:100], time_ms=0, entropy=entropy).shape == (100, 0)
    assert linked.bits == plain.bits + 64
    assert plain.linking is None
    assert linked.linking is not None
    assert "the same pseudonym for 7d" in linked.linking
