"""The files of the home folder: prompts, the mirror of the memories, daily logs."""
