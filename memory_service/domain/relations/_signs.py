"""The wordings that tell how a statement stands to what was said before: a pattern a sign, both languages.

The patterns read normalised text, which is in lower case.
"""

from __future__ import annotations

import re
from typing import Final

_DAY: Final = (
    r"(?:today|tonight|tomorrow|now|mon|tues|wednes|thurs|fri|satur|sun|monday|this|next|last|january|february"
    r"|march|april|may|june|july|august|september|october|november|december|\d{4}|the \d|yesterday)"
)

# It was so and is so no longer, or: it became so. Says that something changed.
CHANGE_RE: Final = re.compile(
    r"\b(?:no longer|any ?more|not any ?more|these days|nowadays|from now on|going forward)\b"
    r"|\b(?:has|have|['\u2019]ve|['\u2019]s|had|was|were|been|got|been|be|just|finally|recently"
    r"|officially)\s+(?:\w+ly\s+|just\s+"
    r"|finally\s+|been\s+)?(?:moved?|switched|changed|swapped|replaced|gone (?:from|to|off|up|down|back"
    r"|over)|become|shifted|migrated|renamed|re-?opened"
    r"|taken over|stopped|quit|left|joined|sold|bought|retired|resigned|promoted|cancelled|canceled|scrapped"
    r"|dropped|withdrawn|diverted|pushed|extended|shortened|raised|lowered|cut|split|merged|closed"
    r"|split up|separated"
    r"|engaged|divorced|handed|posted|upgraded|downgraded|turned|grown|gone off|given up|converted"
    r"|revoked|lifted)\b"
    r"|\b(?:moved|switched|changed|swapped|migrated|shifted|transferred"
    r"|converted)\s+(?:\w+\s+){0,4}?(?:to|from|over|into"
    r"|in|out|off|back|round|around|away)\b"
    r"|\b(?:gave up|given up|giving up|took over|taken over|takes over|stepped down|handed (?:\w+ ){0,4}over"
    r"|traded (?:\w+ ){0,3}in|grew out of|went off|gone off|done with|got rid of|moved out|moved in"
    r"|moved away|moved on"
    r"|dropped out|got (?:engaged|married|divorced)|broke up|split up|took (?:\w+ ){0,4}off|put (?:\w+ )?back"
    r"|pushed (?:\w+ ){0,3}(?:back|to)|rolled (?:\w+ )?back|is back|are back|['\u2019]s back|back to"
    r"|back in|back on"
    r"|mine again|again until|rejoined|resumed|reinstated)\b"
    r"|\b(?:go(?:es|ing|ne)?|went|is|are|was|['\u2019]s|put|bump(?:ed|s)?|nudged|topped|crept|jumped|climbed|came|come)"
    r"(?:\s+(?!to\b)[\w'\u2019-]+){0,4}?\s+(?:up|down|back|forward)\s+(?:to|from|by|on|with|at|in)\b"
    r"|\b(?:slid|slides|slipped|slips|rose|rises|risen|fell|falls|dropped|drops|jumped|crept|climbed|increased|increases"
    r"|decreased|extended|cut|lowered|raised|gone|went|goes)\s+(?:to|from)\s+[$\u20ac\u00a3]?(?:\d|half|quarter|net)"
    r"|\b(?:takes?|taking) over\b|\breinstated\b|\bbehind (?:me|us)\b|\b(?:said|say) goodbye to\b|\bparted ways\b"
    r"|\b(?:ported|rewrote|rewritten|archived|decommissioned|ditched|dumped|ousted|superseded|phased out|no more)\b"
    r"|\bon \S+(?: \S+)? again\b|\bas of\b|\bfrom (?:this|that|next|here|then)\b"
    r"|\b(?:quit|resigned|retired|renamed|replaced|sold|scrapped|reopened|abandoned|converted|withdrawn"
    r"|torn out|torn down"
    r"|redesigned|cancelled|canceled)\b"
    rf"|\b(?:since|starting|beginning|effective|as of|from)\s+{_DAY}(?!\S*(?:\s+\S+)?\s+(?:to|till|until|through)\b)"
    r"|\bnew\b.{0,30}\b(?:this (?:season|year|week|month|term)|it['\u2019]s)\b|\bgot a new\b"
    r"|\bi['\u2019]ve been \w+ since\b"
    r"|\bused to\b|\bgone from\b|\bwent from\b|\bstopped\s+\w+ing\b|\bstarted\s+(?:the\s+)?\w+\s+(?:grade"
    r"|year)\b"
    r"|\b(?:gone|sold|over)\s*,"
    r"|改成|改为|改到|改用|改由|改回|改名|改[了在上打坐拉乘走吃喝住周]|换成|换到|换[了作上租]|换为|换完"
    r"|转到|转为|转放|转给|转岗|转正|转[了投]|搬到|搬去|搬[了进出回家]|挪到|迁到|迁[至往入]"
    r"|移到|移交|移[至给]|升到|升为|升成|升[了级至五四三六]|降到|降为|降[了至]|调到|调[至往成去]|延到"
    r"|延[长后期至]|推迟|提前[到了至]|拉长|缩短|放宽|收紧|涨[到了至价]|跌"
    r"|不再|不用.{0,6}了$|再也不|从(?:今天|明天|现在|本周|这周|下周|周[一二三四五六日]"
    r"|[一二三四五六七八九十\d]+月|今年|本学期|这学期|上周|昨天|下个?月)[^,。\uff0c]{0,4}(?:起|开始|后)?"
    r"|如今|目前已|以后(?:就|都|别|不|改|由)|今后|往后|恢复|重新|又回|回到|回归|取消|停了|停用|停掉|停办"
    r"|撤了|撤[销掉]|拆了|卖了|卖掉|退了|退掉|退休"
    r"|退[出伍]|离职|辞[职了]|跳槽|入职|接手|接任|接替|上任|卸任|戒了|戒掉|戒[烟酒]|断了|关了|倒闭|分手"
    r"|离婚|结婚了|订婚|搬家|毕业了|不[^,。\uff0c]{1,6}了(?:$|[,。\uff0c])"
    r"|交给|交接给|移交|接管|接过|转由|改找|回退|退回|[吃用改坐住走骑穿喝搬调换转变]回|上调|下调|挪[了后前到]"
    r"|(?:以后|之后|往后|今后)(?!再说|的|见|吗)|换[^,。]{1,5}了|由[^,。]{1,6}(?:接|负责|管)|说了算的?改"
    r"|变了|变成|变为|没了|放弃|作废|更新为|更名|如今|这阵子起|起改|把[^,。\uff0c]{1,8}(?:戒|卖|改|换|拴"
    r"|搬|撤|停|退)",
)

