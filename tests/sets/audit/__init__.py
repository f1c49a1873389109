"""Tests of the audit of item sets."""
