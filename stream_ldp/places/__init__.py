"""Collections of places: how many users are where, told within a region and at an epsilon of each user's choice."""
