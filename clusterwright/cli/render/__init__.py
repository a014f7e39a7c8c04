"""Answers as text for a terminal. Start with `text_table`."""
