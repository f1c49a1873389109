"""This package shows plans and answers."""
