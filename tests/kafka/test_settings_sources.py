"""Tests of the settings file and the environment: what is read there, and how a mistake is explained."""

from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import SettingsError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.yaml"


def test_a_misspelt_variable_is_refused_with_the_name_that_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAM_LDP_BROKRES", "kafka:9092")
    monkeypatch.setenv("stream_ldp_sasl_pasword", "geheim")
    monkeypatch.setenv("STREAM_LDP_ADMN_PORT", "1")
    monkeypatch.setenv("STREAM_LDP_Q", "1")
    with pytest.raises(SettingsError) as refused:
        Settings.load()
    lines = sorted(str(refused.value).splitlines())
    assert lines[:2] == [
        "STREAM_LDP_ADMN_PORT: there is no setting 'admn_port'; did you mean 'admin_port'?",
        "STREAM_LDP_BROKRES: there is no setting 'brokres'; did you mean 'brokers'?",
    ]
    assert lines[2].startswith("STREAM_LDP_Q: there is no setting 'q'; known are config, brokers, ")
    assert lines[3].endswith("did you mean 'sasl_password'?")
    assert "geheim" not in str(refused.value)


def test_variables_that_are_no_mistakes_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "STREAM_LDP_KAFKA_HOME": "/var/cache",
        "STREAM_LDP_REQUIRE_KAFKA": "1",
        "STREAM_LDP_BROKRES": "",
        # What Kubernetes sets for the services stream-ldp and stream-ldp-worker.
        "STREAM_LDP_SERVICE_HOST": "10.96.0.7",
        "STREAM_LDP_SERVICE_PORT": "9464",
        "STREAM_LDP_SERVICE_PORT_HTTP": "9464",
        "STREAM_LDP_PORT": "tcp://10.96.0.7:9464",
        "STREAM_LDP_PORT_9464_TCP": "tcp://10.96.0.7:9464",
        "STREAM_LDP_PORT_9464_TCP_PROTO": "tcp",
        "STREAM_LDP_WORKER_SERVICE_HOST": "10.96.0.8",
        "STREAM_LDP_WORKER_PORT": "tcp://10.96.0.8:9464",
    }.items():
        monkeypatch.setenv(name, value)
    assert Settings.load().brokers == "127.0.0.1:9092"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("admin_prot: 1", "/settings.yaml: admin_prot: there is no setting 'admin_prot'; did you mean 'admin_port'?"),
        ("brokers: [", "is not YAML"),
        ("- brokers", "holds no settings"),
        ("collection: care\nmechanism: {kind: k-rr}\n", "is a collection file, where one of settings is expected"),
        ("7: 8", "/settings.yaml: 7: there is no setting '7'; known are config, brokers"),
    ],
)
def test_a_mistake_in_the_file_is_explained(text: str, message: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError, match="^.*" + message.replace("?", r"\?")):
        Settings.load(config=file)


def test_a_file_that_this_user_may_not_read_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> str:
        raise PermissionError(13, "Permission denied")

    file.write_text("brokers: 127.0.0.1:9092\n")
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(SettingsError, match=r"^.*settings.yaml cannot be read: Permission denied$"):
        Settings.load(config=file)


def test_a_file_with_every_line_commented_out_leaves_the_defaults(file: Path) -> None:
    file.write_text("# brokers: 127.0.0.1:9092\n")
    assert Settings.load(config=file).brokers == "127.0.0.1:9092"


def test_the_list_of_all_settings_is_given_once_however_many_are_unknown(file: Path) -> None:
    file.write_text("zzz: 1\nyyy: 2\n")
    with pytest.raises(SettingsError) as refused:
        Settings.load(config=file)
    assert str(refused.value).count("known are") == 1
