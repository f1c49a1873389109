"""Labels say what people read in place of values, and are of values that the collection has."""

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.collection.labels import MAX_LABELS, codes_of, labels_of
from stream_ldp.kinds import parse_collection

SURVEY = """\
collection: care-survey
mechanism: {kind: k-rr, epsilon: 4}
attributes:
  - {name: bathing, values: [no, yes], missing: unknown}
  - {name: mobility, values: [none, some, full]}
window: {size: 10s}
estimates:
  - {name: both, of: [bathing, mobility]}
"""
FILMS = """\
collection: films
mechanism: {kind: svim, epsilon: 2, k: 4}
items: {size: 32}
window: {size: 60s}
"""


def problem(labels: str, *, of: str = SURVEY) -> str:
    """Return what is said of labels that are wrong, with their place."""
    with pytest.raises(CollectionError) as raised:
        parse_collection(f"{of}labels: {labels}\n", source="survey.yaml")
    return str(raised.value)


def test_labels_change_neither_the_meaning_of_a_report_nor_the_fingerprint() -> None:
    plain, labelled = (
        parse_collection(SURVEY + more) for more in ("", "labels: {bathing: {no: Alone, yes: With help}}\n")
    )
    assert labelled.labels == {"bathing": {"no": "Alone", "yes": "With help"}}
    assert plain.labels == {}
    assert labelled.fingerprint == plain.fingerprint
    assert "Alone" not in labelled.meaning
    assert "labels" not in plain.document


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("{bath: {no: Alone}}", "'bath' has no values that could have labels; did you mean 'bathing'?"),
        ("{bathing: {unkown: Alone}}", "'unkown' is no value of 'bathing'; did you mean 'unknown'?"),
        (
            "{bathing: {no: Same, yes: Same}}",
            "'Same' would stand for 'no' and for 'yes': give",
        ),
        (
            "{bathing: {no: unknown}}",
            "'unknown' would stand for 'unknown' and for 'no': give",
        ),
        ('{bathing: {no: ""}}', "labels.bathing.no"),
        ('{bathing: {no: "a\\u202eb"}}', "labels.bathing.no"),
        (f"{{bathing: {{no: {'a' * 201}}}}}", "labels.bathing.no"),
        ("{bathing: {no: [a, b]}}", "labels.bathing.no"),
        ("[bathing]", "labels"),
    ],
)
def test_labels_are_checked_like_values_and_wrong_ones_are_located(labels: str, said: str) -> None:
    found = problem(labels)
    assert said in found
    assert found.startswith("survey.yaml:9:")


def test_labels_of_numbered_items_are_of_their_numbers() -> None:
    assert parse_collection(f"{FILMS}labels: {{item: {{7: Alien}}}}\n").labels == {"item": {"7": "Alien"}}
    assert "'32' is no value of 'item'" in problem("{item: {32: Alien}}", of=FILMS)
    assert "'07' is no value of 'item'" in problem("{item: {07: Alien}}", of=FILMS)
    many = ", ".join(f"{number}: film {number}" for number in range(MAX_LABELS + 1))
    assert f"at most {MAX_LABELS:,} values" in problem(f"{{item: {{{many}}}}}", of=FILMS.replace("32", "4096"))


def test_values_that_read_as_each_other_lead_back_to_themselves() -> None:
    labels = parse_collection(f"{SURVEY}labels: {{bathing: {{no: yes, yes: no}}}}\n").labels
    read = labels_of(labels, "bathing", ("no", "yes", "unknown"))
    assert read == ("yes", "no", "unknown")
    assert labels_of(codes_of(labels), "bathing", read) == ("no", "yes", "unknown")
