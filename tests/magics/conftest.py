"""A real kernel for the tests of magics."""

from tests.kernel import kernel, started_kernel

__all__ = ["kernel", "started_kernel"]
