"""What earlier windows say of this one: levels that are followed, shrinkage, and weights of windows."""
