"""Import what a worker imports until it is ready, in its order, for the process from which tests fork workers."""

# ruff: noqa: F401, I001  the order decides which logger a part of the worker has
import stream_ldp.cli.worker
import faust.app
import faust.assignor.partition_assignor
import faust.tables.objects
import faust.topics
import faust.worker
from stream_ldp.kinds import load_solver, parse_collection
from tests.service.harness import SURVEY

# What collections of other kinds need, workers import by themselves.
load_solver(parse_collection(SURVEY.format(name="survey")))
