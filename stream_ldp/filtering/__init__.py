"""Windows combined with earlier ones: levels that move, shrinkage, and weights of windows."""
