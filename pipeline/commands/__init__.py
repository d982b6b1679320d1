"""The subcommands of `llm-splitter`, one module each; `pipeline/command_line.py` lists them."""
