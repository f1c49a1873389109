"""Key-value data: which keys users hold, and the mean of the numbers that they hold with each."""
