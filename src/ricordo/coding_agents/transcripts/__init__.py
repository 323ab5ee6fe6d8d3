"""The session files of coding agents, read into entries. They are theirs: nothing is written."""
