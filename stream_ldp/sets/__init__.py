"""Heavy hitters of a population of item sets, found by methods of several phases, which ask some users each."""
