"""Tokenizers: those of current models, exact, and a bound for all others."""

from memory_service.adapters.tokenizers.tables import load_tokenizers

__all__ = ["load_tokenizers"]
