"""Language models over HTTP, for work that no request waits for."""

from memory_service.adapters.llm.budget import Budget
from memory_service.adapters.llm.summarizer import LlmSettings, OpenAISummarizer

__all__ = ["Budget", "LlmSettings", "OpenAISummarizer"]
