"""The samples of the reference and of its Python SDK, as a user would write them."""
