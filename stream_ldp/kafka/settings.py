"""Read the settings of a process: from flags, then the environment, then a YAML file, then defaults."""

from __future__ import annotations

import logging
import re
import shlex
from enum import StrEnum
from functools import cache
from hashlib import sha256
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from stream_ldp.collection import milliseconds
from stream_ldp.collection.located import meant
from stream_ldp.kafka.group_names import GroupNames
from stream_ldp.kafka.regions import checked_region, waits_of
from stream_ldp.kafka.security import SaslMechanism, SecurityProtocol, hide_secrets
from stream_ldp.kafka.settings_sources import (
    ENVIRONMENT_PREFIX,
    SettingsError,
    explanations,
    flag,
    settings_of_file,
    shared_secret,
    unknown_variables,
    variable,
)
from stream_ldp.kafka.tls import tls_context

if TYPE_CHECKING:
    import ssl

    from stream_ldp.kafka.topics import TopicNames

log = logging.getLogger(__name__)

#: Time, in ms, that a broker takes for an answer at most, unless it holds it back on purpose: as long as it waits for
#: a commit to be on its replicas (offsets.commit.timeout.ms).
ANSWER_MS = 5_000

#: The largest number of a TCP port.
MAX_PORT = 65_535

#: Longest first part of a name, in characters. A topic's has at most 249; the longest name of a collection, 63, and
#: of a kind, 13, leave more than this.
MAX_PREFIX = 100

#: What the first part of a name may not have. A dot ends it: with one in it, the rules for all that begins with `a.`
#: would reach the topics and groups of `a.b`. Kafka's metrics take an underscore for a dot, and its brokers refuse a
#: topic whose name is another's there.
_STRANGE = re.compile(r"[^a-zA-Z0-9-]")

#: Settings that say how to reach the brokers and may be given as flags. Passwords may not: every user of a machine
#: can read the arguments of its processes.
CONNECTION = (
    "brokers",
    "security_protocol",
    "tls_ca_file",
    "tls_cert_file",
    "tls_key_file",
    "tls_key_password_file",
    "sasl_mechanism",
    "sasl_username",
    "sasl_password_file",
    "sasl_token_file",
)

#: Settings that are never printed and have no flag; each can be given by a file as well.
SECRETS = ("tls_key_password", "sasl_password")

#: Settings that name a file with a secret.
_SECRET_FILES = (
    "tls_key_file",
    "tls_key_password_file",
    "sasl_password_file",
    "sasl_token_file",
    "admin_token_file",
    "page_token_file",
)


class LogFormat(StrEnum):
    """The form of the lines of a log."""

    AUTO = "auto"
    HUMAN = "human"
    JSON = "json"


