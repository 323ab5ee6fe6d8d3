"""The read path by meaning and words: candidates, fusion, boosts, confidence."""
