"""Pages of the documentation that are made when it is built: from the code, and from texts outside of docs/.

Reference pages follow from the models, the settings and the commands, so they cannot be out of date. The front page
is the README. Charts that are written as mermaid's `xychart-beta` become SVG, so that no page needs another host.
"""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]

#: Texts outside of docs/, and the page that each becomes.
TEXTS = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "clients/java/README.md": "reference/java.md",
    "clients/javascript/README.md": "reference/javascript.md",
    "tests/benchmarks/README.md": "benchmarks.md",
}


#: Documents of interfaces, which the site has beside the pages that are made of them.
DOCUMENTS = ("asyncapi", "openapi-gateway", "openapi-page", "openapi-admin-port")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made here."""
    made = {page: (ROOT / text).read_text(encoding="utf-8") for text, page in TEXTS.items()}
    made["reference/collection-file.md"] = collection_file()
    made["reference/settings.md"] = settings()
    made["reference/commands.md"] = commands()
    made["reference/python.md"] = python()
    made["reference/topics.md"] = topics()
    made["reference/http.md"] = http()
    for name in DOCUMENTS:
        made[f"reference/{name}.json"] = (ROOT / f"stream_ldp/schemas/{name}.json").read_text(encoding="utf-8")
    for page, content in made.items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files of the repository lead to their pages, and draw charts."""
    at = page.file.src_uri
    source = next((text for text, made in TEXTS.items() if made == at), f"docs/{at}")

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", target) or not target:
            return match[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if place in TEXTS:
            place = TEXTS[place]
        elif place.startswith("docs/"):
            place = place.removeprefix("docs/")
        elif (ROOT / place).exists():
            return text  # a file that has no page
        return f"[{text}]({posixpath.relpath(place, posixpath.dirname(at) or '.')}{anchor})"

    markdown = re.sub(r"(?<!\\)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\(([^)#\s]*)(#[^)\s]*)?\)", link, markdown)
    return re.sub(r"```mermaid\nxychart-beta\n(.*?)```", lambda match: chart(match[1]), markdown, flags=re.DOTALL)


def chart(text: str) -> str:
    """Draw a line chart, its points at equal distances, as SVG."""
    labels = re.findall(r'"([^"]*)"', re.search(r"x-axis.*?\[(.*)\]", text)[1])  # type: ignore[index]
    across = re.search(r'x-axis "([^"]*)"', text)[1]  # type: ignore[index]
    up = re.search(r'y-axis "([^"]*)"', text)[1]  # type: ignore[index]
    values = [float(value) for value in re.search(r"line \[(.*)\]", text)[1].split(",")]  # type: ignore[index]
    width, height, left, most = 480, 160, 60, max(values)
    xs = [left + (width - left - 40) * place / max(1, len(values) - 1) for place in range(len(values))]
    ys = [20 + (height - 20) * (1 - value / most) for value in values]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    parts = [
        f'<svg viewBox="0 0 {width} {height + 50}" role="img" aria-label="{escape(up)} against {escape(across)}" '
        'style="max-width: 36em" font-size="12" fill="currentColor">',
        f'<polyline points="{points}" fill="none" stroke="#0b6e99" stroke-width="2"/>',
        f'<line x1="{left}" y1="{height}" x2="{width - 20}" y2="{height}" stroke="currentColor"/>',
    ]
    for x, y, label, value in zip(xs, ys, labels, values, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#0b6e99"/>')
        parts.append(f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{value:g}</text>')
        parts.append(f'<text x="{x:.1f}" y="{height + 18}" text-anchor="middle">{escape(label)}</text>')
    parts.append(f'<text x="{width / 2}" y="{height + 40}" text-anchor="middle">{escape(across)}</text>')
    return "".join([*parts, "</svg>"])


def table(heads: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def collection_file() -> str:
    """Write the reference of the collection file from its JSON Schema."""
    from stream_ldp.kinds import KINDS
    from stream_ldp.schemas.collection_file import collection_file_schema

    parts = collection_file_schema()["$defs"]
    lines = [
        "# Collection file",
        "",
        "A collection file says what is collected, how it is perturbed, and what is estimated. It is YAML. A "
        "duration "
        "is a whole number and a unit: `500ms`, `60s`, `5m`, `2h`, `1d`. Editors complete it by its JSON Schema:",
        "",
        "```",
        "stream-ldp schema collection-v1 > collection-v1.json",
        "```",
        "",
        "and, as the first line of your file, `# yaml-language-server: $schema=collection-v1.json`.",
    ]
    shown: list[str] = []

    def section(name: str, level: int) -> None:
        if name in shown:
            return
        shown.append(name)
        lines.extend(["", f"{'#' * level} {name} {{ #{name.lower()} }}", "", f"{parts[name].get('description', '')}"])
        found = parts[name].get("properties", {})
        needed = parts[name].get("required", [])
        rows = [
            [f"`{key}`", each.get("description", ""), values(each), default(key, each, needed)]
            for key, each in found.items()
        ]
        if rows:
            lines.extend(table(["key", "meaning", "values", "default"], rows))
        elif "enum" in parts[name]:
            lines.extend(["", ", ".join(f"`{each}`" for each in parts[name]["enum"])])

    for kind in KINDS.values():
        lines.extend(["", f"## Collections of {kind.name}", ""])
        lines.append(f"With `mechanism.kind` {', '.join(f'`{each}`' for each in kind.mechanisms)}.")
        section(kind.collection.__name__, 3)
    lines.extend(["", "## Parts"])
    for name in sorted(parts):
        section(name, 3)
    return "\n".join(lines) + "\n"


def values(schema: dict[str, Any]) -> str:
    """Say what a value may be, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for keyword in ("oneOf", "anyOf"):
        if keyword in schema:
            return " or ".join(dict.fromkeys(values(each) for each in schema[keyword]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {values(schema.get('items', {}))}"
    if "ms|s|m" in schema.get("pattern", ""):
        return "duration"
    bounds = [
        f"{sign} {schema[keyword]:g}"
        for keyword, sign in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if keyword in schema and schema.get("type") in ("number", "integer")
    ]
    kind = {"number": "number", "integer": "whole number", "boolean": "`true` or `false`"}
    name = schema.get("type", "any")
    return ", ".join([kind.get(name, "text") if isinstance(name, str) else "text", *bounds])


def default(key: str, schema: dict[str, Any], needed: list[str]) -> str:
    """Say what is taken if a key is left out."""
    if "default" in schema:
        return f"`{str(schema['default']).lower()}`"
    return "required" if key in needed else ""


def settings() -> str:
    """Write the reference of the settings from their model."""
    from pydantic_core import PydanticUndefined

    from stream_ldp.kafka.settings import CONNECTION, Settings
    from stream_ldp.kafka.settings_sources import ENVIRONMENT_PREFIX

    rows = []
    for name, field in Settings.model_fields.items():
        shown = (
            ""
            if field.default in (None, PydanticUndefined)
            else f"`{getattr(field.default, 'value', field.default)}`"
        )
        flag = f"`--{name.replace('_', '-')}`" if name in CONNECTION else ""
        rows.append([f"`{name}`", field.description or "", shown, f"`{ENVIRONMENT_PREFIX}{name.upper()}`", flag])
    return "\n".join(
        [
            "# Settings",
            "",
            "Settings are all that differs between one deployment and another. A flag goes before the environment, "
            "and the environment before the key of that name in the YAML file that `config` names. Flags of workers "
            "are on the page of [commands](commands.md); those of the connection are everywhere.",
            *table(["setting", "meaning", "default", "variable", "flag of all commands"], rows),
        ]
    )


def commands() -> str:
    """Write the reference of the command line from the commands themselves."""
    import click
    import typer

    from stream_ldp.cli import app

    lines = ["# Commands", "", "`stream-ldp --version` prints the version; `--help` explains each command."]

    def show(command: Any, name: str, level: int) -> None:
        if hasattr(command, "_imported"):  # one of those that are imported when they are run
            command = command._imported()
        lines.extend(["", f"{'#' * level} {name}", "", paragraphs(command.help or "")])
        if getattr(command, "epilog", None):
            lines.extend(["", "```", command.epilog.removeprefix("Example:").strip(), "```"])
        context = click.Context(command, info_name=name)
        if hasattr(command, "commands") or isinstance(command, click.Group):
            for each in command.list_commands(context):
                show(command.get_command(context, each), f"{name} {each}", level + 1)
            return
        usage = " ".join(command.collect_usage_pieces(context))
        lines.extend(["", "```", f"{name} {usage}", "```"])
        rows = []
        for parameter in command.params:
            if getattr(parameter, "hidden", False) or parameter.name == "help":
                continue
            options = ", ".join(f"`{each}`" for each in parameter.opts) or f"`{parameter.name}`"
            if parameter.param_type_name == "argument":
                options = f"`{parameter.metavar or (parameter.name or '').upper()}`"
            text = getattr(parameter, "help", None) or ""
            value = parameter.default
            known = value is not None and not callable(value) and value not in ((), [], False)
            rows.append([options, text, f"`{getattr(value, 'value', value)}`" if known else ""])
        if rows:
            lines.extend(table(["option", "meaning", "default"], rows))

    root = typer.main.get_command(app)
    context = click.Context(root, info_name="stream-ldp")
    for name in root.list_commands(context):
        show(root.get_command(context, name), f"stream-ldp {name}", 2)
    return "\n".join(lines) + "\n"


def paragraphs(text: str) -> str:
    """Return help text as Markdown."""
    return re.sub(r"\n(?!\n)", " ", text.replace("\n\n", "\n\n\n")).replace("\b", "").strip()


def python() -> str:
    """Write the page of the public names, which mkdocstrings fills in."""
    import stream_ldp

    lines = ["# Python", "", "All public names are in `stream_ldp`: `from stream_ldp import Reporter`."]
    for name in stream_ldp.__all__:
        if name != "__version__":
            lines.extend(["", f"::: {getattr(stream_ldp, name).__module__}.{name}"])
    lines.extend(["", "::: stream_ldp.testing.kafka_in_memory", "", "::: stream_ldp.testing.KafkaInMemory"])
    return "\n".join(lines) + "\n"


def topics() -> str:
    """Write the page of the topics from the AsyncAPI document."""
    from stream_ldp.schemas.asyncapi import asyncapi

    document = asyncapi()
    messages = document["components"]["messages"]
    lines = [
        "# Topics",
        "",
        f"{document['info']['description']} The same for programs: [asyncapi.json](asyncapi.json), also by "
        "`stream-ldp schema asyncapi`. Where nothing else is said, a topic is declared for windows of a minute; "
        "longer windows keep reports and rounds for longer.",
        "",
        "## Servers",
        *table(
            ["protocol", "security"],
            [
                [
                    f"`{name}`",
                    ", ".join(each["$ref"].rpartition("/")[2] for each in server.get("security", [])) or "none",
                ]
                for name, server in document["servers"].items()
            ],
        ),
    ]
    for name, channel in document["channels"].items():
        kafka = channel["bindings"]["kafka"]
        settings = kafka["topicConfiguration"]
        uses = [each for each in document["operations"].values() if each["channel"]["$ref"].endswith(f"/{name}")]
        held = ", ".join(f"[{each}](#{each.lower()})" for each in channel["messages"])
        rows = [
            ["address", f"`{channel['address']}`"],
            ["messages", held],
            ["partitions", str(kafka["partitions"])],
            ["cleanup", " and ".join(settings["cleanup.policy"])],
            [
                "retention",
                f"{settings['retention.ms'] / 86_400_000:g} days" if "retention.ms" in settings else "unlimited",
            ],
            *(
                [key, f"{value:,}" if isinstance(value, int) else value]
                for key, value in settings.items()
                if key not in ("cleanup.policy", "retention.ms")
            ),
            *([{"send": "who writes", "receive": "who reads"}[each["action"]], each["summary"]] for each in uses),
        ]
        lines.extend(["", f"## {name}", "", f"{channel['description']}.", *table(["", ""], rows)])
    lines.extend(["", "## Messages"])
    for name, message in messages.items():
        payload = message["payload"].get("schema", message["payload"])
        key = message["bindings"]["kafka"]["key"]
        lines.extend(["", f"### {name}", "", f"{message['summary'].rstrip('.')}."])
        heads = [["content type", f"`{message['contentType']}`"], ["key", key["description"]]]
        heads += [
            [f"header `{each}`", told.get("description", "")]
            for each, told in message["headers"]["properties"].items()
        ]
        lines.extend(table(["", ""], heads))
        if found := payload.get("properties"):
            lines.extend(
                table(
                    ["field", "meaning"], [[f"`{each}`", told.get("description", "")] for each, told in found.items()]
                )
            )
    return "\n".join(lines) + "\n"


def http() -> str:
    """Write the page of the HTTP interfaces from the OpenAPI documents."""
    import json

    lines = ["# HTTP", "", "What gateways, the page and the admin port of workers answer over HTTP."]
    for name in DOCUMENTS[1:]:
        document = json.loads((ROOT / f"stream_ldp/schemas/{name}.json").read_text(encoding="utf-8"))
        lines.extend(["", f"## {document['info']['title']}", "", document["info"]["description"], ""])
        lines.append(f"The same as a document for programs: [{name}.json]({name}.json).")
        for path, uses in document["paths"].items():
            for method, use in uses.items():
                if method == "parameters":
                    continue
                lines.extend(
                    ["", f"### {method.upper()} {path}", "", f"{use['summary']}. {use.get('description', '')}"]
                )
                given = [
                    resolved(each, document) for each in (*uses.get("parameters", ()), *use.get("parameters", ()))
                ]
                if given:
                    rows = [[f"`{each['name']}`", each["in"], each.get("description", "")] for each in given]
                    lines.extend(table(["parameter", "in", "meaning"], rows))
                found = {code: resolved(each, document) for code, each in use["responses"].items()}
                rows = [
                    [code, each["description"], ", ".join(f"`{media}`" for media in each.get("content", {}))]
                    for code, each in found.items()
                ]
                lines.extend(table(["status", "meaning", "content"], rows))
    return "\n".join(lines) + "\n"


def resolved(part: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a document, or what it refers to."""
    if "$ref" not in part:
        return part
    for step in part["$ref"].removeprefix("#/").split("/"):
        document = document[step]
    return document
