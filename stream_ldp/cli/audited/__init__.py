"""This package reads what `stream-ldp audit` checks: a collection of any kind, or a mechanism in one word."""
