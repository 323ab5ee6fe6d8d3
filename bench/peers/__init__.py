"""Other systems beside ricordo: the same turns, the same vectors, the same questions, one run."""
