"""What the service understands of text by rule, in English and Chinese alike; pure, and never by guesswork.

Storability and comparison keys, lexical terms, language, kind and topic of a statement, the times it names, and
its polarity.
"""

from memory_service.domain.text.analysis import DEFAULT_OPTIONS, AnalysisOptions, analyse, analyse_query
from memory_service.domain.text.calendar_math import Granularity, TimeSpan
from memory_service.domain.text.classify import Classification, StatementKind, classify
from memory_service.domain.text.negation import Polarity, polarity
from memory_service.domain.text.scripts import Language, language_of
from memory_service.domain.text.segment import cut_words, warm_up
from memory_service.domain.text.storable import check_storable, normalise, same_text_key
from memory_service.domain.text.topic import topic_of
from memory_service.domain.text.when import find_times, finest, window_end

__all__ = [
    "DEFAULT_OPTIONS",
    "AnalysisOptions",
    "Classification",
    "Granularity",
    "Language",
    "Polarity",
    "StatementKind",
    "TimeSpan",
    "analyse",
    "analyse_query",
    "check_storable",
    "classify",
    "cut_words",
    "find_times",
    "finest",
    "language_of",
    "normalise",
    "polarity",
    "same_text_key",
    "topic_of",
    "warm_up",
    "window_end",
]
