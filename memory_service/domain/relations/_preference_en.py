"""English constructions that state a preference; see `preference`. X is what is liked, Y what it is set above."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from memory_service.domain.relations._sides import ALL_OTHERS, Side
from memory_service.domain.text.analysis import stem_english
from memory_service.domain.text.storable import normalise

_USER_RE: Final = re.compile(r"\bthe user('s)?\b")
_CONTRACTIONS: Final = tuple(
    (re.compile(pattern), full)
    for pattern, full in (
        (r"\bcan(?:'t|not)\b", "can not"),
        (r"n't\b", " not"),
        (r"\bi'm\b", "i am"),
        (r"\bi've\b", "i have"),
        (r"\bi'd\b", "i would"),
        (r"\b(it|there|what|thing)'s\b", r"\1 is"),
        (r"\bhave got\b", "have"),
        (r"\bfavorite", "favourite"),
        (r"\bfavor\b", "favour"),
    )
)
_OPENING_RE: Final = re.compile(
    r"^(?:(?:honestly|to be (?:honest|fair)|frankly|actually|personally|truth be told|i must say|i have to say"
    r"|well|oh|yes|you know|for me|as for me|in fact|basically)(?:, ?| ))+"
)
_CLOSING_RE: Final = re.compile(
    r"(?:,? (?:honestly|to be honest|you know|indeed|by the way|as ever|for sure|no question|if you ask me"
    r"|at all|one bit|in the least|whatsoever|either))+$"
)
# How much; after a doing alone it says how much is done ("I like eating a lot").
_MUCH_RE: Final = re.compile(
    r" (?:(?:so|very) much|a lot|a great deal|to bits|intensely|dearly|immensely|passionately|through and through"
    r"|in a big way|too|as well|really)$"
)
_SPOILT_RE: Final = re.compile(r"[\"\u201c\u201d;:()\n]")

_ADV: Final = (
    r"(?:(?:really|truly|just|do|does|absolutely|totally|genuinely|honestly|quite|simply|always|definitely|certainly"
    r"|also|so|very much|very|completely|utterly|actually|thoroughly|deeply|strongly|much|rather|particularly) )*"
)
_VERY: Final = r"(?:(?:very|really|so|quite|just|absolutely|totally|extremely|truly|completely|rather|always|also) )*"
# "Not just a fan" and "not always" deny no liking.
_QUITE: Final = r"(?:(?:really|very|particularly|especially|so|that) )*"
_SIMPLY: Final = r"(?:(?:just|really|simply) )*"
_BIG: Final = (
    r"(?:(?:big|huge|great|real|massive|total|true|avid|devoted|lifelong|life-long|keen|passionate|such a) )*"
)
_LIKE: Final = r"(?:likes?|loves?|enjoys?|adores?|digs?|relish(?:es)?)"
_HATE: Final = (
    r"(?:(?:hates?|dislikes?|detests?|loathes?|despises?|abhors?)"
    r"|can not (?:stand|bear|abide)(?! (?:up|down|still|on|in|here|there)\b)"
    r"|(?:do|does) not (?:(?:really|particularly|especially|much|very much|actually|even) )*"
    r"(?:like|enjoy|care (?:much )?for))"
)
_FOND: Final = (
    r"(?:fond of|into|keen on|(?:mad|crazy|nuts|wild) about|partial to|hooked on|obsessed with|passionate about"
    r"|enthusiastic about|big on|all about)"
)
_FAN: Final = r"(?:fan|lover|admirer|enthusiast|devotee|aficionado)"
_FAN_AFTER: Final = r"(?:fan|lover|enthusiast|devotee|aficionado|buff|nut|person|fanatic)"
_SOFT_SPOT: Final = r"(?:soft spot|weakness|passion|love|liking|fondness|thing|penchant|taste)"
_JOY: Final = r"(?:(?:a lot of|great|real|much|so much) )?(?:pleasure|delight|joy|enjoyment)"
_MINE: Final = r"(?:my (?:thing|jam|cup of tea|kind of thing|passion)|right up my (?:street|alley))"
_BE: Final = r"(?:is|are)"
_BEST: Final = (
    r"(?:(?:the )?(?:best|most)(?: of all)?|above all(?: else)?"
    r"|(?:more|better) than (?:anything|everything)(?: else)?)"
)
_FAVOURITE: Final = r"my (?:(?:absolute|all-time|very|number one) )*favourite"
_FIRST: Final = r"my (?:go-to|first choice|number one|top (?:pick|choice)|first pick)"
_CHOICE: Final = (
    r"(?:(?:given (?:the|a) choice|if i (?:have|get) (?:the|a) choice|if i (?:can|get to) choose"
    r"|if it is up to me),? )"
)
_WOULD: Final = r"(?:(?:would|will|always|definitely) )*"
_TAKE: Final = r"(?:takes?|chooses?|picks?|go(?:es)? (?:for|with)|opts? for|favours?)"
_HAVE: Final = r"(?:have|take|drink|eat|use|choose)"
_ANY_DAY: Final = r"(?: (?:any ?(?:day|time)|every time))?"
_X: Final = r"(?P<x>[^,?]+?)"
_Y: Final = r"(?P<y>[^,?]+?)"

_OVER: Final = (
    rf"i {_ADV}(?:tends? to )?prefers? (?P<x>to [^,?]+?) (?:over|rather than|instead of|than) {_Y}",
    rf"i {_ADV}(?:tends? to )?prefers? (?P<x>(?!to )[^,?]+?) (?:to|over|rather than|instead of) {_Y}",
    rf"i {_ADV}{_LIKE} {_X} (?:(?:much|a lot|far|way|a great deal) )?(?:better|more) than {_Y}",
    rf"i would (?:much |always )?rather {_HAVE} {_X} than (?:{_HAVE} )?{_Y}",
    rf"{_CHOICE}?i {_WOULD}{_TAKE} {_X} over {_Y}{_ANY_DAY}",
    rf"{_X} beats? {_Y} for me",
)
_BETWEEN_RE: Final = re.compile(
    rf"(?:given (?:the|a) choice )?between {_Y} and (?P<z>[^,?]+?),? i {_WOULD}(?:{_TAKE}|prefers?) {_X}"
)
_KIND: Final = (
    rf"{_FAVOURITE} (?P<kind>[^,?]+?) {_BE} {_X}",
    rf"{_X} {_BE} {_FAVOURITE} (?P<kind>[^,?]+?)",
)
_ABOVE: Final = (
    rf"i {_ADV}{_LIKE} {_X} {_BEST}",
    rf"(?:i {_ADV}{_LIKE} nothing|there is nothing i {_LIKE}) (?:more|better) than {_X}",
    rf"there is nothing better than {_X}(?: for me)?",
    rf"nothing beats {_X}(?: for me)?",
    rf"nothing (?:compares to|comes close to|tops) {_X} for me",
    rf"{_X} {_BE} (?:always )?{_FAVOURITE}(?: one| of all| thing(?: in the world| ever)?| by far)?",
    rf"{_FAVOURITE}(?: one| of all| thing(?: in the world| ever)?)? {_BE} {_X}",
    rf"(?:what|the (?:thing|one)) i {_LIKE} {_BEST} {_BE} {_X}",
    rf"{_X} {_BE} what i {_LIKE} {_BEST}",
    rf"it is {_X} (?:that )?i {_LIKE} {_BEST}",
    rf"i {_ADV}prefers? {_X}",
    rf"my preference is (?:for )?{_X}",
    rf"i always (?:go for|choose|pick(?! up)|opt for) {_X}",
    rf"i would (?:choose|pick|take) {_X} (?:any ?(?:day|time)|every time)",
    rf"{_X} {_BE} (?:always )?{_FIRST}",
    rf"{_FIRST} {_BE} {_X}",
    rf"{_CHOICE}i {_WOULD}{_TAKE} {_X}",
)
_LIKED: Final = (
    rf"i {_ADV}{_LIKE} {_X}",
    rf"i have (?:always|long) (?:really )?(?:liked|loved|enjoyed|adored) {_X}",
    rf"i am {_VERY}{_FOND} {_X}",
    rf"i am {_VERY}an? {_BIG}{_FAN} of {_X}",
    rf"i am {_VERY}an? {_BIG}{_X} {_FAN_AFTER}",
    rf"i am {_VERY}a sucker for {_X}",
    rf"i (?:really )?ha(?:ve|s) an? {_BIG}{_SOFT_SPOT} for {_X}",
    rf"i {_ADV}can not (?:get enough of|live without|do without) {_X}",
    rf"i never (?:get tired|tire|get bored) of {_X}",
    rf"i {_ADV}(?:take|get|find) {_JOY} (?:in|from|out of) {_X}",
    rf"{_X} {_BE} {_VERY}(?:{_MINE}|a (?:passion|favourite) of mine|one of my favourites)",
    rf"{_X} {_BE} (?:what|something|things|one of the things) i {_ADV}{_LIKE}",
    rf"(?:what|the thing|something) i {_ADV}{_LIKE} {_BE} {_X}",
    rf"{_X} (?:(?:always|really|just) )*makes? me {_VERY}happy",
    rf"{_X} (?:(?:always|really) )*(?:brings?|gives?) me {_JOY}",
    rf"{_X} (?:(?:always|really) )*(?:appeals? to me|(?:does|do) it for me|ha(?:s|ve) a special place in my heart)",
    rf"i have been an? {_BIG}{_FAN} of {_X} (?:all my life|for years)",
    rf"i have been an? {_BIG}{_X} {_FAN_AFTER} (?:all my life|for years)",
    rf"i have (?:liked|loved|enjoyed|adored) {_X} (?:all my life|for years)",
    rf"{_X}[,?] i {_ADV}{_LIKE} (?:it|them)",
)
_DISLIKED: Final = (
    rf"i {_ADV}{_HATE} {_X}",
    rf"i have never (?:really )?(?:liked|enjoyed|cared for|been (?:an? {_BIG}fan of|{_FOND})) {_X}",
    rf"i have always (?:hated|disliked|detested|loathed) {_X}",
    rf"i am {_VERY}not {_QUITE}(?:{_FOND}|(?:much of )?an? {_BIG}{_FAN} of) {_X}",
    rf"i am {_VERY}not {_QUITE}an? {_BIG}{_X} {_FAN_AFTER}",
    rf"i am no {_BIG}fan of {_X}",
    rf"i have (?:no love for|an aversion to) {_X}",
    rf"{_X} {_SIMPLY}{_BE} {_SIMPLY}not (?:really )?{_MINE}",
    rf"(?!the |an? ){_X} {_SIMPLY}{_BE} {_SIMPLY}not (?:really )?for me",
    rf"{_X} (?:do|does) not (?:really )?appeal to me",
    rf"{_X} (?:(?:always|really|just) )*(?:gets? on my nerves|annoys? me|drives? me (?:mad|crazy|up the wall))",
    rf"{_X} {_BE} (?:what|something|things) i {_ADV}{_HATE}",
    rf"(?:what|the thing|something) i {_ADV}{_HATE} {_BE} {_X}",
    rf"{_X}[,?] i {_ADV}{_HATE} (?:it|them)",
)
_DISLIKED_MOST: Final = (rf"i {_ADV}(?:hates?|dislikes?|detests?|loathes?) {_X} {_BEST}",)


def _compiled(patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_OVER_RES: Final = _compiled(_OVER)
_KIND_RES: Final = _compiled(_KIND)
# The narrower ones first: what is liked most would else be "tea most", liked.
_ORDERED: Final = (
    (True, ALL_OTHERS, _compiled(_ABOVE)),
    (False, ALL_OTHERS, _compiled(_DISLIKED_MOST)),
    (False, "", _compiled(_DISLIKED)),
    (True, "", _compiled(_LIKED)),
)
_SELF_RE: Final = re.compile(r"\b(?:i|my|me|mine)\b|^(?:nothing|there is nothing) ")
_SEPARATOR_RE: Final = re.compile(r" (?:to|over|than|instead of) ")
_ELSE: Final = frozenset({"anything", "anything else", "everything", "everything else", "all else"})

# What points at something said before, and persons: loving one is another matter than liking one.
_POINTS_RE: Final = re.compile(
    r"(?:it|this|that|these|those|him|her|he|she|you|them|they|us|we|me|i|my|your|his|our|their|one|ones|there|here"
    r"|what|who|which|both|someone|somebody|everyone|everybody)\b"
)
# "That", "it is" and the like leave a clause where a thing is looked for.
_CLAUSE_RE: Final = re.compile(r"\b(?:i|and (?:it|they|he|she|we)|it is|there is|because|so that|but)\b")
# Less than the thing, or no thing at all: "only tea", "no tea", "a huge fan".
_LESSER_RE: Final = re.compile(
    r"(?:only|just|second|least|hardly|rarely|nothing|no|neither|to no)\b"
    r"|(?:big|huge|great|real|massive|total|true|good|bad|avid|keen)$"
)
_WARM_RE: Final = re.compile(r"\b(?:likes?|enjoys?|fan|fond|keen|into)\b")
_NAME_RE: Final = re.compile(r"(?<=\w[ ,'])[A-Z][\w-]+")
_ARTICLE_RE: Final = re.compile(r"^(?:the|an?) ")
_DOING_ALONE_RE: Final = re.compile(r"to \w+|\w+ing")
_DOING_RE: Final = re.compile(r"[a-z]{2,}ing")
_NO_DOING: Final = _words(
    "spring morning evening string king ring ceiling pudding clothing nothing something everything anything thing",
    "wing sibling lightning",
)
_NO_THING: Final = (
    "out in at on up off alone late early with without from for by before after during while when if until as like",
    "to and or together outside outdoors indoors well less more only too much most enough often",
    "things stuff food drinks",
    "hot cold raw spicy sweet sour salty bitter fresh straight fast slow",
)
# Doings that say no more than the thing itself, unless what follows is no thing: "eating out", "drinking alone".
_HAVING_RE: Final = re.compile(
    rf"(?:drink|eat|use|sip)\+ (?=[a-z])(?!(?:{'|'.join(sorted(_words(*_NO_THING)))}|a (?:lot|little|bit))\b"
    r"|\w+ly\b|(?:some|any|every|no)(?:thing|where)\b)"
)
_PLURAL_APART: Final = _words(
    "glasses goods arms customs clothes spirits shorts woods manners minutes looks greens blues whites reds news",
    "thanks waters pants lots sports jeans series species",
)


def english(text: str) -> Side | None:
    """See `preference`."""
    folded = _folded(text)
    if folded is None or _SELF_RE.search(folded) is None:
        return None
    named = frozenset[str]() if text.isupper() else frozenset(map(str.lower, _NAME_RE.findall(text)))
    found = _set_above_one(folded, named) or _best_of_a_kind(folded, named)
    if found is not None:
        return found
    for likes, above, patterns in _ORDERED:
        for pattern in patterns:
            match = pattern.fullmatch(folded)
            if match is None:
                continue
            said = match.group("x")
            what = _thing(said, named)
            if what is None or (_is_named(said, named) and not _WARM_RE.search(folded)):
                return None
            return Side(likes, above, what)
    return None


def _folded(text: str) -> str | None:
    """The statement in lower case without what surrounds it; None for what is quoted, listed or asked."""
    folded = normalise(text).replace("\u2019", "'").rstrip(".! ")
    if folded.endswith("?") or _SPOILT_RE.search(folded):
        return None
    folded = _USER_RE.sub(lambda match: "my" if match[1] else "i", folded)
    for pattern, full in _CONTRACTIONS:
        folded = pattern.sub(full, folded)
    return _CLOSING_RE.sub("", _OPENING_RE.sub("", folded))


def _set_above_one(folded: str, named: frozenset[str]) -> Side | None:
    """A thing set above one other: X over Y."""
    between = _BETWEEN_RE.fullmatch(folded)
    if between is not None:
        chosen, *two = (_thing(between.group(name), named) for name in ("x", "y", "z"))
        if chosen is None or None in two or two.count(chosen) != 1:
            return None
        return Side(True, str(next(thing for thing in two if thing != chosen)), chosen)
    for pattern in _OVER_RES:
        match = pattern.fullmatch(folded)
        if match is None or match.group("y") in _ELSE:
            continue
        if _SEPARATOR_RE.search(match.group("y")):
            continue  # "to work to driving": nobody can tell which "to" it is
        what, other = _thing(match.group("x"), named), _thing(match.group("y"), named)
        return None if what is None or other is None or what == other else Side(True, other, what)
    return None


def _best_of_a_kind(folded: str, named: frozenset[str]) -> Side | None:
    """A favourite of a kind that is named: "my favourite drink is tea" is replaced by another drink, and no song."""
    for pattern in _KIND_RES:
        match = pattern.fullmatch(folded)
        if match is None or re.match(r"(?:one|of all|things?|by far|is|are)\b", match.group("kind")):
            continue
        what = _thing(match.group("x"), named)
        return None if what is None else Side(True, f"{ALL_OTHERS} of {match.group('kind')}", what)
    return None


def _is_named(said: str, named: frozenset[str]) -> bool:
    """Whether it is a name by its capitals, perhaps of a person."""
    return all(word in named for word in said.split())


def _thing(said: str, named: frozenset[str]) -> str | None:
    """What is liked, in one form; None when it points elsewhere or is no thing by itself."""
    thing = said.strip()
    shorter = _MUCH_RE.sub("", f" {thing}").strip()
    if not _DOING_ALONE_RE.fullmatch(shorter):
        thing = shorter
    if not thing or _POINTS_RE.match(thing) or _CLAUSE_RE.search(thing) or _LESSER_RE.match(thing):
        return None
    words = thing.removeprefix("to ").split()
    if thing.startswith("to ") or (_DOING_RE.fullmatch(words[0]) and words[0] not in _NO_DOING):
        return _doing(words, named)
    if len(words) > 1:
        bare = _ARTICLE_RE.sub("", thing)
        # "The dog" is one, "dogs" are all there are: of one word the article tells which is meant.
        return thing if " " not in bare and thing.startswith("the ") else _singular_of(bare, named)
    return _singular_of(thing, named)


def _doing(words: list[str], named: frozenset[str]) -> str:
    """Walking and to walk as one; drinking tea as tea."""
    if len(words) > 1 and words[0] in ("go", "going") and _DOING_RE.fullmatch(words[1]):
        words = words[1:]
    doing = " ".join((f"{stem_english(words[0])}+", *words[1:]))
    thing = _HAVING_RE.sub("", doing, count=1) if _HAVING_RE.match(doing) else doing
    if thing == doing:
        return doing
    if " " not in thing or not thing.startswith("the "):
        thing = _ARTICLE_RE.sub("", thing)
    return _singular_of(thing, named)


def _singular_of(thing: str, named: frozenset[str]) -> str:
    """One form of a noun that stands alone ("dogs", "a dog lover"); of several words no letter is touched."""
    if " " in thing or len(thing) < 4 or thing in _PLURAL_APART or thing in named or not thing.isascii():
        return thing
    if thing.endswith(("ss", "us", "is", "ings", "ics", "'s")) or not thing.endswith("s"):
        return thing
    if thing.endswith("ies") and len(thing) > 5:
        return thing[:-3] + "y"
    if thing.endswith(("ches", "shes", "xes", "oes")):
        return thing[:-2]
    return thing[:-1]