class LogLevel(StrEnum):
    """The least level of the lines of a log, from the most lines to the fewest."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Settings(BaseSettings):
    """The settings are everything that differs between one deployment and another.

    A field is set by the flag --its-name, by STREAM_LDP_ITS_NAME, or by the key its_name of the `config` file. A
    variable of the environment that begins with STREAM_LDP_ and names no field is a mistake.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_ignore_empty=True, extra="forbid", frozen=True
    )

    config: Path | None = Field(default=None, description="YAML file with any of these settings.")
    brokers: str = Field(
        default="127.0.0.1:9092",
        description="Kafka brokers of one cluster to connect to first, host:port, separated by commas.",
    )
    security_protocol: SecurityProtocol = Field(
        default=SecurityProtocol.PLAINTEXT, description="Protocol of the connections to the brokers."
    )
    tls_ca_file: Path | None = Field(
        default=None, description="PEM file of the certificate authority to trust; the system's if not given."
    )
    tls_cert_file: Path | None = Field(default=None, description="PEM file of this client's own certificate.")
    tls_key_file: Path | None = Field(
        default=None,
        description="PEM file of the certificate's key; not needed if the certificate's file has it.",
    )
    tls_key_password: SecretStr | None = Field(default=None, description="Password of that key, if it is encrypted.")
    tls_key_password_file: Path | None = Field(
        default=None, description="File that holds the password of that key, if it is encrypted."
    )
    sasl_mechanism: SaslMechanism = Field(
        default=SaslMechanism.SCRAM_SHA_512,
        description="Mechanism that proves the password to the brokers; OAUTHBEARER for a token in place of one.",
    )
    sasl_username: str | None = Field(default=None, description="User name to authenticate with.")
    sasl_password: SecretStr | None = Field(default=None, description="Password of that user.")
    sasl_password_file: Path | None = Field(default=None, description="File that holds the password of that user.")
    sasl_token_file: Path | None = Field(
        default=None, description="File that holds the OAuth token; it is read anew for each connection."
    )
    client_id: str = Field(default="stream-ldp", description="Name of this client in the brokers' logs and quotas.")
    topic_prefix: str = Field(
        default="stream-ldp", description="First part of every topic's name: letters, digits and hyphens."
    )
    partials_partitions: int = Field(
        default=4, ge=1, description="Partitions of the partials topic; at most so many workers share the merging."
    )
    region: str = Field(
        default="",
        description="Name of the region whose brokers these are, where several count: letters, digits and hyphens. "
        "Its workers count, and merge only where `regions` is set.",
    )
    regions: str = Field(
        default="",
        description="Regions whose counts are merged here, separated by commas, with the longest time that windows "
        "wait for one that is behind the others: eu=60s,us=5m. They wait for one without a time as long as it takes.",
    )
    group: str = Field(
        default_factory=lambda known: str(known.get("topic_prefix", "")),
        description="First part of the names of the workers' consumer groups; topic_prefix if not given.",
    )
    session_timeout_ms: int = Field(
        default=6_000, gt=0, description="Time of silence, in ms, after which a worker's partitions go to its peers."
    )
    heartbeat_interval_ms: int = Field(
        default=1_500, gt=0, description="Time between heartbeats, in ms; also how soon a rebalance is noticed."
    )
    rebalance_timeout_ms: int = Field(
        default=10_000,
        gt=0,
        description="Time, in ms, that a rebalance waits for a worker to flush before it goes on without it.",
    )
    outage: str = Field(
        default="10m",
        description="Longest outage of the brokers that a worker waits for, at its start as well; then it ends.",
    )
    accept_loss: bool = Field(
        default=False,
        description="Go on, instead of ending, when retention has deleted reports before they were counted.",
    )
    # The hashes of so many ids take 0.27 GB. A billion single reports a day on 64 partitions are fewer in a pane of a
    # day.
    max_batches: int = Field(
        default=20_000_000,
        ge=1,
        description="Most batches that a pane of a window takes of one partition, at 13 to 27 bytes of memory each; "
        "further ones become dead letters.",
    )
    # At 2 to 25 microseconds each, that is a second or some of work. Saving takes 8 bytes a batch on the partials
    # topic, and the statistics that have changed, which are sent now and then in any case.
    save_records: int = Field(
        default=250_000,
        ge=1,
        description="Most records of a partition that its next owner reads again, beside those of the last flushes: "
        "so often, what is counted of open windows is saved.",
    )
    # So many take 70 to 200 MB for each pane of the period, which the merge holds until the period ends.
    max_linked: int = Field(
        default=4_000_000,
        ge=1,
        description="Most reports that a pane of a collection that links them takes of one partition; batches with "
        "further ones become dead letters.",
    )
    max_dead_letter_bytes: int = Field(
        default=16 * 2**20,
        ge=1,
        description="Bytes of a collection's dead letters that a worker keeps until it writes them; with more, it "
        "writes at once.",
    )
    admin_host: str = Field(default="127.0.0.1", description="Address that serves /metrics, /livez and /readyz.")
    admin_port: int = Field(
        default=9464,
        ge=0,
        le=MAX_PORT,
        description="Port that serves /metrics, /livez and /readyz; 0 for any free one.",
    )
    admin_token_file: Path | None = Field(
        default=None,
        description="File with the bearer token without which the admin port answers no more than 200 or 503.",
    )
    page_token_file: Path | None = Field(
        default=None,
        description="File with the token without which the page shows nothing: a bearer token, or the password "
        "that a browser asks for, with any name.",
    )
    allowed_hosts: str = Field(
        default="",
        description="Names, separated by commas, by which the admin port, the gateway and the page may be called, "
        "beside localhost and addresses; * for any.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Networks, separated by commas, such as 10.0.0.0/8, of the proxies before a gateway or page; "
        "their X-Forwarded-For says who asks.",
    )
    tracing: bool = Field(
        default=False,
        description="Send OpenTelemetry traces, by OTLP to where OTEL_EXPORTER_OTLP_ENDPOINT says; needs the extra "
        "tracing.",
    )
    log_format: LogFormat = Field(
        default=LogFormat.AUTO, description="Lines of the log: for people, or JSON; auto is JSON but on a terminal."
    )
    log_level: LogLevel = Field(
        default=LogLevel.INFO,
        description="Least level of the lines of the log; SIGUSR1 makes a running process log more, SIGUSR2 less.",
    )

    if not TYPE_CHECKING:  # where the types of the fields are known

        def __init__(self, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                # A default that depends on a wrong value is not a problem of its own.
                problems = [each for each in error.errors() if each["type"] != "default_factory_not_called"]
                raise SettingsError(explanations(problems, type(self).model_fields)) from None

    @classmethod
    def load(cls, **flags: Any) -> Self:
        """Read all sources. A flag that is None was not given.

        >>> Settings.load(brokers="kafka.example:9092").topic_names.reports("survey")
        'stream-ldp.survey.reports'

        Raises:
            SettingsError: a value is wrong, two contradict each other, a name is not that of a setting, or the file
                cannot be read.
        """
        return cls(**{name: value for name, value in flags.items() if value is not None})

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  part of the hook
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  part of the hook
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: flags, the environment, then the file that either of them names."""
        path = init_settings().get("config") or env_settings().get("config")
        unknown = InitSettingsSource(settings_cls, unknown_variables(settings_cls.model_fields))
        of_file = settings_of_file(path, settings_cls.model_fields)
        return init_settings, env_settings, unknown, InitSettingsSource(settings_cls, of_file)

    @field_validator(
        "config",
        "tls_ca_file",
        "tls_cert_file",
        "tls_key_file",
        "tls_key_password_file",
        "sasl_password_file",
        "sasl_token_file",
        "admin_token_file",
        "page_token_file",
    )
    @classmethod
    def _files_can_be_read(cls, path: Path | None) -> Path | None:
        if path is not None:
            try:
                path.open("rb").close()
            except OSError as error:
                raise ValueError(f"{path} cannot be read: {error.strerror}") from error
        return path

    @field_validator(
        "tls_key_password_file", "sasl_password_file", "sasl_token_file", "admin_token_file", "page_token_file"
    )
    @classmethod
    def _secrets_are_text(cls, path: Path | None) -> Path | None:
        if path is not None:
            try:
                path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                # Without its own message, which has a byte of the secret.
                raise ValueError(f"{path} is not text in UTF-8") from None
        return path

    @field_validator("admin_token_file", "page_token_file")
    @classmethod
    def _is_no_empty_token(cls, path: Path | None) -> Path | None:
        if path is not None and not path.read_text(encoding="utf-8").strip():
            raise ValueError(f"{path} holds no token")
        return path

    @field_validator("brokers")
    @classmethod
    def _addresses_have_ports(cls, brokers: str) -> str:
        for address in brokers.split(","):
            host, _, port = address.strip().rpartition(":")
            if "/" in host:
                raise ValueError(f"{address.strip()!r} is a URL: write host:port alone, without what comes before it")
            if not host or not port.isdecimal():
                raise ValueError(f"{address.strip()!r} is not host:port")
            # Whatever connects would take a larger one for its remainder, which is another port.
            if not 0 < int(port) <= MAX_PORT:
                raise ValueError(f"{address.strip()!r}: a port is a number from 1 to {MAX_PORT}")
        return brokers

    @field_validator("topic_prefix", "group")
    @classmethod
    def _is_the_first_part_of_names(cls, part: str) -> str:
        if strange := _STRANGE.search(part):
            raise ValueError(f"{part!r} may have letters, digits and hyphens, not {strange[0]!r}")
        if not 0 < len(part) <= MAX_PREFIX or part.startswith("-"):
            raise ValueError(f"{part!r} must have 1 to {MAX_PREFIX} characters, the first a letter or digit")
        return part

    @field_validator("region")
    @classmethod
    def _is_a_region(cls, region: str) -> str:
        return region and checked_region(region)

    @field_validator("regions")
    @classmethod
    def _are_regions(cls, regions: str) -> str:
        waits_of(regions)
        return regions

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts_are_bare_names(cls, hosts: str) -> str:
        for name in hosts.split(","):
            if not re.fullmatch(r"[\w.-]*|\*", name.strip()):
                raise ValueError(f"{name.strip()!r} is not the name of a host alone, without scheme, port and path")
        return hosts

    @field_validator("trusted_proxies")
    @classmethod
    def _proxies_are_networks(cls, networks: str) -> str:
        for network in filter(None, map(str.strip, networks.split(","))):
            try:
                ip_network(network)
            except ValueError as error:
                raise ValueError(f"{error}: write an address, or a network such as 10.0.0.0/8") from None
        return networks

    @field_validator("outage")
    @classmethod
    def _is_a_duration(cls, text: str) -> str:
        if not milliseconds(text):
            raise ValueError("must be longer than 0")
        return text

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        protocol = self.security_protocol
        tls = [self.tls_ca_file, self.tls_cert_file, self.tls_key_file]
        if not protocol.encrypted and any(path is not None for path in tls):
            raise ValueError(
                f"TLS files are given, but security_protocol is {protocol}: use SSL, or SASL_SSL with a password"
            )
        if self.tls_key_file is not None and self.tls_cert_file is None:
            raise ValueError("tls_key_file is given without its tls_cert_file")
        has_key_password = self.tls_key_password is not None or self.tls_key_password_file is not None
        if has_key_password and self.tls_cert_file is None:
            raise ValueError("the password of a key is given without its tls_cert_file")
        for name in SECRETS:
            if getattr(self, name) is not None and getattr(self, f"{name}_file") is not None:
                raise ValueError(f"{name} and {name}_file are both given: one of them is enough")
        if (self.sasl_mechanism is SaslMechanism.OAUTHBEARER) != (self.sasl_token_file is not None):
            raise ValueError("sasl_mechanism OAUTHBEARER and sasl_token_file go together")
        has_password = self.sasl_password is not None or self.sasl_password_file is not None
        if self.sasl_token_file is not None:
            if self.sasl_username is not None or has_password:
                raise ValueError("sasl_token_file takes the place of user and password, which are given too")
            if not protocol.authenticated:
                raise ValueError(f"a token is given, but security_protocol is {protocol}: use SASL_SSL")
        elif protocol.authenticated and (self.sasl_username is None or not has_password):
            raise ValueError(
                f"security_protocol {protocol} needs sasl_username and sasl_password_file (or sasl_password)"
            )
        if not protocol.authenticated and (self.sasl_username is not None or has_password):
            raise ValueError(
                f"a user or password is given, but security_protocol is {protocol}: use SASL_SSL (or SASL_PLAINTEXT)"
            )
        if self.heartbeat_interval_ms * 3 > self.session_timeout_ms:
            raise ValueError(
                f"heartbeat_interval_ms ({self.heartbeat_interval_ms}) must be at most a third of "
                f"session_timeout_ms ({self.session_timeout_ms}), or one lost heartbeat ends the session"
            )
        return self

    @model_validator(mode="after")
    def _home_is_a_region(self) -> Self:
        if self.regions and not self.region:
            raise ValueError(
                f"regions ({flag('regions')}) are given without region ({flag('region')}): say which of them "
                "this one is"
            )
        if self.regions and self.region not in (waits := waits_of(self.regions)):
            raise ValueError(
                f"region {self.region!r} ({flag('region')}) is not among regions ({flag('regions')}), "
                f"{', '.join(waits)}: add it{meant(self.region, waits)}"
            )
        return self

    @model_validator(mode="after")
    def _secrets_are_kept(self) -> Self:
        files = [name for name in _SECRET_FILES if getattr(self, name) is not None]
        if self.tls_cert_file is not None and self.tls_key_file is None:
            files.append("tls_cert_file")
        if self.config is not None and not self.model_fields_set.isdisjoint(SECRETS):
            given = settings_of_file(self.config, type(self).model_fields)
            files += ["config"] if not given.keys().isdisjoint(SECRETS) else []
        for name in files:
            if problem := shared_secret(getattr(self, name)):
                raise ValueError(f"{name} ({flag(name)}, {variable(name)}): {problem}")
        return self

    @property
    def merges(self) -> bool:
        """Whether workers merge here; those of a region that is not the home only count."""
        return bool(self.regions) or not self.region

    @property
    def region_waits(self) -> dict[str, float | None]:
        """Seconds that windows wait for each region, by its name; None for as long as it takes. Empty without any."""
        return waits_of(self.regions)

    @property
    def region_names(self) -> tuple[str, ...]:
        """The regions that are merged here, the home first; a single empty one where there are none."""
        return (self.region, *(name for name in self.region_waits if name != self.region))

    @property
    def sends_in_the_clear(self) -> str:
        """What proves to the brokers who this is, if everybody on the network can read it; empty if nobody can."""
        if self.security_protocol is not SecurityProtocol.SASL_PLAINTEXT:
            return ""
        return {SaslMechanism.PLAIN: "password", SaslMechanism.OAUTHBEARER: "token"}.get(self.sasl_mechanism, "")

    @property
    def admin_token(self) -> str | None:
        """The token of the admin port; None if it wants none."""
        return _token(self.admin_token_file)

    @property
    def page_token(self) -> str | None:
        """The token of the page; None if everyone may see it."""
        return _token(self.page_token_file)

    @property
    def password(self) -> str | None:
        """The password in clear, from wherever it was given."""
        return _in_clear(self.sasl_password, self.sasl_password_file)

    def ssl_context(self) -> ssl.SSLContext | None:
        """Make the context for TLS, which checks the broker's host name; None where the protocol is not encrypted.

        Raises:
            SettingsError: a file cannot be used.
        """
        if not self.security_protocol.encrypted:
            return None
        return tls_context(
            ca=self.tls_ca_file,
            certificate=self.tls_cert_file,
            key=self.tls_key_file,
            password=_in_clear(self.tls_key_password, self.tls_key_password_file),
            password_setting="tls_key_password_file" if self.tls_key_password is None else "tls_key_password",
        )

    def credentials(self) -> tuple[bytes, ...]:
        """Return digests of the files that prove who this is, and that the brokers are who they say.

        Without that of a token, which is read anew for each connection.

        Raises:
            OSError: a file cannot be read.
        """
        files = (
            self.tls_ca_file,
            self.tls_cert_file,
            self.tls_key_file,
            self.tls_key_password_file,
            self.sasl_password_file,
        )
        return tuple(sha256(each.read_bytes()).digest() for each in files if each is not None)

    @property
    def request_timeout_ms(self) -> int:
        """Time, in ms, after which a worker's consumers take a connection that gives no answer for dead.

        A broker holds back the answer to a member that joins a group until the others have joined, or been given up.
        """
        return max(self.rebalance_timeout_ms, self.session_timeout_ms) + ANSWER_MS

    @property
    def outage_seconds(self) -> float:
        """The setting `outage`, in seconds."""
        return float(milliseconds(self.outage)) / 1_000

    def connection_options(self) -> dict[str, Any]:
        """Return the arguments of aiokafka's AIOKafkaConnection, which are part of `client_options`."""
        hide_secrets()
        if self.sends_in_the_clear:
            _warn_of_what_is_sent(self.sends_in_the_clear)
        options: dict[str, Any] = {
            "client_id": self.client_id,
            "security_protocol": self.security_protocol.value,
            "ssl_context": self.ssl_context(),
        }
        if self.security_protocol.authenticated:
            options["sasl_mechanism"] = self.sasl_mechanism.value
            if self.sasl_token_file is not None:
                # Imported here, since a program that only reads settings need not wait for the import of aiokafka.
                from stream_ldp.kafka.token_file import TokenFile  # noqa: PLC0415

                return {**options, "sasl_oauth_token_provider": TokenFile(self.sasl_token_file)}
            options["sasl_plain_username"] = self.sasl_username
            options["sasl_plain_password"] = self.password
        return options

    def client_options(self) -> dict[str, Any]:
        """Keyword arguments for AIOKafkaProducer, AIOKafkaConsumer and AIOKafkaAdminClient."""
        return {"bootstrap_servers": self.broker_addresses, **self.connection_options()}

    @property
    def topic_names(self) -> TopicNames:
        """Names of all topics of this deployment."""
        # Imported here, since a program that reads settings need not wait for the import of all kinds of collections.
        from stream_ldp.kafka.topics import TopicNames  # noqa: PLC0415

        return TopicNames(prefix=self.topic_prefix)

    @property
    def group_names(self) -> GroupNames:
        """Names of all consumer groups of this deployment."""
        return GroupNames(prefix=self.group)

    @property
    def broker_addresses(self) -> list[str]:
        """The addresses of the brokers, host:port each."""
        return [address.strip() for address in self.brokers.split(",")]

    def printable(self) -> str:
        """Write all settings as YAML that `config` can read, without the passwords."""
        shown = self.model_dump(mode="json", exclude={"config", *SECRETS}, exclude_none=True)
        hidden = (f"# {name} is set, and not shown\n" for name in SECRETS if getattr(self, name) is not None)
        return yaml.safe_dump(shown, sort_keys=False) + "".join(hidden)

    def flags(self) -> str:
        """Write the flags that reach the same topics on the same cluster, for a shell; defaults are left out."""
        given = {name: getattr(self, name) for name in (*CONNECTION, "topic_prefix", "partials_partitions")}
        words = [
            (flag(name), str(value))
            for name, value in given.items()
            if name == "brokers" or value != type(self).model_fields[name].default
        ]
        return shlex.join(word for pair in words for word in pair)


@cache
def _warn_of_what_is_sent(what: str) -> None:
    """Warn once in the log of a process."""
    log.warning("the %s goes to the brokers in the clear, as SASL_PLAINTEXT sends it: use SASL_SSL", what)


def _token(path: Path | None) -> str | None:
    return None if path is None else path.read_text(encoding="utf-8").strip()


def _in_clear(secret: SecretStr | None, file: Path | None) -> str | None:
    """Return a secret that was given itself, or by its file, which may end with a newline; None if neither was."""
    if file is not None:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    return None if secret is None else secret.get_secret_value()
