"""Text has a contrast of 4.5 on everything it can stand on, in both of JupyterLab's themes as they are installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from workbench.views.style import PALETTE, TOKENS, css

Colour = tuple[float, float, float]
THEMES = Path(sys.prefix) / "share" / "jupyter" / "lab" / "themes" / "@jupyterlab"


class Theme(NamedTuple):
    """What is read from a theme's style sheet; texts are blended over what they stand on."""

    dark: bool
    ground: Colour
    text: tuple[Colour, float]
    quiet: tuple[Colour, float]
    raised: Colour


def theme(name: str) -> Theme:
    sheet = (THEMES / f"theme-{name}-extension" / "index.css").read_text()

    def value(variable: str) -> str:
        return str(re.findall(rf"--jp-{variable}:([^;}}]*)", sheet)[-1])

    ground = colour(value("layout-color1"))[0]
    layout2 = colour(value("layout-color2"))[0]
    return Theme(
        name == "dark",
        ground,
        colour(value("ui-font-color1")),
        colour(value("ui-font-color2")),
        blend(layout2, ground, 0.5),
    )


def colour(text: str) -> tuple[Colour, float]:
    """A CSS colour and its opacity: `white`, `#eee`, `rgba(0,0,0,.87)`, `var(--name,#212121)`."""
    text = re.sub(r"var\([^,]*,([^)]*)\)", r"\1", text).strip()
    if text == "white":
        return (255.0, 255.0, 255.0), 1.0
    if text.startswith("rgba"):
        *parts, opacity = (float(part) for part in text[5:-1].split(","))
        return (parts[0], parts[1], parts[2]), opacity
    digits = text.removeprefix("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    red, green, blue = (float(int(digits[at : at + 2], 16)) for at in (0, 2, 4))
    return (red, green, blue), 1.0


def blend(front: Colour, back: Colour, share: float) -> Colour:
    red, green, blue = (one * share + other * (1 - share) for one, other in zip(front, back, strict=True))
    return red, green, blue


def contrast(front: Colour, back: Colour) -> float:
    """The contrast ratio of WCAG 2."""
    light, dark = sorted((luminance(front), luminance(back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(of: Colour) -> float:
    parts = [part / 255 for part in of]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def tints(of: Theme) -> dict[str, Colour]:
    return {
        name: blend(
            colour(accent.dark if of.dark else accent.light)[0],
            of.ground,
            (accent.dark_tint if of.dark else accent.light_tint) / 100,
        )
        for name, accent in PALETTE.items()
    }


@pytest.fixture(params=["light", "dark"])
def look(request: pytest.FixtureRequest) -> Theme:
    return theme(request.param)


def test_text_is_readable_on_the_ground_on_what_is_raised_and_on_every_tint(look: Theme) -> None:
    text, opacity = look.text
    for ground in (look.ground, look.raised, *tints(look).values()):
        assert contrast(blend(text, ground, opacity), ground) >= 4.5


def test_quiet_text_is_readable_on_the_ground(look: Theme) -> None:
    text, opacity = look.quiet
    assert contrast(blend(text, look.ground, opacity), look.ground) >= 4.5


def test_code_is_readable_on_the_ground_and_on_every_tint(look: Theme) -> None:
    for light, dark in TOKENS.values():
        token = colour(dark if look.dark else light)[0]
        for ground in (look.ground, *tints(look).values()):
            assert contrast(token, ground) >= 4.5


def test_accents_of_borders_and_bars_stand_out(look: Theme) -> None:
    for name in ("added", "removed"):
        accent = colour(PALETTE[name].dark if look.dark else PALETTE[name].light)[0]
        assert contrast(accent, look.ground) >= 3


def test_quiet_text_is_quiet_only_where_nothing_is_tinted() -> None:
    rule = next(line for line in css().splitlines() if ".workbench-card) .workbench-quiet" in line)
    assert all(f".workbench-{name}" in rule for name in PALETTE)


def test_every_variable_of_jupyterlab_has_a_fallback() -> None:
    assert re.findall(r"var\(--(?:jp|vscode)-[a-z0-9-]+\)", css()) == []


def test_only_the_workbench_s_own_classes_are_styled() -> None:
    without_blocks = re.sub(r"\{[^}]*\}", "{}", css())
    classes = set(re.findall(r"\.([a-z][a-z-]*)", without_blocks))
    assert {name for name in classes if not name.startswith("workbench")} == {"vscode-dark"}


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert not re.search(r"url\(|@import|https?:", css())
