"""The contract of clients in any language: one suite, and a process for each language."""
