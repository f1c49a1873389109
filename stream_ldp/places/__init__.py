"""Collections of places: how many users are where, within a region and at an epsilon of each user's choice."""
