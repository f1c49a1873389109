"""The pictures of the documentation can be made again."""

from pathlib import Path

import pytest

from tests.chromium import needs_chromium
from tests.page.pictures import main


@pytest.mark.long
@needs_chromium
async def test_one_command_makes_the_pictures_of_the_demo(tmp_path: Path) -> None:
    await main(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {"page-light.png", "page-dark.png", "page-phone.png"}
    assert all(each.read_bytes().startswith(b"\x89PNG") for each in tmp_path.iterdir())
