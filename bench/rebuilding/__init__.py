"""All vectors of a user are made anew while everybody searches."""
