"""Write all contracts."""

from stream_ldp.schemas import FOLDER
from stream_ldp.schemas.generated import GENERATORS, generated

if __name__ == "__main__":
    for name in GENERATORS:
        (FOLDER / f"{name}.json").write_text(generated(name), encoding="utf-8")
