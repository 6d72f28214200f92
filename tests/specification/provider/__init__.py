"""The validation suite of `workbench.store`, run over every provider there is."""
