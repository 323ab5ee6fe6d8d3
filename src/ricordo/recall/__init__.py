"""Search by meaning and words: candidates, fusion, boosts, confidence."""
