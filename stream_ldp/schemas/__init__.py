"""The contracts of the service, for programs in any language, generated from the code and shipped with the package.

`python -m stream_ldp.schemas` writes them anew; a test compares them with the code. `stream-ldp schema` prints them.
"""

from pathlib import Path

__all__ = ["FOLDER", "contract", "contracts"]

#: The folder that holds them.
FOLDER = Path(__file__).parent


def contracts() -> list[str]:
    """Name all contracts, in alphabetical order, by the names of their files without `.json`."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def contract(name: str) -> str:
    """Return the text of a contract, which is JSON.

    >>> contract("collection-v1").splitlines()[1]
    '  "$schema": "https://json-schema.org/draft/2020-12/schema",'

    Raises:
        KeyError: no schema has that name.
    """
    if name not in contracts():
        raise KeyError(name)
    return (FOLDER / f"{name}.json").read_text(encoding="utf-8")
