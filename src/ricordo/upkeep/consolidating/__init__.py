"""Consolidation: one memory where several say the same, the newer where they disagree."""
