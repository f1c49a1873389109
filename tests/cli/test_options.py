"""Settings as options of a command: what its user meets."""

import json
import logging
from typing import Annotated

import pytest
import typer
import yaml
from typer.testing import CliRunner

from stream_ldp.cli.failure import explained
from stream_ldp.cli.options import CLIENT, WORKER, with_settings
from stream_ldp.kafka.settings import SECRETS, Settings


class TestOptions:
    """Tests of a command with settings, as a user runs it."""

    @pytest.fixture
    def seen(self) -> list[tuple[int, Settings]]:
        return []

    @pytest.fixture
    def app(self, seen: list[tuple[int, Settings]]) -> typer.Typer:
        app = typer.Typer(pretty_exceptions_enable=False)

        @app.command()
        @explained()
        @with_settings(WORKER)
        def work(count: Annotated[int, typer.Argument(help="How often.")], *, settings: Settings) -> None:
            """Do it."""
            seen.append((count, settings))

        return app

    def test_a_command_gets_its_own_arguments_and_the_settings(
        self, app: typer.Typer, seen: list[tuple[int, Settings]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("STREAM_LDP_TOPIC_PREFIX", "environment")
        monkeypatch.setenv("STREAM_LDP_ADMIN_PORT", "1")
        result = CliRunner().invoke(app, ["7", "--admin-port", "2", "--security-protocol", "SSL", "--accept-loss"])
        assert result.exit_code == 0, result.output
        ((count, settings),) = seen
        assert (count, settings.topic_prefix, settings.admin_port) == (7, "environment", 2)
        assert (settings.security_protocol, settings.accept_loss) == ("SSL", True)

    def test_wrong_settings_end_the_command_with_2_and_no_traceback(
        self, app: typer.Typer, seen: list[tuple[int, Settings]]
    ) -> None:
        result = CliRunner().invoke(app, ["7", "--brokers", "nonsense"])
        assert result.exit_code == 2
        assert result.stderr == "brokers (--brokers, STREAM_LDP_BROKERS): 'nonsense' is not host:port\n"
        assert seen == []

    def test_wrong_settings_of_a_server_are_a_line_of_its_log(
        self, app: typer.Typer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(logging.getLogger(), "handlers", [])
        result = CliRunner().invoke(app, ["7", "--brokers", "nonsense"])
        assert result.exit_code == 2
        assert json.loads(result.stderr)["message"].endswith("'nonsense' is not host:port")

    def test_print_config_prints_and_does_nothing_else(
        self, app: typer.Typer, seen: list[tuple[int, Settings]]
    ) -> None:
        result = CliRunner().invoke(app, ["7", "--print-config", "--group", "g"])
        assert result.exit_code == 0
        assert yaml.safe_load(result.stdout)["group"] == "g"
        assert seen == []

    def test_help_names_every_option_and_its_default(self, app: typer.Typer) -> None:
        text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
        for name in WORKER:
            assert f"--{name.replace('_', '-')} " in text
        assert "127.0.0.1:9092" in text

    def test_a_password_cannot_be_given_where_other_users_can_read_it(self, app: typer.Typer) -> None:
        assert not {*WORKER, *CLIENT} & {*SECRETS}
        result = CliRunner().invoke(app, ["7", "--sasl-password", "geheim"])
        assert result.exit_code == 2
        assert "No such option" in result.output
