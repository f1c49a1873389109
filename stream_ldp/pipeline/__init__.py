"""From batches of reports to questions about windows: pure, and without knowledge of any kind of collection."""
