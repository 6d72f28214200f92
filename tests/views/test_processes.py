"""What holds for a fresh process: nothing heavy is loaded to show text and HTML, and the picture is always the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOW = """
import sys
from tests.views.making import ECHO, read_modify_write, typed
replay = read_modify_write().replay(typed(ECHO), kv_model="per-turn")
for shown in (replay, replay.divergence, *replay.turns):
    print(repr(shown), shown.text(), shown._repr_html_())
print(sorted({"pandas", "matplotlib", "ipywidgets", "anywidget"} & set(sys.modules)))
"""


def shown_by_a_new_process(hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


def test_the_same_words_and_pictures_in_every_process_with_nothing_heavy_loaded() -> None:
    first, second = shown_by_a_new_process("1"), shown_by_a_new_process("2")
    assert first == second
    assert first.rstrip().endswith("[]")
