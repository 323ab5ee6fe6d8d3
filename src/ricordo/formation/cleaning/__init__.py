"""What of a conversation may be learned from: everything else is cut out first."""
