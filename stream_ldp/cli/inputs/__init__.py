"""This package reads the files of the commands: records, item sets and populations."""
