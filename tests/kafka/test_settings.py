"""Tests of the settings: which source wins, what is refused and how, and that a password is never shown."""

import traceback
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kafka import settings as settings_module
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import SettingsError

TOKEN = {"sasl_mechanism": "OAUTHBEARER", "sasl_token_file": Path(__file__)}
SASL_SSL = {"security_protocol": "SASL_SSL", "sasl_username": "worker", "sasl_password": "geheim"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.yaml"


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("admin_host: file\nadmin_port: 1\nclient_id: file\n")
    monkeypatch.setenv("STREAM_LDP_ADMIN_PORT", "2")
    monkeypatch.setenv("STREAM_LDP_CLIENT_ID", "environment")
    settings = Settings.load(config=file, client_id="flag")
    assert (settings.client_id, settings.admin_port, settings.admin_host) == ("flag", 2, "file")
    assert settings.topic_prefix == "stream-ldp"


def test_the_environment_can_name_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("topic_prefix: from-file\n")
    monkeypatch.setenv("STREAM_LDP_CONFIG", str(file))
    assert Settings.load().topic_prefix == "from-file"


def test_two_deployments_on_one_cluster_do_not_share_a_group_unless_told_to() -> None:
    assert Settings.load(topic_prefix="blue").group == "blue"
    assert Settings.load(topic_prefix="blue", group="shared").group == "shared"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"brokers": "kafka"}, "brokers (--brokers, STREAM_LDP_BROKERS): 'kafka' is not host:port"),
        ({"brokers": "a:1,,b:2"}, "'' is not host:port"),
        ({"brokers": "a:1,b:75001"}, "'b:75001': a port is a number from 1 to 65535"),
        ({"brokers": "a:\u00b2"}, "'a:\u00b2' is not host:port"),
        ({"allowed_hosts": "a.example,https://b.example"}, "'https://b.example' is not the name of a host alone"),
        ({"allowed_hosts": "a.example:8443"}, "'a.example:8443' is not the name of a host alone"),
        (
            {"trusted_proxies": "10.0.0.0/8,10.0.0.1/8"},
            "10.0.0.1/8 has host bits set: write an address, or a network",
        ),
        ({"trusted_proxies": "proxy.example"}, "'proxy.example' does not appear to be an IPv4 or IPv6 network"),
        ({"admin_port": 70_000}, "less than or equal to 65535"),
        (
            {"topic_prefix": "a.b"},
            "topic_prefix (--topic-prefix, STREAM_LDP_TOPIC_PREFIX): 'a.b' may have letters, digits and hyphens, "
            "not '.'",
        ),
        ({"topic_prefix": "a_b"}, "'a_b' may have letters, digits and hyphens, not '_'"),
        ({"topic_prefix": "-a"}, "'-a' must have 1 to 100 characters, the first a letter or digit"),
        ({"topic_prefix": "a" * 101}, "must have 1 to 100 characters"),
        ({"group": "a.b"}, "group (--group, STREAM_LDP_GROUP): 'a.b' may have letters, digits and hyphens, not '.'"),
        ({"tls_ca_file": Path("/nowhere/ca.pem")}, "/nowhere/ca.pem cannot be read: No such file or directory"),
        ({"config": Path("/nowhere/settings.yaml")}, "/nowhere/settings.yaml cannot be read"),
        ({"security_protocol": "SASL_SSL"}, "needs sasl_username and sasl_password_file (or sasl_password)"),
        ({**SASL_SSL, "sasl_password_file": Path(__file__)}, "are both given"),
        ({"sasl_username": "worker"}, "but security_protocol is PLAINTEXT: use SASL_SSL"),
        ({"sasl_mechanism": "OAUTHBEARER"}, "sasl_mechanism OAUTHBEARER and sasl_token_file go together"),
        ({**SASL_SSL, "sasl_token_file": Path(__file__)}, "OAUTHBEARER and sasl_token_file go together"),
        ({**SASL_SSL, **TOKEN}, "takes the place of user and password"),
        (TOKEN, "a token is given, but security_protocol is PLAINTEXT"),
        ({"admin_token_file": Path("/dev/null")}, "/dev/null holds no token"),
        ({"tls_ca_file": Path(__file__)}, "TLS files are given, but security_protocol is PLAINTEXT"),
        ({"security_protocol": "SSL", "tls_key_file": Path(__file__)}, "without its tls_cert_file"),
        ({"security_protocol": "SSL", "tls_key_password": "geheim"}, "is given without its tls_cert_file"),
        (
            {
                "security_protocol": "SSL",
                "tls_cert_file": Path(__file__),
                "tls_key_password": "geheim",
                "tls_key_password_file": Path(__file__),
            },
            "tls_key_password and tls_key_password_file are both given",
        ),
        ({"heartbeat_interval_ms": 3_000}, "must be at most a third of session_timeout_ms (6000)"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_name(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.load(**flags)
    assert message in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_password_of_digits_keeps_its_zeros(file: Path) -> None:
    file.write_text("security_protocol: SASL_SSL\nsasl_username: 0017\nsasl_password: 0123\n")
    settings = Settings.load(config=file)
    assert (settings.sasl_username, settings.password) == ("0017", "0123")


def test_a_password_file_may_end_with_a_newline(file: Path) -> None:
    file.write_text("geheim \n")
    settings = Settings.load(security_protocol="SASL_SSL", sasl_username="worker", sasl_password_file=file)
    assert settings.password == "geheim "


def test_no_printed_text_contains_the_password(file: Path) -> None:
    file.write_text("geheim")
    from_file = {key: value for key, value in SASL_SSL.items() if key != "sasl_password"}
    for settings in (Settings.load(**SASL_SSL), Settings.load(**from_file, sasl_password_file=file)):
        for text in (settings.printable(), settings.flags(), repr(settings), str(settings)):
            assert "geheim" not in text
    with_key = Settings.load(security_protocol="SSL", tls_cert_file=file, tls_key_password="geheim")
    for text in (with_key.printable(), with_key.flags(), repr(with_key), str(with_key)):
        assert "geheim" not in text
    assert with_key.printable().endswith("# tls_key_password is set, and not shown\n")
    with_tokens = {"sasl_mechanism": "OAUTHBEARER", "sasl_token_file": file, "admin_token_file": file}
    settings = Settings.load(security_protocol="SASL_SSL", **with_tokens)
    assert settings.admin_token == "geheim"
    assert "geheim" not in f"{settings.printable()} {settings.flags()} {settings!r} {settings.client_options()}"
    assert "sasl_password:" not in Settings.load(**SASL_SSL).printable(), "a row of asterisks is no password"
    with pytest.raises(SettingsError) as refused:
        Settings.load(**SASL_SSL, admin_port="geheim")
    assert "geheim" not in str(refused.value)


def test_the_output_of_print_config_can_be_used_as_the_settings_file(file: Path) -> None:
    settings = Settings.load(brokers="a:1,b:2", partials_partitions=8, security_protocol="SSL")
    file.write_text(settings.printable())
    assert Settings.load(config=file).model_dump(exclude={"config"}) == settings.model_dump(exclude={"config"})


def test_flags_reach_the_same_topics_without_repeating_defaults() -> None:
    assert Settings.load().flags() == "--brokers 127.0.0.1:9092"
    settings = Settings.load(**SASL_SSL, brokers="a:1, b:2", topic_prefix="blue", partials_partitions=8)
    assert settings.flags() == (
        "--brokers 'a:1, b:2' --security-protocol SASL_SSL --sasl-username worker --topic-prefix blue "
        "--partials-partitions 8"
    )


def test_the_names_of_the_topics_begin_with_the_prefix_that_is_set() -> None:
    names = Settings.load(topic_prefix="another").topic_names
    assert (names.partials, names.reports("care")) == ("another.partials", "another.care.reports")
    assert Settings.load().topic_names.partials == "stream-ldp.partials"


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("tls_key_password_file", {"security_protocol": "SSL", "tls_cert_file": Path(__file__)}),
        ("sasl_password_file", {"security_protocol": "SASL_SSL", "sasl_username": "worker"}),
        ("admin_token_file", {}),
    ],
)
def test_a_secret_that_is_not_text_is_refused_by_its_file_without_a_byte_of_it(
    name: str, others: dict[str, Any], tmp_path: Path
) -> None:
    (secret := tmp_path / "secret").write_bytes(b"\xff\xfegeheim")
    with pytest.raises(SettingsError) as refused:
        Settings.load(**{**others, name: secret})
    assert f"{secret} is not text in UTF-8" in str(refused.value)
    assert "0xff" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("tls_key_file", {"security_protocol": "SSL", "tls_cert_file": Path(__file__)}),
        ("tls_cert_file", {"security_protocol": "SSL"}),
        ("tls_key_password_file", {"security_protocol": "SSL", "tls_cert_file": Path("/dev/null")}),
        ("sasl_password_file", {"security_protocol": "SASL_SSL", "sasl_username": "worker"}),
        ("sasl_token_file", {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}),
        ("admin_token_file", {}),
    ],
)
@pytest.mark.parametrize(
    ("mode", "refused"), [(0o600, False), (0o440, False), (0o640, False), (0o644, True), (0o602, True)]
)
def test_a_secret_that_everybody_may_read_is_refused_and_one_for_a_group_is_taken(
    name: str, others: dict[str, Any], mode: int, refused: bool, tmp_path: Path
) -> None:
    (secret := tmp_path / "secret").write_text("geheim")
    secret.chmod(mode)
    # As Kubernetes mounts it.
    (link := tmp_path / "link").symlink_to(secret)
    if not refused:
        Settings.load(**others, **{name: link})
        return
    with pytest.raises(SettingsError) as refusal:
        Settings.load(**others, **{name: link})
    (line,) = str(refusal.value).splitlines()
    assert line.startswith(f"{name} (--{name.replace('_', '-')}, ")
    assert line.endswith(
        f"{link} holds a secret that everybody may read: chmod o= {link} (in Kubernetes, defaultMode: 0440)"
    )


