"""After a fact was corrected: what is shown as current on each path."""
