"""What all groups of settings have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Base of all groups of settings: immutable, and strict about unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")
