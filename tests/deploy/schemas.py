"""Check files against the schemas that check-jsonschema has with it."""

import warnings
from pathlib import Path

from click.testing import CliRunner


def problems(file: Path, *, schema: str) -> str:
    """Return what the checker says of a file that is not as the schema wants it, and nothing of one that is."""
    import check_jsonschema  # noqa: PLC0415  it takes a third of a second to import

    with warnings.catch_warnings():
        # The schema of compositions names no release of JSON Schema that the checker knows.
        warnings.simplefilter("ignore", DeprecationWarning)
        done = CliRunner().invoke(check_jsonschema.main, ["--builtin-schema", f"vendor.{schema}", str(file)])
    return "" if done.exit_code == 0 else done.output
