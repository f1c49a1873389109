"""Import what a worker imports, for the process from which tests fork their workers."""

import stream_ldp.cli.worker  # noqa: F401
from stream_ldp.kinds import parse_collection
from tests.service.harness import SURVEY

# The rest is imported where a collection of its kind is read.
parse_collection(SURVEY.format(name="survey"))
