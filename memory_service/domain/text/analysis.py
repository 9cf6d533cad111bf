"""Lexical terms for BM25, in English, Chinese and mixed text.

One analyser serves the index and the queries, so that a term means the same on both sides. English words lose
stop words and endings (Snowball); Chinese (with kana, Hangul and the unspaced scripts of South-East Asia)
becomes character n-grams, words, or both; identifiers, addresses, versions and dates are kept whole and in
parts, because people ask for either. The choices are one value, `AnalysisOptions`: an index is only readable
with the options it was written with.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import snowballstemmer

from memory_service.domain.text.scripts import HAN, MARKS, UNSPACED
from memory_service.domain.text.segment import cut_for_search
from memory_service.domain.text.stopwords import (
    CHINESE_STOP_CHARS,
    CHINESE_STOP_WORDS,
    ENGLISH_STOP,
)
from memory_service.domain.text.storable import normalise


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """What becomes a term. Part of an index's identity: change it and the index must be written again.

    Attributes:
        english_stop: drop English stop words (all are kept in a text that has nothing else).
        english_stem: Snowball stems for words in ASCII letters.
        cjk_unigrams: single characters of unspaced scripts, without stop characters.
        cjk_bigrams: adjacent pairs of them.
        cjk_words: dictionary words of two characters or more (loads the Chinese dictionary).
        cjk_stop: drop Chinese stop characters and words.
        wholes: keep `db-07.internal:5433` as one term.
        parts: and its parts (`db-07.internal`, `db`, `07`, `internal`, `5433`).
        terms_max: most terms of one text; the rest of the text is not indexed.
        term_chars_max: longer terms are cut to this many characters.
    """

    english_stop: bool = True
    english_stem: bool = True
    cjk_unigrams: bool = True
    cjk_bigrams: bool = True
    cjk_words: bool = False
    cjk_stop: bool = True
    wholes: bool = True
    parts: bool = True
    terms_max: int = 4_096
    term_chars_max: int = 64


DEFAULT_OPTIONS: Final = AnalysisOptions()

_STEM_CACHE_SIZE: Final = 65_536
_TOKEN_CACHE_SIZE: Final = 65_536

# What may join the parts of one token: db-07.internal:5433, a_b, user@host, https://x/y, O'Brien.
_JOINT: Final = r"(?:://|[-.:/@+'\u2019\\])"
_ASCII_TOKEN: Final = rf"[a-z0-9_]+(?:{_JOINT}[a-z0-9_]+)*(?:\+\+|\#)?"
_WIDE_CHAR: Final = rf"(?:[^\W{UNSPACED}]|[{MARKS}])"
# A mark on its own ("¨") is no word.
_WIDE_WORD: Final = rf"[^\W{UNSPACED}]{_WIDE_CHAR}*"
_WIDE_TOKEN: Final = rf"{_WIDE_WORD}(?:{_JOINT}{_WIDE_WORD})*(?:\+\+|\#)?"
_ASCII_TOKEN_RE: Final = re.compile(_ASCII_TOKEN)
_TOKEN_RE: Final = re.compile(rf"(?P<cjk>[{UNSPACED}]+)|{_WIDE_TOKEN}")
_HAN_RUN_RE: Final = re.compile(f"[{HAN}]+")

_OUTER_JOINT_RE: Final = re.compile(r"://|[:/@\\]")
_INNER_JOINT_RE: Final = re.compile(r"[-._+'\u2019]+")
_DECIMAL_RE: Final = re.compile(r"\d+\.\d+")
_VERSION_RE: Final = re.compile(r"v\d+(?:\.\d+)*")
_LETTERS_DIGITS_RE: Final = re.compile(r"([a-z]{2,})(\d+)|(\d+)([a-z]{2,})")
_ORDINAL_RE: Final = re.compile(r"\d+(?:st|nd|rd|th)")
_NUMBER_GROUP_RE: Final = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])")
_PHONE_RE: Final = re.compile(r"(?<![\w.])\+?\(?\d[\d ().\-]{5,28}\d(?!\w)")
_PHONE_DIGITS: Final = range(7, 16)
_DATE_RE: Final = re.compile(r"(?<!\d)(\d{4})(?:[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)|年(\d{1,2})月(\d{1,2})[日号]?)")

_DIGIT_RE: Final = re.compile(r"\d")
_NOT_DIGIT_RE: Final = re.compile(r"\D")
_ALL_JOINTS_RE: Final = re.compile(r"[-.:/@+'\u2019\\_#]+")
# Joints that only identifiers have; hyphen, slash and apostrophe also join ordinary words.
_IDENTIFIER_MARK_RE: Final = re.compile(r"[.:@+\\_#]")
_CONTRACTION_RE: Final = re.compile(r"(?:n't|'(?:s|re|ve|ll|d|m))$")
_CACHED_TOKEN_CHARS_MAX: Final = 64
_TOKEN_CHARS_MAX: Final = 1_024

_IRREGULAR_CONTRACTIONS: Final = {
    "can't": "can",
    "won't": "will",
    "shan't": "shall",
    "ain't": "is",
    "let's": "let",
}

_stemmer = snowballstemmer.stemmer("english")
_stemmer_lock = threading.Lock()


@lru_cache(maxsize=_STEM_CACHE_SIZE)
def stem_english(word: str) -> str:
    """The Snowball stem of one lower-case English word. Safe from any thread."""
    # The stemmer keeps its working word in itself, so two threads must not be inside it together.
    with _stemmer_lock:
        return str(_stemmer.stemWord(word))


def analyse(text: str, options: AnalysisOptions = DEFAULT_OPTIONS) -> list[str]:
    """The terms of a stored text, in order and with repetition.

    At most `options.terms_max`. Empty only for text without letters or digits. Never raises for any string
    (with `cjk_words`, InternalError when the dictionary is not installed).
    """
    folded = normalise(text)
    terms = _terms(folded, options)
    if not terms and (options.english_stop or options.cjk_stop) and folded:
        # "To be or not to be" must stay findable.
        terms = _terms(folded, _without_stops(options))
    return terms


def analyse_query(text: str, options: AnalysisOptions = DEFAULT_OPTIONS) -> list[str]:
    """The terms of a query: the same terms as `analyse` gives, each once, in order of first appearance.

    A question's repetition is not emphasis, so a term weighs once. Never raises, as `analyse`.
    """
    return list(dict.fromkeys(analyse(text, options)))


def _without_stops(options: AnalysisOptions) -> AnalysisOptions:
    return replace(options, english_stop=False, cjk_stop=False)


def _terms(folded: str, options: AnalysisOptions) -> list[str]:
    terms: list[str] = []
    limit = options.terms_max
    for is_cjk, token in tokens(folded):
        terms.extend(_cjk_terms(token, options) if is_cjk else token_terms(token, options))
        if len(terms) >= limit:
            break
    if _DIGIT_RE.search(folded):
        terms.extend(_spanning_terms(folded))
    if len(terms) > limit:
        del terms[limit:]
    longest = options.term_chars_max
    return [term if len(term) <= longest else term[:longest] for term in terms]


def tokens(folded: str) -> Iterator[tuple[bool, str]]:
    """The tokens of a normalised text in order, each with whether it is a run of an unspaced script."""
    pattern = _ASCII_TOKEN_RE if folded.isascii() else _TOKEN_RE
    for match in pattern.finditer(folded):
        yield match.lastgroup == "cjk", match.group()


def _cjk_terms(run: str, options: AnalysisOptions) -> list[str]:
    """N-grams and words of one run of an unspaced script, in order of their first character."""
    terms: list[str] = []
    stops: frozenset[str] = CHINESE_STOP_CHARS if options.cjk_stop else frozenset()
    last = len(run) - 1
    unigrams, bigrams = options.cjk_unigrams, options.cjk_bigrams
    for at, char in enumerate(run):
        # A run of one character has no pair, so it must stand for itself.
        if (unigrams or last == 0) and char not in stops:
            terms.append(char)
        if bigrams and at < last and not (char in stops and run[at + 1] in stops):
            terms.append(run[at : at + 2])
    if options.cjk_words:
        for han in _HAN_RUN_RE.findall(run):
            # With bigrams on, a word of two characters is already there.
            shortest = 3 if bigrams else 1 if not unigrams else 2
            stop_words = CHINESE_STOP_WORDS if options.cjk_stop else frozenset()
            terms.extend(word for word in cut_for_search(han) if len(word) >= shortest and word not in stop_words)
    return terms


def token_terms(token: str, options: AnalysisOptions = DEFAULT_OPTIONS) -> tuple[str, ...]:
    """The terms of one token of a spaced script, as `tokens` gives it."""
    if len(token) > _CACHED_TOKEN_CHARS_MAX:
        return _compute_latin_terms(token[:_TOKEN_CHARS_MAX], options)
    return _cached_latin_terms(token, options)


@lru_cache(maxsize=_TOKEN_CACHE_SIZE)
def _cached_latin_terms(token: str, options: AnalysisOptions) -> tuple[str, ...]:
    return _compute_latin_terms(token, options)


def _compute_latin_terms(token: str, options: AnalysisOptions) -> tuple[str, ...]:
    terms: list[str] = []
    token = _plain_word(token)
    if not _ALL_JOINTS_RE.search(token):
        _add_word(token, options, terms)
    else:
        _add_compound(token, options, terms)
    return tuple(terms)


def _plain_word(token: str) -> str:
    """Undo possessives and contractions: `user's` and `users'` lose the ending, `don't` its `n't`."""
    if "'" not in token and "\u2019" not in token:
        return token
    token = token.replace("\u2019", "'")
    if token in _IRREGULAR_CONTRACTIONS:
        return _IRREGULAR_CONTRACTIONS[token]
    return _CONTRACTION_RE.sub("", token)


def _add_word(word: str, options: AnalysisOptions, terms: list[str]) -> None:
    """One unjoined word or number, and the halves of `room204` and `7pm`."""
    if not word.isascii():
        word = _without_accents(word)
    if options.english_stop and word in ENGLISH_STOP:
        return
    if word.isalpha():
        terms.append(stem_english(word) if options.english_stem and word.isascii() else word)
        return
    terms.append(word)
    halves = _LETTERS_DIGITS_RE.fullmatch(word)
    if options.parts and halves is not None and not _ORDINAL_RE.fullmatch(word):
        terms.extend(
            stem_english(half) if options.english_stem and half.isalpha() else half
            for half in halves.groups()
            if half
        )


def _without_accents(word: str) -> str:
    """`café` as `cafe`; words that are not Latin letters plus accents are left as they are."""
    bare = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return bare if bare.isascii() else word


def _add_compound(token: str, options: AnalysisOptions, terms: list[str]) -> None:
    """A joined token: whole, then by its outer joints, then by its inner ones."""
    if _DECIMAL_RE.fullmatch(token):
        terms.append(token)
        return
    words = [word for word in _ALL_JOINTS_RE.split(token) if word]
    if not words:
        return
    if all(map(str.isalpha, words)) and not _IDENTIFIER_MARK_RE.search(token):
        _add_joined_words(token, words, options, terms)
        return
    if options.wholes:
        terms.append(token)
        if _VERSION_RE.fullmatch(token):
            terms.append(token[1:])
    if not options.parts:
        return
    pieces = [piece for piece in _OUTER_JOINT_RE.split(token) if piece]
    for piece in pieces:
        inner = [part for part in _INNER_JOINT_RE.split(piece) if part]
        if options.wholes and len(pieces) > 1 and len(inner) > 1:
            terms.append(piece)
        for part in inner:
            part = part.rstrip("#+")
            if part:
                _add_word(part, options, terms)


def _add_joined_words(token: str, words: list[str], options: AnalysisOptions, terms: list[str]) -> None:
    """`soft-play`, `and/or`, `O'Brien`: ordinary words; hyphens and apostrophes also close up (`e-mail`)."""
    for word in words:
        if len(word) > 1:
            _add_word(word, options, terms)
    if "/" not in token:
        closed = "".join(words)
        terms.append(stem_english(closed) if options.english_stem and closed.isascii() else closed)


def _spanning_terms(folded: str) -> list[str]:
    """Canonical forms of what is written in several ways: dates, telephone numbers, grouped digits."""
    terms: list[str] = []
    for match in _DATE_RE.finditer(folded):
        year, month, day = (part for part in match.groups() if part)
        canonical = f"{year}-{int(month):02d}-{int(day):02d}"
        if canonical != match.group():
            terms.append(canonical)
    for match in _PHONE_RE.finditer(folded):
        digits = _NOT_DIGIT_RE.sub("", match.group())
        if len(digits) in _PHONE_DIGITS and digits != match.group():
            terms.append(digits)
    terms.extend(match.group().replace(",", "") for match in _NUMBER_GROUP_RE.finditer(folded))
    return terms