# May say so: something new, or a present that a past stands against.
HINT_RE: Final = re.compile(
    r"\bnow\b(?!\s+and then)|\binstead\b|\bfinally\b|\bas of\b|\b(?:took|taken|taking) up\b|\bstarted\b"
    r"|\bsigned up\b|\bnew\b|\bagain\b"
    r"|\blately\b|\brecently\b|\bsince\b|\b(?:latest|last) (?:week|month|year|winter|summer|spring|autumn"
    r"|test|exam|check)\b|\bout of order\b"
    r"|现在|眼下|终于|已经|开始|开通|装上|上个?[周月]|今年|新[的买换来]|刚|最近|查出|又",
)

# Says in so many words that what was said before was wrong.
CORRECTION_RE: Final = re.compile(
    r"\bcorrection\b|\b(?:i|we) (?:meant|misread|misspoke|got (?:it|that) wrong|was wrong|mistyped"
    r"|misheard)\b|^misread\b|^no, "
    r"|\bnot \S+ as i said\b|\bmy mistake\b|\b(?:scratch|ignore) (?:that|my|what)\b|\bi said .{1,30}\bbut\b"
    r"|(?:^|[,\uff0c。!\uff01]|我|你|上次|上回|之前|刚才|前面|昨天|一直|可能|肯定|都|是|又|啊|哦)"
    r"[说记写弄搞看听打数](?:错|岔|混|串)|更正|纠正|口误|笔误|^不是[,\uff0c]|我是说|刚才说的?不对",
)

# Only under a condition, on an occasion, in a place: stands beside a rule and does not replace it.
SCOPE_RE: Final = re.compile(
    r"\b(?:except|unless|apart from|other than|just this once|this once|one[- ]off|only (?:for|on|when|if"
    r"|in|at|this|today|tonight)"
    r"|the (?:one |only )?exception|for today|for tonight|today only|when i['\u2019]m|if i['\u2019]m"
    r"|if it['\u2019]s|in case"
    r"|fill(?:ing)? in|for work trips|after (?:one|two|three|four|five|six|seven|eight|nine|lunch|dark|dinner)"
    r"|(?:is|are)(?: all)? (?:fine|okay|ok|all right|alright)|on holiday|at the office)\b"
    r"|除非|除了|只限|仅限|仅此|例外|这次|这回|今晚|(?<!从)今天(?!起|第)|就这一次|下不为例|破例|的话|要是"
    r"|如果|假如|万一|时候才|没事|没关系",
)

