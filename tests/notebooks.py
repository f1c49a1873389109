"""Run the notebooks of examples/ and keep what their cells show: `python -m tests.notebooks` writes it into them."""

import ast
import base64
import io
import json
import os
import tempfile
from contextlib import chdir, redirect_stdout
from typing import Any

from tests.paths import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "examples").glob("*.ipynb"))

_Json = dict[str, Any]


def run(notebook: _Json, *, name: str) -> dict[str, Any]:
    """Run the cells of a notebook in order, in the current folder, write down what each shows, and return its names.

    name: of the notebook, for tracebacks.
    """
    names: dict[str, Any] = {}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        tree = ast.parse("".join(cell["source"]), f"{name}, cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(tree, f"{name}, cell {number}", "exec"), names)
            value = None
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), f"{name}, cell {number}", "eval"), names)
        cell["execution_count"] = number
        text = printed.getvalue()
        said = [{"output_type": "stream", "name": "stdout", "text": lines(text)}] if text else []
        cell["outputs"] = [*said, *([shown(value, number)] if value is not None else [])]
    return names


def shown(value: Any, number: int) -> _Json:
    """Return what a notebook shows of the value of a cell: text, HTML if it has some, and the picture of a figure."""
    data: _Json = {"text/plain": lines(repr(value))}
    if hasattr(value, "_repr_html_") and (html := value._repr_html_()):
        data["text/html"] = lines(html)
    if hasattr(value, "savefig"):
        value.savefig(picture := io.BytesIO(), format="png", dpi=80, metadata={"Software": None})
        data["image/png"] = base64.b64encode(picture.getvalue()).decode()
    return {"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}}


def lines(text: str) -> list[str]:
    """Return a text as notebooks keep it."""
    return text.splitlines(keepends=True)


def main() -> None:
    """Run every notebook, and write it with what its cells show."""
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            run(notebook, name=path.name)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
