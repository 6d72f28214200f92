"""Events and work items as JSON text."""