MORE_RE: Final = re.compile(
    r"\b(?:also|as well|too|another|in addition|besides|my other|a second)\b|也(?!不)|还(?!是|没|有点)"
    r"|另外|另一|同时|兼",
)

DETAIL_RE: Final = re.compile(
    r"\b(?:especially|particularly|mainly|mostly|above all|in particular|specifically|namely|called|named"
    r"|ideally|at most|at least"
    r"|no more than|up to|including|though|when it comes to|preferably|best)\b"
    r"|尤其|特别是|特别(?=爱|喜欢)|主要|多半|最好|其中|里面?我?(?:只|最|专)|偏爱|专挑|叫|名叫|至少|最多"
    r"|不超过|超过|大概|大约|拿手|一绝|定在|等等",
)

QUESTION_RE: Final = re.compile(r"[?\uff1f]\s*[\"'\u201d\u2019)]*\s*$|[吗么嘛]\s*[。!\uff01]?\s*$")
HYPOTHETICAL_RE: Final = re.compile(
    r"^(?:imagine|suppose|supposing|what if|pretend|let['\u2019]s say|hypothetically|if i (?:were|had|was"
    r"|could))\b"
    r"|\b(?:i might|i may|perhaps i|maybe i|i could|thinking of|thinking about|considering)\b"
    r"|^(?:假设|想象)|也许|可能会|说不定|在考虑|考虑要不要",
)

# Told of one day: an event, which says little about what holds.
MOMENT_RE: Final = re.compile(
    r"\b(?:today|yesterday|last night|this morning|just now|right now|tonight|spent|saw|watched|overheard"
    r"|dropped)\b"
    r"|今天|昨天|昨晚|刚才|刚刚|今早|梦见|看到|看见|路过",
)

# Who has looked knows: what is said after checking stands against what was only said.
VERIFIED_RE: Final = re.compile(
    r"\b(?:(?:double|re)?-?checked|confirmed|verified|measured|counted(?: again)?|looked (?:it |this |that )?up"
    r"|dug (?:it )?out"
    r"|(?:asked|rang|called|phoned) (?:him|her|them|the|up)|turns out|it says|says here|signed copy|in writing)\b"
    r"|确认过?|核对|核实|查[了过到]|问过|翻[到出]|量[了过]|数[了过]|白纸黑字|打电话问|原来(?=是|他|她|它|那)",
)

# Goes back to what held before.
RETURN_RE: Final = re.compile(
    r"\bback (?:with|to|on|in|at|for|doing|using)\b|\bback\s*[.!]|\bagain\b"
    r"|\bre(?:join|instat|sum|stor|vert)\w*|\breturn(?:ed|ing)? to\b|\b(?:like|as) (?:it was )?before\b|\bonce more\b"
    r"|又|[换吃用改搬坐住转调退迁挪拿走]回|回(?:到|归)|(?:还是|实实|重新|再|已经|决定)回|恢复|重新|还是|照旧|原来的",
)

# For a while, whose end need not be named: an exception to what holds, and no change of it.
PASSING_RE: Final = re.compile(
    r"(?<!of )(?<!from )(?<!starting )(?<!since )\bthis (?:week|weekend|month|morning|afternoon|evening)\b"
    r"|\b(?:today|tonight) only\b|\bfor (?:now|the moment|the time being|(?:the )?(?:next|coming|rest)"
    r"|(?:a|an|one|two|three|four|five|six|\d+|a few|a couple of) (?:bit|while|days?|nights?|weeks?"
    r"|fortnight|months?))\b|\b(?:un)?till?\b|\btemporar"
    r"|(?<!从)这(?:周|两天|几天|两周|个月|阵子)(?!起|开始)|暂时|临时|先.{0,4}几天|接下来|未来|直到",
)

# Several things in one statement.
LIST_RE: Final = re.compile(
    r"\b[\w'\u2019-]+(?:, [\w'\u2019 -]+)*,? (?:and|&) \w|[\u4e00-\u9fff](?:和|、|跟|及|以及)[\u4e00-\u9fff]"
)

# This week and no other, whatever changes in it.
ONLY_NOW_RE: Final = re.compile(
    r"(?<!of )(?<!from )(?<!starting )(?<!since )(?<!effective )\bthis (?:week|weekend|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday)\b|^in (?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december)\b|(?<!从)(?<!自)(?:本|这个?)(?:周|星期|礼拜)(?:末|[一二三四五六日天])?(?!起|开始)|^[一二三四五六七八九十]{1,2}月(?=[^,。]{1,12}改到)"
)
# A day on which a time or a place is another one.
TODAY_RE: Final = re.compile(
    r"(?<!of )(?<!from )(?<!starting )\b(?:today|tonight|tomorrow)\b|(?<!从)(?<!自)[今明]天(?!起|开始)|今晚"
)

