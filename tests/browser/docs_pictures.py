"""`python -m tests.browser.docs_pictures`: put the pictures that `pytest tests/browser` has kept into `docs/`, small.

They are reduced to 128 colours, which no eye tells from the original, and a repository keeps every version of them.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
ARTEFACTS, DOCS = ROOT / "artefacts", ROOT / "docs"
COLOURS = 128
PICTURES = {
    "stepper-light.png": "stepper-turn-light.png",
    "stepper-dark.png": "stepper-diverged-dark.png",
    "poisoning-light.png": "poisoning-light.png",
}
"""What a picture of the documentation is called, and which artefact it is made of."""


def write() -> None:
    """Write all of them; fails when the browser tests have not run here."""
    DOCS.mkdir(exist_ok=True)
    for name, artefact in PICTURES.items():
        with Image.open(ARTEFACTS / artefact) as picture:
            small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            small.save(DOCS / name, optimize=True)
        print(f"docs/{name}: {(DOCS / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    write()
