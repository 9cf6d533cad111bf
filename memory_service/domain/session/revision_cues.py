"""Wordings that revise what was decided or is still open: something else instead, or nothing any more (S2)."""

from __future__ import annotations

import re
from typing import Final

_LEAD: Final = (
    r"(?:(?:h+m+|oh|ah|ok(?:ay)?|sorry|well|and|but|so|um+|uh+|then|you know what)[\s,.!…]+"
    r"|[哦嗯呃啊唉哎那]+[\s,，]*|(?:但是?|不过|好吧|抱歉)[\s,，]*)*"
)
_MARKS: Final = r"[\s,，.。;:!！、…-]"
_TURN_AWAY: Final = (
    r"scrap (?:that|it|this)(?: one| idea| plan)?\b|never ?mind(?: (?:that|it|about (?:it|that)))?(?=$|\s*[,.;!])"
    r"|forget (?:about )?(?:that|it|this)(?=$|\s*[,.;!])|on (?:second thoughts?"
    r"|reflection)\b|undo that\b|strike that\b"
    r"|(?:i|we)(?:'ve| have)? (?:just )?changed (?:my|our) minds?\b(?! about)|change of (?:plans?|mind)\b"
    r"|(?:i|we) take (?:that|it) back\b|forget (?:that )?i said (?:that|it|anything)\b"
    r"|(?:还是|要不)?算了(?=$|[\s,，。!！吧])吧?|我?又?(?:改|改变)(?:了)?主意了?|我?(?:又)?(?:后悔|反悔|变卦)了"
    r"|推翻重来|计划(?:有变|变了)|当我没说|我收回(?:刚才的话)?|刚才?说的不算"
)
_CORRECT: Final = (
    r"actually,? no|(?:wait|hold on|hang on),? no|no,? (?:wait|hold on|hang on|actually)|correction|sorry,? no"
    r"|wait(?=,)"
    r"|不对|不是(?=[,，])|不+(?=[,，])|等等|等一下|慢着|更正|我?说错了|我?想了想"
)
TURN_AWAY_RE: Final = re.compile(rf"{_LEAD}(?:{_TURN_AWAY}){_MARKS}*", re.IGNORECASE)
"""Begins a sentence that turns away from what came before: alone it withdraws, with something new it replaces."""
CORRECT_RE: Final = re.compile(rf"{_LEAD}(?:{_CORRECT}){_MARKS}+", re.IGNORECASE)
"""Begins a sentence that puts something else in the place of what came before; alone it says nothing."""
ACTUALLY_RE: Final = re.compile(rf"{_LEAD}(?:actually|rather|i mean){_MARKS}+", re.IGNORECASE)
"""Revises only with a bare value after it: "actually, June", but not "actually, I live in Leeds"."""

_ANCHOR: Final = r"^(?:please |then |so |no,? |ok(?:ay)?,? |let's |let us |we should )?"
_THING: Final = r"(?:it|that|this|them|(?:the|my|our) [\w' -]{1,30}?)"
CHANGE_RE: Final = re.compile(
    r"\bmake (?:it|that|them) (?!clear|work|quick|short|easy|happen|so\b"
    r"|up\b|better|look|sound|simple|sure|through)\S"
    rf"|{_ANCHOR}(?:change|switch|move|push|shift|swap|postpone|reschedule|bring) {_THING} "
    r"(?:over |back |forward |up )?(?:from .{1,24} )?(?:to|for|until|till)\b"
    rf"|{_ANCHOR}(?:we'll |i'll |i'd rather |we'd rather )?(?:take|use|do|book|have|go|give me|put|try|pick|choose)\b"
    r".{1,60}\binstead\b(?! of \w+ing)"
    r"|^(?:\w+\W+){1,5}instead\W*$|^not (?!yet|sure|really|now|today|bad"
    r"|at all|much|that)(?:[\w']+ ){0,2}[\w']+,? (?:but )?(?:[\w']+ ?){1,3}\W*$"
    r"|\b(?:doesn't|does not|won't|can't) (?:work|suit|fit|do)\b[^.;]*[,;] ?(?:so )?(?:let's"
    r"|make|take|we'll|i'll)\b|^(?:\w+\W+){1,6}(?:rather than|instead of) (?!\w+ing\b)"
    r"|(?<![没刚会已])(?:改|换|调整?|挪)(?:成|到|为|用|在|至|订|选|坐|走|买|吃|住|做)(?!了|过|什么|哪|谁|多少|新)"
    r"|(?<![修更批])改(?=[一二两三四五六七八九十\d]|周|星期|明|后天|早|晚)(?!一下)|(?:推迟|提前|延后|延期)到"
    r"|(?:不行|不合适|不方便|没空|太.{1,2})[,，](?:那|就|还是)?[^,，]{1,10}吧"
    r"|^(?:那|就)?换(?!个话题|一)[^了,，]{1,8}吧",
    re.IGNORECASE,
)
"""Names what comes instead, with no need of a cue at the beginning."""
STILL_RE: Final = re.compile(r"^(?:还是|那?就|那)(?=.{1,16}吧)|^(?:i|we)(?:'d| would) rather\b", re.IGNORECASE)
"""After a cue what comes instead: "还是在咖啡馆吧", "we'd rather drive"."""
PLAN_RE: Final = re.compile(
    r"^(?:i|we)(?:'re| are|'m| am) going\b|^(?:i|we)(?:'ll| will)\b|^我们?(?:要|去|打算|准备)", re.IGNORECASE
)
"""What comes instead, after a cue that speaks of plans or minds."""
MIND_RE: Final = re.compile(r"chang|thought|scrap|主意|计划|悔|变卦", re.IGNORECASE)

