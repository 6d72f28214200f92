"""The pictures of the documentation are there, small, and shown by the README."""

from __future__ import annotations

import re

import pytest
from PIL import Image

from tests.browser.docs_pictures import DOCS, PICTURES, ROOT

MOST_BYTES = 150_000


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_there_and_small(name: str) -> None:
    assert (DOCS / name).stat().st_size < MOST_BYTES
    with Image.open(DOCS / name) as picture:
        assert picture.format == "PNG"
        assert 900 < picture.width < 1200


def test_the_readme_shows_pictures_that_are_there_and_says_what_they_show() -> None:
    shown = re.findall(r"!\[([^\]]+)\]\(docs/([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {name for _, name in shown} <= set(PICTURES)
    assert "stepper-light.png" in {name for _, name in shown}
    assert all(len(words) > 20 for words, _ in shown)
