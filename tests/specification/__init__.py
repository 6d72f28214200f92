"""Every test that the two specifications and the reference name, under those names."""
