"""Heavy hitters of a population of item sets, found by methods of several phases, each of which asks some users."""
