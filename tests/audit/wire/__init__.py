"""Tests of docs/wire.md: a client written from it alone reproduces all golden vectors."""
