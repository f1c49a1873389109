"""Pin what is fetched by a name that may move: images by their digest, actions by their commit.

    python docker/pin.py           rewrite the files; asks registries through docker, and repositories through git
    python docker/pin.py --check   name what is not pinned, and end with 1 if anything is

The tag stays beside each pin, so that the same command pins what the tags have become. It needs Python alone, so that
a release can check itself before it installs anything.
"""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = [
    ROOT / "docker" / "Dockerfile",
    ROOT / "docker" / "compose.yaml",
    *sorted((ROOT / ".github" / "workflows").glob("*.yaml")),
]

#: An image with its tag: an argument of the Dockerfile, or a key in YAML. Our own image has no tag, and is not found.
IMAGE = re.compile(
    r"^(?P<head>.*(?:IMAGE=|IMAGE: |image: ))(?P<name>[a-z0-9][\w./-]*:[\w.-]+)(?P<pin>@sha256:[0-9a-f]{64})?$",
    re.MULTILINE,
)

#: An action, by a tag, or by a commit with its tag behind it.
ACTION = re.compile(
    r"(?P<head>uses: )(?P<name>[\w-]+/[\w./-]+)@(?:(?P<pin>[0-9a-f]{40}) # )?(?P<tag>[\w.-]+)$", re.MULTILINE
)


def unpinned(text: str) -> list[str]:
    """List what a file fetches by a name that may move."""
    found = [each["name"] for each in IMAGE.finditer(text) if each["pin"] is None]
    return found + [f"{each['name']}@{each['tag']}" for each in ACTION.finditer(text) if each["pin"] is None]


def pinned(text: str) -> str:
    """Return the text of a file with all pins as the tags stand now."""
    text = IMAGE.sub(lambda each: f"{each['head']}{each['name']}@{digest_of(each['name'])}", text)
    return ACTION.sub(
        lambda each: f"{each['head']}{each['name']}@{commit_of(each['name'], each['tag'])} # {each['tag']}", text
    )


@cache
def digest_of(image: str) -> str:
    """Return the digest of an image for all architectures."""
    command = ["docker", "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}"]
    return required(r"sha256:[0-9a-f]{64}", said(command), image)


@cache
def commit_of(action: str, tag: str) -> str:
    """Return the commit of a tag of an action."""
    owner, repository = action.split("/")[:2]
    url, name = f"https://github.com/{owner}/{repository}", f"refs/tags/{tag}"
    command = ["git", "ls-remote", url, name, f"{name}^{{}}"]
    # Of an annotated tag, the commit is in the second line; in the first, the tag itself.
    lines = said(command).splitlines()
    return required(r"[0-9a-f]{40}", lines[-1].split()[0] if lines else "", f"{action}@{tag}")


def said(command: list[str]) -> str:
    """Run a command, and return what it says; it ends this one if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def required(pattern: str, found: str, name: str) -> str:
    """Return what was found if it is a pin."""
    if not re.fullmatch(pattern, found):
        sys.exit(f"{name}: no pin was found, but {found!r}")
    return found


def main() -> None:
    """Pin all files, or check them."""
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    if "--check" in sys.argv[1:]:
        loose = [f"{path.relative_to(ROOT)}: {name}" for path, text in texts.items() for name in unpinned(text)]
        if loose:
            cure = "not pinned: run python docker/pin.py, look at what it changed, and commit it"
            sys.exit("\n".join([*loose, cure]))
        return
    # All are asked for before one is written, so that a failure leaves the files as they are.
    for path, text in {path: pinned(text) for path, text in texts.items()}.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
