"""A time-travel workbench for durable orchestrations, inside Jupyter."""

__version__ = "0.1.0"
