"""Pure text work: normalising and slugs. The one analyser for both databases lives here."""
