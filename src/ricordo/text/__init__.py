"""Pure text work: terms, names, dates, snippets, token counts, normalising and slugs."""
