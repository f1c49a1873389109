"""The OpenAPI documents of the three ports that speak HTTP: the gateway, the page and a worker's admin port."""

from collections.abc import Iterable
from importlib import resources
from typing import Any

from stream_ldp.gateway.server import MAX_BYTES
from stream_ldp.kinds import KINDS
from stream_ldp.page.answers import LIMIT, MAX_LIMIT, MEDIA
from stream_ldp.page.what_if import EPSILONS, MOST_USERS, VALUES
from stream_ldp.pipeline.content_type import BATCH_TYPE
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.rows import COLUMNS, OPTIONAL
from stream_ldp.schemas.messages import MESSAGES, ROUNDS, message_schema

OPENAPI = "3.1.0"

_Json = dict[str, Any]

TEXT: _Json = {"type": "string"}


def _ref(name: str) -> _Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _any_of(names: Iterable[str]) -> _Json:
    """Return the schema of what is one of these."""
    first, *others = map(_ref, names)
    return {"anyOf": [first, *others]} if others else first


def closed(properties: _Json, **others: Any) -> _Json:
    """Return the schema of an object that has all of these properties, and no others."""
    required = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **required, **others}


def _list(items: _Json, **others: Any) -> _Json:
    return {"type": "array", "items": items, **others}


def _answer(description: str, schema: _Json, *, media: str = "application/json", **others: Any) -> _Json:
    return {"description": description, "content": {media: {"schema": schema, **others}}}


#: What any of the ports may answer to any request.
_ALWAYS = (
    "Any request may be refused with 415 (`encoded_body`: it has a `Content-Encoding`), 421 (`unknown_host`: its "
    "`Host` is neither an address nor a name that the server is called by) or 501 (`not_supported`: another version "
    "of HTTP, a transfer coding other than `chunked`, or an `Upgrade` with a body)."
)


def _document(title: str, description: str, paths: _Json, **components: _Json) -> _Json:
    return {
        "openapi": OPENAPI,
        "info": {
            "title": title,
            "version": "1",
            "description": f"{description} {_ALWAYS}",
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": components,
    }


_PROBLEMS = {
    "type": "object",
    "description": "Why the process is not as it should be; one sentence each, none if it is",
    "properties": {"problems": _list(TEXT)},
    "additionalProperties": False,
    "examples": [{"problems": []}],
}
_METRICS: _Json = {
    "get": {
        "operationId": "metrics",
        "summary": "Metrics for Prometheus",
        "responses": {
            "200": {
                "description": "In the text format of Prometheus, or that of OpenMetrics where `Accept` asks for it",
                "content": {
                    "text/plain": {"schema": TEXT},
                    "application/openmetrics-text": {"schema": TEXT},
                },
            }
        },
    }
}


def _probe(name: str, summary: str) -> _Json:
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "responses": {
                "200": _answer("Yes", _ref("Problems")),
                "503": _answer("No, for these reasons", _ref("Problems")),
            },
        }
    }


