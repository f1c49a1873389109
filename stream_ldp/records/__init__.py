"""Records of a few attributes each, and the joint distributions of their attributes."""