# The past, as a state that is over, told without what took its place.
PAST_RE: Final = re.compile(r"\bused to\b|\bonce\b|\bformerly\b|以前|曾经|当过|从前|过去|原来")

ALL_RE: Final = re.compile(
    r"\b(?:all|every|everyone|everybody|always|only|whole|entire|each|both|ever)\b|都|全|总|一律|每|只"
    r"|一向|必|顿顿|凡",
)
NONE_RE: Final = re.compile(
    r"\b(?:none|never|nobody|no one|no|not (?:one|a|any)|neither|without)\b|从不|从来不|从没|绝不|一个也"
    r"|一点都|滴酒不沾|没有任何|没有一",
)
SELF_SUBJECT_EN_RE: Final = re.compile(
    r"(?:^|[,.;:]\s*|\b(?:and|but|so|because|that|when|if|is how)\s+)(?:i|we|the user)\b(?!['\u2019]?s\b)"
)

PREFERENCE_RE: Final = re.compile(
    r"\b(?:like|love|enjoy|prefer|fond of|fan of|keen on|mad about|favou?rites?|adore|crazy about|into)\b"
    r"|喜欢|偏爱|偏好|最爱|爱(?=[吃喝听看用玩去穿逛读泡睡坐])|钟爱|热衷|对胃口",
)
# Phrases of dislike: each is a negator and the word of liking at once.
DISLIKE_RE: Final = re.compile(
    r"\bcan(?:['\u2019]?t|not) (?:stand|bear|abide)\b|\bleaves? (?:\w+ )?cold\b|\bput(?:s"
    r"|ting)? (?:\w+ )off\b|受不了|受不住|吃不消",
)
# What only sounds like an end: "we ended up moving".
ENDED_UP_RE: Final = re.compile(
    r"\b(?:end|ended|ending|wind|wound|finish|finished) up\b|\bacross the board\b|\bas such\b"
)
# A question that denies: 谁说我海鲜都过敏？
WHO_SAYS_RE: Final = re.compile(r"谁说(?:我|的)?|\bwho (?:says|said|told you)(?: that)?\b")
# Whole phrases that deny: each is one negator, whatever words it holds.
DENIAL_RE: Final = re.compile(
    r"\b(?:frightens?|scares?|scared|afraid|terrifies|terrified|bothers?|mind|fears?|frightened|annoys?"
    r"|upsets?)\b"
    r"|\b(?:have|has|had|['\u2019](?:ve|s)) (?:stopped|given up|quit)\b|\bleave \w+ out of\b"
    r"|\bkeep(?:s)? clear of\b"
    r"|\brather not\b|\bin(?:to)? (?:a rash|hives)\b|\bskip\b|\bthe only \w+\b(?=[^,.]* (?:not|n['\u2019]t)\b)"
    r"|^\s*无(?!论)|滴酒不沾|免了|过敏|见[了到]就(?:跑|躲|烦)|免谈|敬谢不敏|(?<=[一])碰[^,。]{0,8}就",
)
# Nobody but her: only she.
NOBODY_BUT_EN_RE: Final = re.compile(
    r"\b(?:nobody|no one|none|no \w+) (?:but|except|other than|apart from|besides)\b"
)
NOBODY_BUT_ZH_RE: Final = re.compile(
    r"除了([^,。]{1,6}?)(?:以外|之外|外)?[,\uff0c]?(?:没有?(?:别的?|其他|人)|谁[都也](?:没有?|不)"
    r"|都?没有?(?:别的?|其他|人))"
)
# What follows is set against what is said: "tea rather than coffee", 茶而不是咖啡.
CONTRAST_RE: Final = re.compile(
    r"\b(?:rather than|instead of|as opposed to)\b|,\s*(?=not\b)|而不是|而非|(?<!不)(?<!是)(?=不是)"
)
PREFERRED_OVER_RE: Final = re.compile(
    r"\b(prefers?|choose|chooses|chose|picks?|favou?rs?|likes?|loves?|any day|every time)\b([^,.;]{0,40}?)\bover\s"
)
PREFERRED_TO_RE: Final = re.compile(
    r"\b(prefers?|sooner|rather)\b(?!\s+to\b)([^,.;]+?)(?<!\bdue)(?<!\bclose)(?<!\bnear)(?<!\bnext)(?<!\bback)(?<!\bgoing)"
    r"(?<!\baccording)(?<!\bused)(?<!\bup)\s(?:to|than)\s"
)
PREFERRED_ZH_RE: Final = re.compile(r"(?:比起|与其|相比)([^,\uff0c更还宁不我]+)[,\uff0c]?")
