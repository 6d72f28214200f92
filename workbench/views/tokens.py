"""Python source in colours: every token escaped, four kinds of it in a class of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

from workbench.views.markup import Html, element, escape

_CSS: Final = {"Keyword": "keyword", "Word": "keyword", "String": "string", "Number": "literal", "Comment": "comment"}


def coloured(lines: Sequence[str]) -> Sequence[Html]:
    """The lines as HTML, one piece each; those of a function are kept, as every turn of it shows them."""
    return _coloured(tuple(lines))


@lru_cache(maxsize=64)
def _coloured(lines: tuple[str, ...]) -> tuple[Html, ...]:
    pieces: list[list[Html]] = [[]]
    for css, tokens in groupby(_tokens("\n".join(lines)), key=lambda token: token[0]):
        for position, part in enumerate("".join(text for _, text in tokens).split("\n")):
            if position:
                pieces.append([])
            if part:
                pieces[-1].append(element("span", part, css=css) if css else escape(part))
    return tuple(Html("".join(each)) for each in pieces[: len(lines)])


def _tokens(source: str) -> Iterator[tuple[str, str]]:
    # Only who looks at code waits for it.
    from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(source):
        yield next((_CSS[name] for name in map(str, kind[:]) if name in _CSS), ""), text
