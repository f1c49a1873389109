"""Run a command against a broker, under the prefix of a test."""

from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.kafka.settings import Settings


def run(settings: Settings, *words: object) -> Result:
    flags = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]
    return CliRunner().invoke(app, [*map(str, words), *flags], env={"COLUMNS": "200"})
