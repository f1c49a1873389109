"""Import what a worker imports until it is ready, for the process from which tests fork their workers."""

import faust.app
import faust.assignor.partition_assignor
import faust.tables.objects
import faust.topics
import faust.worker  # noqa: F401

import stream_ldp.cli.worker  # noqa: F401
from stream_ldp.kinds import load_solver, parse_collection
from tests.service.harness import SURVEY

# What collections of other kinds need, workers import by themselves.
load_solver(parse_collection(SURVEY.format(name="survey")))
