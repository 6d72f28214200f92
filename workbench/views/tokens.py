"""Python source in colours: every token escaped, four kinds of it in a class of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from workbench.views.markup import Html, element, escape

_CSS: Final = {"Keyword": "keyword", "Word": "keyword", "String": "string", "Number": "literal", "Comment": "comment"}


def coloured(lines: Sequence[str]) -> list[Html]:
    """The lines as HTML, one piece each."""
    pieces: list[list[Html]] = [[]]
    for css, tokens in groupby(_tokens("\n".join(lines)), key=lambda token: token[0]):
        for position, part in enumerate("".join(text for _, text in tokens).split("\n")):
            if position:
                pieces.append([])
            if part:
                pieces[-1].append(element("span", part, css=css) if css else escape(part))
    return [Html("".join(each)) for each in pieces[: len(lines)]]


def _tokens(source: str) -> Iterator[tuple[str, str]]:
    # Only who looks at code waits for it.
    from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(source):
        yield next((_CSS[name] for name in map(str, kind[:]) if name in _CSS), ""), text
