"""Heavy hitters of a population of item sets: methods as phases, each of which asks some users one question."""
