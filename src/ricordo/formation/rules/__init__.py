"""Formation without a language model: rules for English and Indonesian, precise before complete."""
