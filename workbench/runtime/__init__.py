"""The small core: events, key-value models, one turn as a pure function, and what runs turns."""