WITHDRAW_RE: Final = re.compile(
    rf"{_ANCHOR}(?:also )?(?:cancel|drop|skip|scrap|strike|leave out|forget(?: about)?) (?:that|it|this|the|my|our)\b"
    r"|\bcall (?:it|that|(?:the|my|our) \w+) off\b|\b(?:is|are|'s) (?:all )?off(?=$|[,.!;]| now| then)"
    r"|^(?:no,? |ok(?:ay)?,? |then )?let's not\b|(?:\bnot|n't|\bno longer)\b[^,.;]{1,50}\b(?:after all|any ?more)\b"
    r"|(?:^|\b(?:there's|there is) )no (?:longer )?need (?:to|for)\b|\byou (?:don't|do not) (?:need|have) to remind\b"
    r"|(?:^|[\u4e00-\u9fff,，])(?:先|也|就|都|再)?(?:不用|不必|不需要|无需|不|别|甭)(?:再)?"
    r"(?!行|好|得|错|见|对|懂|知|清|过|同|太|是|够|止|久|管用|起|到|住"
    r"|敢|记|能|会|疼|痛|累|怕|下雨)[\u4e00-\u9fff]{1,4}了(?=$|[,，。!！吧])"
    r"|(?:取消|作罢|作废)(?:掉)?(?:吧|了吧|掉|好了|了)?(?=$|[,，。!！])"
    r"|^(?:把.{1,12})?取消(?:掉)?(?=[\u4e00-\u9fff])",
    re.IGNORECASE,
)
"""Says that something is off."""

VALUE_RES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:mon|tues?|wednes|thurs?|fri|satur|sun)day\b|(?:周|星期|礼拜)[一二三四五六日天末]|\bweekend\b",
        (
            r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
            r"|(?<!\d)(?:1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月(?!\d)"
        ),
        (
            r"\b\d{1,2}(?::\d{2})?\s?(?:am|pm)\b|\b\d{1,2}:\d{2}\b|\b(?:noon|midnight)\b|\b\d{1,2} o'clock\b"
            r"|(?:\d{1,2}|[一二两三四五六七八九十]{1,3})点(?:半|钟)?"
        ),
        r"\b(?:today|tonight|tomorrow)\b|今天|今晚|明天|明晚|后天",
        r"\b\d{1,2}(?:st|nd|rd|th)\b|(?:\d{1,2}|[一二三四五六七八九十]{1,3})[号日](?!楼)",
        (
            r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)\b(?! ?(?:am|pm|o'clock))"
            r"|(?:\d+|[一二两三四五六七八九十]{1,3})(?=[个人晚天张间份位次杯块])|第[一二三四五六七八九十]"
        ),
    )
)
"""Sorts of values: a bare one stands for the value of its sort in what it revises."""
FILLING_RE: Final = re.compile(
    r"\b(?:make|change|switch|move|push|shift|put|let's|let us|we'll|i'll"
    r"|do|go|with|for|to|on|at|in|by|from|it|that|this|them|the|instead"
    r"|please"
    r"|rather|then|better|take|book|it's|sorry|ok|okay|well|no|wait|actually"
    r"|let)\b|改(?:成|到|为|在)?|换(?:成|到)?|调(?:整)?(?:成|到)?|挪到"
    r"|推迟到|提前到|还是|那就|就|那|吧|在|的|定|要|个|[^\w]",
    re.IGNORECASE,
)
"""Words of a revision that say nothing beside its value."""
