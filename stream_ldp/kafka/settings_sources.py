"""Read settings from a YAML file and the environment, and explain the mistakes in them."""

import os
import re
import stat
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from stream_ldp.collection.located import right_value, suggestion
from stream_ldp.errors import ParameterError

ENVIRONMENT_PREFIX = "STREAM_LDP_"

#: Variables that are no settings of a deployment: where the embedded Kafka is kept, and whether tests must have it.
OTHER_VARIABLES = frozenset({"STREAM_LDP_KAFKA_HOME", "STREAM_LDP_REQUIRE_KAFKA"})

#: Ends of the variables by which Kubernetes names the services beside it to every container. Those of a service named
#: stream-ldp, or stream-ldp-anything, begin with our prefix.
_OF_A_SERVICE = re.compile(r"SERVICE_(HOST|PORT(_\w+)?)$|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$")
#: Its value distinguishes the variable NAME_PORT of a service from a misspelt setting.
_PORT_OF_A_SERVICE = re.compile(r"(tcp|udp|sctp)://")


class SettingsError(ParameterError):
    """Settings cannot be used; the message has a line for each problem, with the names by which it can be set."""


def flag(name: str) -> str:
    """Return the flag that sets a setting."""
    return f"--{name.replace('_', '-')}"


def variable(name: str) -> str:
    """Return the variable of the environment that sets a setting."""
    return f"{ENVIRONMENT_PREFIX}{name.upper()}"


def shared_secret(path: Path) -> str:
    """Say that every account of this machine may read or replace a file with a secret; empty if none but a group may.

    A group may: Kubernetes gives the files of a Secret to root, and lets the group of the process read them. Where
    there is no such file, nothing is said of it here.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    if os.name != "posix" or not stat.S_ISREG(mode) or not mode & (stat.S_IROTH | stat.S_IWOTH):
        return ""
    return f"{path} holds a secret that everybody may read: chmod o= {path} (in Kubernetes, defaultMode: 0440)"


def settings_of_file(path: str | Path | None, known: Container[str]) -> dict[str, Any]:
    """Read the settings in a YAML file; none if there is no such file, which validation reports.

    A name that is none of those known stands behind the path, so that its refusal names the file.

    Raises:
        SettingsError: the file cannot be read, or holds no settings.
    """
    if path is None or not Path(path).is_file():
        return {}
    try:
        # The base loader keeps every scalar a string: the password 0123 is not the number 83.
        document = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not YAML: {_about(error)}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise SettingsError(f"{path} holds no settings: expected lines such as `brokers: 127.0.0.1:9092`")
    if "collection" in document:
        raise SettingsError(f"{path} is a collection file, where one of settings is expected, such as `brokers: ...`")
    return {name if name in known else f"{path}: {name}": value for name, value in document.items()}


def _about(error: Exception) -> str:
    """Say what is wrong with a file, and where, without the line itself, which may hold a password."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"{type(error).__name__}"
    return f"{getattr(error, 'problem', None)}, in line {mark.line + 1}, column {mark.column + 1}"


def unknown_variables(settings: Mapping[str, object]) -> dict[str, str]:
    """Return the variables of the environment, by their whole names, that were meant as settings but are none.

    settings: all settings by their names.
    """
    known = {variable(name) for name in settings} | OTHER_VARIABLES
    return {
        name: value
        for name, value in os.environ.items()
        if value and name.upper().startswith(ENVIRONMENT_PREFIX) and name.upper() not in known
        if not _OF_A_SERVICE.search(name) and not (name.endswith("PORT") and _PORT_OF_A_SERVICE.match(value))
    }


def explanations(problems: Sequence[Mapping[str, Any]], settings: Mapping[str, object]) -> str:
    """Explain the problems that pydantic has found, a line each; the list of all settings is in one of them at most.

    settings: all settings by their names.
    """
    lines, listed = [], ""
    for problem in problems:
        line = _explanation(problem, settings)
        line, known, names = line.partition("; known are ")
        lines.append(line)
        listed = listed or known + names
    return "\n".join([*lines[:-1], lines[-1] + listed])


def _explanation(problem: Mapping[str, Any], settings: Mapping[str, object]) -> str:
    """Explain one problem that pydantic has found, by all names of the setting.

    settings: all settings by their names.
    """
    message = right_value(problem, repeat=False)
    if not problem["loc"]:
        return message
    name = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        # Compared without the prefix, which all have in common and which would make all of them alike.
        meant = name.rpartition(": ")[2].lower().removeprefix(ENVIRONMENT_PREFIX.lower())
        return f"{name}: there is no setting {meant!r}{suggestion(meant, settings)}"
    return f"{name} ({flag(name)}, {variable(name)}): {message}"
