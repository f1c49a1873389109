"""Checks of a mechanism's promise from outside: by enumeration and by attack."""
