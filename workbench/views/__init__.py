"""Pure renderings of one object: text, DataFrame, HTML, matplotlib Figure."""
