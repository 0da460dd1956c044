"""What languages that tree-sitter parses have in common: trees, their mutants and comments."""
