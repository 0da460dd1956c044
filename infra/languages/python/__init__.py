"""Python source code by its syntax tree; nothing is imported and nothing runs."""
