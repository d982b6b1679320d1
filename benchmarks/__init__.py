"""Measurements against the tokenizer itself and against other splitters; see README.md in this folder."""
