"""An answer as the worker that solves the next window reads it from the log."""

from typing import TypeVar

from stream_ldp.pipeline.answer import Answer

AnswerT = TypeVar("AnswerT", bound=Answer)


def read_back(answer: AnswerT) -> AnswerT:
    """Write an answer to a record, and read it again with what it leaves to the next one."""
    return type(answer).from_record(answer.to_bytes(), answer.headers)
