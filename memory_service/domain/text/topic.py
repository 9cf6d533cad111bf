"""A deterministic key for what a statement is about.

The key is made of the statement's own content words and claims nothing beyond them: casing, word order,
function words, adverbs of habit, and the verb of liking or disliking do not change it, so that a preference
and its reversal share one topic; any other difference in wording does. Merging paraphrases is not its task.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Final

from memory_service.domain.text.analysis import AnalysisOptions, stem_english, token_terms, tokens
from memory_service.domain.text.scripts import HAN
from memory_service.domain.text.segment import cut_words
from memory_service.domain.text.stopwords import CHINESE_STOP_WORDS
from memory_service.domain.text.storable import normalise, same_text_key

_OPTIONS: Final = AnalysisOptions(cjk_unigrams=False, cjk_bigrams=False, parts=False)
_TERMS_MAX: Final = 6
_DIGEST_BYTES: Final = 4
_BARE_KEY_CHARS_MAX: Final = 64
_TEXT_CHARS_MAX: Final = 2_000

_LETTER_HYPHEN_RE: Final = re.compile(r"(?<=[a-z])[-/](?=[a-z])")
# "The user likes tea" and "I like tea" are one claim about one person.
_SUBJECT_RE: Final = re.compile(r"^(?:the\s+user(?:'s|\u2019s)?\b|用户)")
_HEDGE_WORDS: Final = (
    "always usually normally generally typically mostly often never rarely seldom actually definitely "
    "certainly honestly probably maybe prefer like love hate enjoy dislike adore loathe detest favourite "
    "favorite favor favour fond keen fan rather stand bear abide longer anymore still now currently "
    "lately much lot quite well bit especially particularly absolutely truly simply tend rule used think "
    "guess know say "
)
_HEDGES: Final = frozenset(map(stem_english, _HEDGE_WORDS.split()))
_HAN_RUN_RE: Final = re.compile(f"[{HAN}]+")
_CHINESE_HEDGE_RE: Final = re.compile(
    "不怎么喜欢|不太喜欢|不喜欢|最喜欢|更喜欢|很喜欢|喜欢|讨厌|厌恶|受不了|偏好|偏爱|钟爱|最爱"
    "|不爱|宁愿|宁可|更愿意|倾向于|"
    "总是|老是|一般|平时|平常|通常|从来不|从来没|从来|从不|向来|一向|一直|习惯|经常|常常|每次"
    "|其实|反正|特别|非常|真的|"
    "不再|不会|不是|没有|绝对|绝不|目前|现在|已经|可能|大概|应该|还是|之前|以前|以后"
)
# 喝咖啡 is a word of the dictionary; with its object in front the same claim has two.
_VERBS: Final = frozenset("喝吃看听打做写用买读玩学去住养开穿带坐骑")
_CHINESE_HEDGES: Final = CHINESE_STOP_WORDS | frozenset("不没别爱最更再只才总常")


def topic_of(text: str, *, family: str = "") -> str:
    """The topic key of a statement.

    Up to six content stems in alphabetical order, joined by spaces; with more, a digest of the whole set
    takes the place of the rest, so that statements are never put together for what the key leaves out.
    Negation is left out: a claim and its denial are about the same thing. Digits, names, weekdays and times stay.

    Args:
        text: the statement; its first 2,000 characters count.
        family: put before the key ("preference: coffee"), to keep claims of unlike kinds apart.

    Returns:
        Never empty for text with a visible letter, digit or symbol; at most a few hundred characters.
    """
    folded = _SUBJECT_RE.sub(" ", _LETTER_HYPHEN_RE.sub(" ", normalise(text[:_TEXT_CHARS_MAX])).strip())
    terms = sorted(set(_content_terms(folded)))
    if not terms:
        key = same_text_key(text[:_TEXT_CHARS_MAX])[:_BARE_KEY_CHARS_MAX]
    elif len(terms) <= _TERMS_MAX:
        key = " ".join(terms)
    else:
        digest = hashlib.blake2b("\x1f".join(terms).encode(), digest_size=_DIGEST_BYTES).hexdigest()
        key = " ".join((*terms[: _TERMS_MAX - 1], f"+{digest}"))
    return f"{family}: {key}" if family else key


def _content_terms(folded: str) -> Iterator[str]:
    for is_cjk, token in tokens(folded):
        if not is_cjk:
            yield from (term for term in token_terms(token, _OPTIONS) if term not in _HEDGES)
            continue
        for run in _CHINESE_HEDGE_RE.split(token):
            for han in _HAN_RUN_RE.findall(run):
                yield from (word for word in _parted(han) if word not in _CHINESE_HEDGES)
            rest = _HAN_RUN_RE.sub("", run)
            if rest:
                yield rest


def _parted(han: str) -> Iterator[str]:
    """The words of a run of Chinese, with a verb parted from the object the dictionary has it with."""
    for word in cut_words(han):
        if len(word) > 2 and word[0] in _VERBS and len(cut_words(word[1:])) == 1:
            yield word[0]
            yield word[1:]
        else:
            yield word
