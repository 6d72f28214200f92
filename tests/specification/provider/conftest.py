"""Assertions of the suite are rewritten, as those of tests are, so that a failure shows both sides."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("workbench.store.validation")
