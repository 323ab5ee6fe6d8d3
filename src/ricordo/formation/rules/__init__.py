"""Formation without a language model: rules for English and Indonesian, precision before recall."""
