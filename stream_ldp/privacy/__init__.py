"""A mechanism's promise, checked from outside: by enumeration of all outputs, and by attack."""
