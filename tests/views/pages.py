"""Reading a rendering as a browser would: its elements, their attributes, its words."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import NamedTuple

VOID = {"br", "img"}


class Element(NamedTuple):
    """An element with its attributes; `words` is the text inside it."""

    tag: str
    attributes: dict[str, str | None]
    words: list[str]

    @property
    def text(self) -> str:
        return "".join(self.words)


class Page(HTMLParser):
    """All elements of a rendering in document order; raises when they are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        assert not self._open, "unclosed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), "an attribute twice"
        element = Element(tag, dict(attrs), [])
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag, "closed out of order"

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.words.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def all(self, tag: str) -> list[Element]:
        """The elements of one tag."""
        return [each for each in self.elements if each.tag == tag]

    def focusable(self) -> list[Element]:
        """The elements that move the focus."""
        return [each for each in self.elements if "data-focus" in each.attributes]
