"""The subcommands of `llm-splitter`, one module each; `pipeline/__main__.py` lists them."""
