"""Collections of one string of each user, whose most frequent ones are found without a list of candidates."""