def admin_port() -> _Json:
    """Describe a worker's admin port."""
    unauthorized = {
        "description": "The worker has a token (`admin_token_file`), and this request does not bring it",
        "headers": {"WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}}},
        "content": {"text/plain": {"schema": TEXT}},
    }
    get: _Json = _METRICS["get"]
    responses = get["responses"] | {"401": unauthorized}
    metrics = {"get": get | {"security": [{}, {"token": []}], "responses": responses}}
    return _document(
        "Admin port of a worker",
        "Metrics and probes. Where the worker has a token, probes answer others with their status alone.",
        {
            "/metrics": metrics,
            "/livez": _probe("livez", "Whether the process should be left alone"),
            "/readyz": _probe("readyz", "Whether the worker does all of its work"),
        },
        schemas={"Problems": _PROBLEMS},
        securitySchemes={"token": {"type": "http", "scheme": "bearer"}},
    )


_REFUSAL = closed({"reason": TEXT | {"description": "for programs"}, "detail": TEXT | {"description": "for people"}})
_REFUSALS = {
    "400": "A worker would not count the batch; the reason is one of those of dead letters",
    "401": "A known bearer token is needed",
    "403": "The request comes from a script of a page that the gateway does not let in",
    "404": "There is no collection of that name here",
    "408": "The batch has not come in time",
    "413": f"The batch is larger than {MAX_BYTES} bytes",
    "415": "The body has another type than that of batches, or a `Content-Encoding`",
    "429": "The client sends more batches than it may; `Retry-After` says when it may try again",
    "503": "Too much is under way, or the brokers do not answer. The batch may have arrived or not: send the same "
    "bytes again after `Retry-After`, they count once",
}
#: The reasons of each status for programs.
_REASONS: dict[str, list[str]] = {
    "400": [each.value for each in Reason],
    "401": ["unauthorized"],
    "403": ["unknown_origin"],
    "404": ["unknown_collection"],
    "408": ["slow_body"],
    "413": ["too_large"],
    "415": ["wrong_content_type", "encoded_body"],
    "429": ["too_many_requests"],
    "503": ["busy", "brokers_unavailable"],
}
_LATER = {
    "Retry-After": {"description": "Seconds", "required": True, "schema": {"type": "integer", "minimum": 1}},
}
_NAME = {"name": "name", "in": "path", "required": True, "schema": TEXT}


def _busy(description: str) -> _Json:
    return _answer(description, _ref("Refusal")) | {"headers": _LATER}


def _refusals(*statuses: str) -> _Json:
    found: _Json = {}
    for status in statuses:
        schema = {"allOf": [_ref("Refusal"), {"properties": {"reason": {"enum": _REASONS[status]}}}]}
        headers = {"headers": _LATER} if status in ("429", "503") else {}
        found[status] = _answer(_REFUSALS[status], schema) | headers
    return found


def _get(name: str, summary: str, answer: _Json, *refusals: str) -> _Json:
    return {"operationId": name, "summary": summary, "responses": {"200": answer, **_refusals(*refusals)}}


def gateway() -> _Json:
    """Describe the gateway."""
    named = {"parameters": [{"$ref": "#/components/parameters/name"}]}
    rounds = {message.__name__: message_schema(message) for message in ROUNDS}
    for schema in rounds.values():
        for keyword in ("$schema", "$id"):
            schema.pop(keyword)
    taken = closed(
        {"reports": {"type": "integer", "minimum": 1, "description": "number of reports in the batch"}},
        examples=[{"reports": 1000}],
    )
    fingerprint = TEXT | {"pattern": "^[0-9a-f]{32}$"}
    known = closed({"name": TEXT, "kind": {"enum": list(KINDS)}, "fingerprint": fingerprint})
    post = {
        "operationId": "report",
        "summary": "Report a batch; the answer comes once the brokers have it",
        "security": [{}, {"token": []}],
        "requestBody": {
            "required": True,
            "description": "One batch, in the bytes of docs/wire.md, section 6",
            "content": {BATCH_TYPE: {"schema": {"type": "string", "maxLength": MAX_BYTES}}},
        },
        "responses": {
            "200": _answer("The brokers have the batch", _ref("Taken")),
            **_refusals("400", "401", "403", "404", "408", "413", "415", "429", "503"),
        },
    }
    return _document(
        "Gateway",
        "Takes batches over HTTP, from clients that do not speak Kafka. Other requests are refused alike, such as "
        "a path that is not here, with a reason for programs and a detail for people. One from a script of a page "
        "that is not let in is refused with 403 (`unknown_origin`).",
        {
            "/v1/collections": {
                "get": _get("collections", "List the collections", _answer("They are these", _ref("Collections")))
            },
            "/v1/collections/{name}": {
                **named,
                "get": _get(
                    "file",
                    "Show the file of a collection as it is",
                    _answer("YAML", TEXT, media="application/yaml"),
                    "404",
                ),
            },
            "/v1/collections/{name}/document": {
                **named,
                "get": _get(
                    "document",
                    "Show what the file says, complete: durations in milliseconds, bins with their values",
                    _answer("It is this", {"type": "object", "required": ["collection", "mechanism", "window"]}),
                    "404",
                ),
            },
            "/v1/collections/{name}/meaning": {
                **named,
                "get": _get(
                    "meaning",
                    "Show the text behind the fingerprint, from which clients make reports; docs/wire.md, section 5",
                    _answer(
                        "It is this, whose SHA-256 begins with the fingerprint",
                        {"type": "array", "minItems": 4, "prefixItems": [{"type": "string", "description": "name"}]},
                    ),
                    "404",
                ),
            },
            "/v1/collections/{name}/rounds": {
                **named,
                "get": _get(
                    "rounds",
                    "List the rounds that were written within the last two windows",
                    _answer("They are these, the oldest first", _ref("Rounds")),
                    "404",
                    "503",
                ),
            },
            "/v1/collections/{name}/batches": {**named, "post": post},
            "/metrics": _METRICS,
            "/livez": _probe("livez", "Whether the process should be left alone"),
            "/readyz": _probe("readyz", "Whether batches are taken"),
        },
        parameters={"name": _NAME},
        schemas={
            "Collections": closed({"collections": _list(known)}),
            "Problems": _PROBLEMS,
            "Refusal": _REFUSAL,
            **rounds,
            "Rounds": closed({"rounds": _list(_any_of(rounds))}),
            "Taken": taken,
        },
        securitySchemes={"token": {"type": "http", "scheme": "bearer"}},
    )


def _query(
    name: str, summary: str, parameters: dict[str, tuple[_Json, str]], answer: _Json, refusals: _Json
) -> _Json:
    get = _get(name, summary, answer)
    asked = [
        {"name": name, "in": "query", "schema": schema, "description": text}
        for name, (schema, text) in parameters.items()
    ]
    responses = get.pop("responses") | refusals
    return {"parameters": [_NAME], "get": get | {"parameters": asked, "responses": responses}}


_COLUMN_TYPES: _Json = {
    "text": TEXT,
    "time": {"type": "string", "format": "date-time"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "truth": {"type": "boolean"},
}


def column_schema(name: str) -> _Json:
    """Return the schema of a column of rows, in JSON."""
    schema = _COLUMN_TYPES[COLUMNS[name]]
    return {**schema, "type": [schema["type"], "null"]} if name in OPTIONAL else schema


def _answers() -> _Json:
    parameters: dict[str, tuple[_Json, str]] = {
        "of": (
            TEXT,
            "attributes whose marginal distribution is wanted, by commas; all numbers without it",
        ),
        "given": (TEXT, "attributes for each of whose values the distribution of `of` is wanted"),
        "between": (
            _list(TEXT),
            "two numbers, such as `20,40`: the share of users between them, and their mean, for attributes with a "
            "range. With names, such as `age=20,40`, as often as there are numbers: the share of users of whom all "
            "are between theirs",
        ),
        "series": (TEXT, "one series, such as an estimate, by its name"),
        "since": (TEXT, "earliest start of a window: ISO 8601, or milliseconds since 1970"),
        "until": (TEXT, "latest end of a window, likewise"),
        "limit": ({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": LIMIT}, "answers on a page"),
        "format": ({"enum": list(MEDIA), "default": "json"}, "form of the rows"),
    }
    found = closed(
        {
            "collection": TEXT,
            "oldest": {"type": ["string", "null"], "description": "start of the oldest window that is kept here"},
            "next_since": {"type": ["string", "null"], "description": "`since` of the next page; null on the last"},
            "rows": _list(closed({name: column_schema(name) for name in COLUMNS})),
        }
    )
    answer = _answer("Rows, one a cell; the header `Link` leads to the next page", found)
    answer["content"] |= {MEDIA["csv"]: {"schema": TEXT}, MEDIA["parquet"]: {"schema": {}}}
    refusals = {
        "304": {"description": "The rows have the `ETag` of `If-None-Match`"},
        "400": _answer("A parameter is wrong, or no answer has such attributes", _ref("Refusal")),
        "404": _answer("The page shows no such collection", _ref("Refusal")),
        "501": _answer("pyarrow, which writes Parquet, is not installed there", _ref("Refusal")),
        "503": _busy("As many queries are answered as may be at once"),
    }
    return _query("answers", "The final answers that the page keeps, as rows", parameters, answer, refusals)


def _sentences() -> _Json:
    """Describe in sentences the finals that the same parameters choose as rows."""
    described = _answers()
    sentences = _list(TEXT, minItems=3, maxItems=3)
    said = closed({"series": TEXT, "window_start": _COLUMN_TYPES["time"], "sentences": sentences})
    found = closed({"collection": TEXT, "answers": _list(said)})
    get = described["get"]
    responses = {"200": _answer("What they say", found)} | {
        status: text for status, text in get["responses"].items() if status in ("400", "404")
    }
    return described | {
        "get": get
        | {
            "operationId": "sentences",
            "summary": "The final answers that the page keeps, in the sentences of `stream-ldp explain`",
            "responses": responses,
        }
    }


def _plan() -> _Json:
    parameters: dict[str, tuple[_Json, str]] = {
        "users": (
            {"type": "integer", "minimum": 1, "maximum": MOST_USERS, "default": 10_000},
            "who report in a window",
        ),
        "epsilon": (
            {"type": "number", "minimum": EPSILONS[0], "maximum": EPSILONS[1]},
            "another epsilon than the file's, or the lifetime epsilon where it names none",
        ),
        "values": (
            {"type": "integer", "minimum": VALUES[0], "maximum": VALUES[1]},
            "another number of values or items",
        ),
    }
    section = closed({"title": TEXT, "columns": _list(TEXT), "rows": _list(_list(TEXT)), "notes": _list(TEXT)})
    found = closed(
        {
            "collection": TEXT,
            "kind": {"enum": list(KINDS)},
            "epsilon": {"type": ["object", "null"], "description": "the one that can be changed; null for none"},
            "values": {"type": ["integer", "null"], "description": "how many there are; null where none are listed"},
            "mechanism": {"type": "object"},
            "sections": _list(section),
        }
    )
    summary = "What answers cost and how exact they are, as `stream-ldp plan` prints it"
    refusals = {
        "400": _answer("The collection cannot be so", _ref("Refusal")),
        "404": _answer("This page plans no such collection", _ref("Refusal")),
        "503": _busy("As many queries are answered as may be at once"),
    }
    return _query("plan", summary, parameters, _answer("The plan", found), refusals)


def _require_token(paths: _Json) -> None:
    """Say of all paths that they may want the token of the page."""
    text = "The page has a token (`page_token_file`), and this request does not bring it"
    for path in paths.values():
        get = path["get"]
        get["security"] = [{}, {"token": []}, {"password": []}]
        get["responses"]["401"] = _answer(text, _ref("Refusal")) | {
            "headers": {"WWW-Authenticate": {"required": True, "schema": TEXT}}
        }


def page() -> _Json:
    """Describe the page."""
    static = resources.files("stream_ldp.page").joinpath("static")
    files = sorted(path.name for path in static.iterdir() if not path.name.endswith(".html"))
    media = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    events = _get(
        "events",
        "The answers that there are, and then each as it comes",
        _answer(
            "Server-sent events: first a `snapshot`, whose data is a Snapshot, then an `answer` each, whose data is "
            "an answer as it is on its topic",
            TEXT,
            media="text/event-stream",
        ),
    )
    busy = "The answers are shown to as many browsers as may be at once; come back after `Retry-After`"
    events["responses"]["503"] = _busy(busy)
    html = _answer("HTML", TEXT, media="text/html")
    paths: _Json = {"/": {"get": _get("page", "The page", html)}, "/events": {"get": events}}
    paths["/plan"] = {"get": _get("plan_page", "The page with plans", html)}
    known = {"type": "object", "properties": {"collections": _list(TEXT)}}
    paths["/v1/collections"] = {"get": _get("planned", "The collections that are planned", _answer("Names", known))}
    paths["/v1/collections/{name}/answers"] = _answers()
    paths["/v1/collections/{name}/sentences"] = _sentences()
    paths["/v1/collections/{name}/plan"] = _plan()
    for name in files:
        kind = media[name[name.rindex(".") :]]
        paths[f"/static/{name}"] = {
            "get": _get(name.replace(".", "_"), "A part of the page", _answer(name, TEXT, media=kind))
        }
    paths["/readyz"] = _probe("readyz", "Whether brokers answer, from which the answers come")
    _require_token(paths)
    lives = _answer("It does", TEXT, media="text/plain")
    paths["/livez"] = {"get": _get("livez", "Whether it serves", lives)}
    names = ", ".join(message.__name__ for message in MESSAGES if message not in ROUNDS)
    text = {name: {"type": "string", "description": "as its file has it"} for name in ("title", "question")}
    known = {"kind": {"enum": list(KINDS)}, "window_ms": {"type": "integer"}, **text}
    collection = {"type": "object", "properties": known}
    return _document(
        "Page",
        "The live page for browsers. It only reads. With `page_token_file`, all but `/livez` want the token.",
        paths,
        schemas={
            "Problems": _PROBLEMS,
            "Refusal": _REFUSAL,
            "Snapshot": closed(
                {
                    "collections": {"type": "object", "additionalProperties": collection},
                    "answers": {
                        "type": "array",
                        "description": f"Answers, the oldest first, by the schema of their kind: {names}",
                        "items": {"type": "object", "required": ["schema_version", "collection", "final"]},
                    },
                }
            ),
        },
        securitySchemes={
            "token": {"type": "http", "scheme": "bearer"},
            "password": {"type": "http", "scheme": "basic", "description": "the token, with any name"},
        },
    )
