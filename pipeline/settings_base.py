"""What all groups of settings have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Base of all groups of settings: immutable, and strict about unknown names."""

    # what was given may be a password; messages of our own show it where it is none
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