def test_a_file_of_settings_that_everybody_may_read_has_no_password(file: Path) -> None:
    file.write_text("admin_port: 1\n")
    file.chmod(0o644)
    assert Settings.load(config=file, **SASL_SSL).admin_port == 1
    file.write_text("security_protocol: SASL_SSL\nsasl_username: worker\nsasl_password: geheim\n")
    with pytest.raises(SettingsError, match=r"^config \(--config, .*everybody may read"):
        Settings.load(config=file)
    file.chmod(0o640)
    assert Settings.load(config=file).password == "geheim"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"sasl_mechanism": "PLAIN"}, "password"),
        ({"sasl_mechanism": "SCRAM-SHA-512"}, ""),
        ({"sasl_mechanism": "PLAIN", "security_protocol": "SASL_SSL"}, ""),
    ],
)
def test_a_password_that_is_sent_in_the_clear_is_warned_of_once(
    given: dict[str, Any], sent: str, own_log: pytest.LogCaptureFixture
) -> None:
    settings_module._warn_of_what_is_sent.cache_clear()
    settings = Settings.load(**{**SASL_SSL, "security_protocol": "SASL_PLAINTEXT", **given})
    for _ in range(2):
        settings.client_options()
    warnings = [f"the {sent} goes to the brokers in the clear, as SASL_PLAINTEXT sends it: use SASL_SSL"]
    assert [record.message for record in own_log.records] == (warnings if sent else [])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"brokers": "localhost"}, r"^brokers \(--brokers, STREAM_LDP_BROKERS\): 'localhost' is not host:port$"),
        ({"broker": "a:1"}, r"^broker: there is no setting 'broker'; did you mean 'brokers'\?$"),
        ({"brokers": ["a:1"]}, "expected text$"),
        ({"brokers": "kafka://host:9092"}, "'kafka://host:9092' is a URL: write host:port alone"),
        ({"security_protocol": "TLS"}, "expected 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT' or 'SASL_SSL'$"),
        ({"partials_partitions": "x"}, "expected a whole number$"),
    ],
)
def test_settings_that_are_made_directly_are_refused_as_those_that_are_loaded(
    values: dict[str, Any], message: str
) -> None:
    for make in (Settings, Settings.load):
        with pytest.raises(SettingsError, match=message):
            make(**values)
