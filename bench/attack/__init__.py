"""The generated attack on formation: texts that users paste, and what is stored of them."""
