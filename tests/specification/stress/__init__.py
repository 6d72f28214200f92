"""Many turns, many instances, many executions: small enough for every run, larger behind `--long`."""
