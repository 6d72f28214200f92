"""The right behaviour where the reference has a defect; `test_reference_defects` lists them all."""
