"""The answers of every kind: cells with errors, one text, and bytes that are read as they were written."""

import json
import re
from typing import Any

import pytest

from stream_ldp.cli.displays.answer_text import AnswerText
from stream_ldp.cli.displays.display import Display
from stream_ldp.client.answers import fetch_answers
from stream_ldp.client.errors import UnreadableAnswer
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.pipeline.answer import final_of
from stream_ldp.pipeline.content_type import CONTENT_TYPE, content_type_of
from stream_ldp.pipeline.kind import Kind
from stream_ldp.pipeline.solver_state import HEADER
from stream_ldp.testing import KafkaInMemory
from tests.cli.displays.examples import shown
from tests.kinds.subjects import Subject
from tests.kinds.users import play
from tests.read_back import read_back

USERS = 300


@pytest.fixture
async def answers(memory: KafkaInMemory, collection: Any, subject: Subject) -> list[Any]:
    return await play(memory, collection, subject.users(USERS))


@pytest.fixture
def final(answers: list[Any]) -> Any:
    return answers[-1]


def test_an_answer_is_read_as_it_was_written(answers: list[Any], collection: Any, kind: Kind[Any, Any, Any]) -> None:
    for answer in answers:
        assert type(answer) is kind.answer
        assert read_back(answer) == answer
        assert (answer.collection, answer.fingerprint) == (collection.name, collection.fingerprint.hex())
        assert final_of(answer.key) == (answer.series, answer.window.start_ms)
        provisional = answer.model_copy(update={"final": False})
        assert provisional.key == f"{answer.series}|live".encode()
        assert final_of(provisional.key) is None
        assert answer.headers[0] == provisional.headers[0] == content_type_of(kind.answer)[0]


def told(answer: Any) -> Any:
    """Return what an answer says to its readers."""
    return type(answer).from_bytes(answer.to_bytes())


def test_what_only_a_solver_reads_is_in_a_header_and_not_in_the_text(answers: list[Any]) -> None:
    states = {name: value for answer in answers for name, value in answer.headers if name == HEADER}
    left = {place.rpartition("/")[2]: part for value in states.values() for place, part in json.loads(value).items()}
    assert set(left) <= {"filter", "views", "earlier"}
    for answer in answers:
        assert not {f'"{word}"' for word in ("filter", "evidence", "earlier", "permanent")} & set(
            re.findall('"[a-z]+"', answer.to_bytes().decode())
        )
        # Nested lists of another depth for each estimate fit no column.
        assert all(
            not isinstance(each, list)
            for name in ("probability", "standard_error")
            for each in json.loads(answer.to_bytes()).get(name, [])
        )


def test_a_final_that_a_tool_has_copied_without_headers_is_one_that_leaves_nothing(final: Any) -> None:
    copied = type(final).from_record(final.to_bytes(), ())
    assert copied == told(final)
    assert [name for name, _ in copied.headers] == [CONTENT_TYPE]


def test_bytes_that_are_no_answer_are_refused(final: Any, kind: Kind[Any, Any, Any]) -> None:
    document = json.loads(final.to_bytes())
    for wrong in (
        b"",
        b"{}",
        b"[" * 100_000,
        final.to_bytes()[:-1],
        *(json.dumps(document | each).encode() for each in ({"schema_version": 2}, {"reports": -1})),
    ):
        with pytest.raises(ValueError, match="validation error"):
            kind.answer.from_bytes(wrong)


def test_cells_have_names_of_their_own_and_errors_to_trust_them_by(final: Any, subject: Subject) -> None:
    cells = [cell for cell in final.cells() if cell.names]
    assert len({cell.key for cell in cells}) == len(cells)
    assert {key for target, key in subject.truth} <= {cell.key for cell in cells}
    for cell in cells:
        low, high = cell.interval() or (cell.range[0], cell.range[1])
        assert cell.range[0] <= low <= high <= cell.range[1]
        assert cell.labels


def test_a_silence_is_a_line_and_an_answer_without_numbers(final: Any, kind: Kind[Any, Any, Any]) -> None:
    silent = kind.answer.from_bytes(final.without_reports(until_ms=final.window.end_ms + 10_000).to_bytes())
    assert AnswerText.of(silent).line() == f"{silent.window} {final.series} no-reports"
    assert silent.window.end_ms == final.window.end_ms + 10_000


def test_a_line_and_a_panel_have_the_numbers_beside_the_truth(final: Any, subject: Subject) -> None:
    truth = {key: share for (target, key), share in subject.truth.items() if target == final.target}
    line = AnswerText.of(final, truth=truth).line()
    assert line.startswith(f"{final.window} {final.series} final reports={final.reports} plausible=")
    panel = shown(AnswerText.of(final, truth=truth).panel(), width=2_000)
    for (group, names), share in truth.items():
        words = ",".join([*([group] if group else []), *names])
        beside = re.search(rf" {words}=[^ (]+\(([0-9.]+)\)", f" {line}")
        assert beside is not None, line
        assert float(beside[1]) == pytest.approx(final.look.scale * share, rel=0.01)
        assert all(name in panel for name in names)
    judged = final.judgement()
    assert all(sentence in panel for sentence in (*judged.evidence, *judged.previous, *judged.privacy))
    assert "truth" in panel
    assert "truth" not in shown(AnswerText.of(final).panel(), width=2_000)
    measured = {f"{name}={measure}" for name, measure in final.score(truth).items()}
    assert measured <= set(line.split())


def test_json_is_the_message_with_the_truth_of_each_cell(final: Any, subject: Subject) -> None:
    truth = {key: share for (target, key), share in subject.truth.items() if target == final.target}
    display: Display[Any] = Display(lambda _: truth)
    document = json.loads(display.json(final))
    assert json.loads(final.to_bytes()).items() <= document.items()
    for (group, names), share in truth.items():
        compared = document["truth"][group] if group else document["truth"]
        assert compared[", ".join(names)] == pytest.approx(final.look.scale * share)
    assert json.loads(Display[Any]().json(final)) == json.loads(final.to_bytes())


async def test_a_subscriber_receives_what_is_published_and_names_what_it_cannot_read(
    memory: KafkaInMemory, collection: Any, kind: Kind[Any, Any, Any], answers: list[Any]
) -> None:
    memory.broker.put(memory.settings.topic_names.answers(collection), b"{}")
    options: dict[str, Any] = {"settings": memory.settings, "from_beginning": True, "follow": False}
    async with Subscriber(collection.name, kind.answer, **options) as subscriber:
        assert [await anext(subscriber) for _ in answers] == [told(answer) for answer in answers]
        with pytest.raises(UnreadableAnswer, match=f"not an answer \\({kind.answer.__name__}\\)"):
            await anext(subscriber)
        with pytest.raises(StopAsyncIteration):
            await anext(subscriber)


async def test_the_newest_answers_are_fetched_as_a_table(memory: KafkaInMemory, collection: Any, final: Any) -> None:
    fetched = await fetch_answers(collection.name, settings=memory.settings)
    assert list(fetched) == [told(final)]
    table = fetched.table().to_pandas()
    cells = list(final.cells())
    assert table["estimate"].tolist() == pytest.approx([cell.estimate for cell in cells])
    assert set(table["window_start"]) == {table["window_start"][0]}
    assert set(cells[0].labels) <= set(table.columns)
    nobody = await fetch_answers(collection, settings=memory.settings, series=["another"])
    assert len(nobody) == 0
