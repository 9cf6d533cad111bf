"""Wordings with which a question is not answered, English and Chinese: one pattern a line, by kind of evasion (F4).

Each is tried at the beginning of a clause (lower case, straight apostrophes) from which what only leads in was taken
off; one that may come later in the clause begins with `.*`. Words that also stand in answers ("a later flight",
晚点的那班) count only with what makes an evasion of them.
"""

from __future__ import annotations

import re
from typing import Final

_NOT: Final = r"(?:do ?n'?t|do not|did ?n'?t|ca ?n'?t|can ?not|could ?n'?t|wo ?n'?t|will not|would ?n'?t)"
_ADVERB: Final = (
    r"(?:(?:really|honestly|actually|quite|exactly|just|even|still|yet|currently|fully|too"
    r"|so|all that|100 ?%|completely|entirely|totally|very) )*"
)
_WHAT: Final = (
    r"(?=$| (?:yet|that|it|what|which|where|when|who|how|why|if|whether|about|right now|now"
    r"|for sure|either|at all|anymore|off|honestly|tbh|myself)\b)"
)
_TELL: Final = r"(?:say|tell|answer|share|discuss|disclose|reveal|comment|talk about|get into|go into)(?:ing)?"
_LATER: Final = (
    r"(?:later(?: on)?|another (?:time|day)|some other time|some (?:time|day) soon|afterwards"
    r"|in a (?:bit|while|moment|minute)|next time)"
)
_WILL: Final = (
    r"(?:(?:i|we)?(?:'?ll| will|'?m going to|'?re going to| am going to| want to| need to"
    r"| have to|'ve got to|'d have to|'d need to| must| should| might| gotta)|(?:need|have"
    r"|want) to|will|got to|gotta)"
)

UNKNOWING: Final = (
    (
        rf"(?:i|we)?(?: (?:really|honestly|just|still))* ?{_NOT} {_ADVERB}(?:know|remember"
        rf"|recall|tell){_WHAT}"
    ),
    r"dunno|idk|beats me|search me|(?:god|who|heaven|goodness) knows|your guess is as good",
    (
        r".*(?:\bno|\bnot|n't)(?: got)?(?: an?| any| the)? (?:\w+ )?(?:ideas?|clues?|faintest"
        r"|foggiest|thoughts|opinion)\b"
    ),
    rf"(?:i'm |i am |we're |that's |it's |am )?(?:not|n't) {_ADVERB}(?:sure|certain)\b",
    (
        r"(?:i'm |i am |we're |it's |that's )?(?:still )?(?:unsure|undecided|unclear|open"
        r"|torn|up in the air|to be (?:decided|confirmed)|tb[acd]\b)"
    ),
    (
        r"(?:it's |that's )?(?:hard|difficult|tough|impossible|too (?:early|soon)) to (?:say"
        r"|tell|know)"
    ),
    (
        r".*\b(?:have not|haven't|hasn't|didn't|did not|not|never) (?:\w+ )?(?:decide|made up (?:my"
        r"|our) mind|figured (?:it|that)?|"
        r"thought (?:about|of|that)|settled|chosen|picked|discussed|worked (?:it|that) out)"
    ),
    (
        r"(?:it|that)? ?(?:all )?depends\b|(?:i )?(?:completely |totally )?(?:forgot|forget)$"
        r"|(?:that's |it's |what )?(?:a )?(?:tough|hard|tricky) (?:one|question|call|choice)"
        r"|(?:i'm )?on the fence"
    ),
    (
        r"(?:i'm |i am |we're )?(?:still )?(?:just )?(?:thinking(?! of)|deciding|debating"
        r"|considering|weighing|mulling)\b"
    ),
)
POSTPONING: Final = (
    (
        r"(?:let me|let us|let's) (?:just |first |maybe |quickly )?(?:think|check|see|ask"
        r"|get back|sleep on|consider|find out|wait|come back|decide|look (?:it|that|into))\b(?! in\b)"
    ),
    (
        r"(?:let's|we can|we could|we'll|i'll|let me) (?:\w+ )?(?:discuss|talk about|do|leave"
        r"|skip|park|postpone|decide|get to) (?:it|that|this|on (?:it|that))\b"
    ),
    (
        rf" ?{_WILL} (?:first |need to |have to |really )*(?:think\b|sleep on|get back|find out"
        rf"|figure|look (?:it|that|into)|tell you|let you know|"
        r"come back to|make up my mind|decide(?! on)\b|consider|check(?! in| out| bags?| luggage)\b"
        r"|ask(?! for)\b|discuss|see$|be in touch)"
    ),
    rf"(?:maybe |perhaps |ask me |remind me |tell you |some other )?{_LATER}$",
    (
        rf".*\b(?:ask|try|remind|tell|bug) (?:me|you) (?:again|{_LATER}|next|tomorrow|about (?:it"
        rf"|that) {_LATER})"
    ),
    rf".*\b(?:decide|discuss|answer|handle|settle|figure|tell|say|choose|pick|talk)\b.{{0,16}} {_LATER}$",
    r"not (?:right |just )?now\b",
    (
        r"(?:please )?(?:give me|i need|i'd need|need|i want) (?:a |some |more |a bit |of "
        r"|a little )+(?:sec|second|minute|min|moment|time)\b(?! (?:slot|zone|off))"
    ),
    (
        r"(?:hold on|hang on|wait|one (?:sec|second|moment)|just (?:a|one) (?:sec|second|moment"
        r"|minute)|we'll see|stay tuned)\b(?! (?:until|till|for))"
    ),
)
LEAVING: Final = (
    (
        r"(?:oh |just )?(?:whatever|whichever|wherever|whenever|anything|either(?: one| way)?"
        r"|any(?: of (?:them|those))?)"
        r"(?:$| (?:is (?:fine|ok|okay|good|best|easiest)|are|works?|suits?|you|goes|will|would"
        r"|sounds?|seems?|really|i guess)\b)"
    ),
    (
        rf"(?:i|we)?(?: really)? ?{_NOT} {_ADVERB}(?:mind|care)(?=$| (?:either|at all|which"
        rf"|what|where|when|really|about (?:it|that|which|what)))"
    ),
    (
        r"(?:i have |i've )?(?:no|got no) (?:particular |strong |real )?(?:preference|opinion)s?$"
        r"|none in particular"
    ),
    (
        r".*\b(?:up to you|your (?:call|choice|pick|decision)|you(?:'ll| can| should| may)? (?:decide"
        r"|choose|pick)\b|surprise me|(?:doesn'?t|does not) (?:really )?matter"
        r"|makes no difference|all the same to me|same to me|as you (?:like|wish|please|prefer))"
    ),
    r"you tell me|you(?:'re| are) the (?:expert|boss)|if you say so",
)
REFUSING: Final = (
    (
        rf".*\b(?:rather not|prefer not(?: to)?|not (?:going|gonna)(?: to)?|{_NOT}(?: {_ADVERB}(?:want"
        rf"|wish|care|like|feel like|need|have)(?: to)?)?|refuse(?: to)?"
        rf"|decline(?: to)?|not comfortable|not allowed to|not at liberty to) {_TELL}\b"
    ),
    r"(?:i'd |i would )?(?:rather not|prefer not(?: to)?)$",
    (
        r"(?:i'd |i would |i'll )?(?:rather )?keep (?:that|it|this) (?:to myself|private|secret)"
        r"|none of your|mind your own|not telling|no comment|(?:that|it)(?:'s| is) (?:\w+ )?(?:private"
        r"|personal|confidential|a secret|classified)"
    ),
    (
        r"(?:pass|skip(?: (?:it|that|this)(?: (?:one|question|part))?)?|next(?: question| one)?"
        r"|private|never ?mind|forget (?:about )?(?:it|that)|drop it"
        r"|no answer|leave (?:it|that|this)(?: (?:blank|open|empty|out|for now|alone))?)$"
    ),
    r".*\b(?:don't|stop) ask(?:ing)?\b(?! (?:him|her|them|for)\b)",
)
ASKING_BACK: Final = (
    (
        r"(?:why|what|how|who|which|where|when)(?:'s|'re)? (?:do|does|did|would|should|are"
        r"|is|was|can|could|will|about|if)\b"
    ),
    (
        r"(?:why|what|which|how|who|where|when|huh|eh|pardon|come again|says who|why so)(?: me"
        r"| exactly| now| that| this| not| one| ones)?$"
    ),
    (
        r".*\b(?:what|which)(?: \w+)? (?:do|would|should|can) you\b|(?:and|how about|what about) you$"
        r"|(?:can|could|would|will) you\b|(?:can|could) we (?:talk|do|go|change|move|skip"
        r"|start)\b"
    ),
    r"is (?:that|it) (?:important|necessary|required)|does (?:it|that) matter",
    (
        rf"(?:i|we)? ?{_NOT} {_ADVERB}(?:understand|follow|get (?:it|that|the question|what))"
        rf"|(?:i'm )?not following"
    ),
    r"(?:please )?(?:say|repeat|rephrase|explain) (?:that|it|yourself)(?: again)?$",
)
SUPPOSING: Final = (
    r"(?:if|suppose|supposing|what if|maybe|perhaps|assuming)\b",
    r"如果|要是|假如|可能|也许|或许|说不定|万一|假设",
)

_SAY_ZH: Final = r"(?:说|谈|讲|聊|答|回答|回复|透露|告诉|讨论|公开)"
_END_ZH: Final = r"(?:你|您|吧|啊|呀|啦|了|呢|哦|喔|的|哈|嘛|它|这个|那个|一下|一声)*$"
_THINK_ZH: Final = (
    r"(?:想一?想|考虑|琢磨|看一?看|看一下|查一?[查下]|问一?[问下]|想一下|商量|确认|合计|权衡"
    r"|斟酌|核实)"
)
_SOON_ZH: Final = (
    r"(?:以后|回头|待会儿?|等会儿?|等一?下|稍后|晚[点些]|过一?会儿?|过几天|改天|下次|明天"
    r"|之后|到时候?)"
)

UNKNOWING_ZH: Final = (
    r".{0,6}?不(?:太|是很|大|怎么|很|能)?(?:知道|清楚|确定|肯定|了解|记得|晓得|好说|明确)",
    (
        r".{0,4}?(?:说不(?:准|好|上来|清|定)|难说|想不(?:起来|出来?|到)|拿不(?:准|定)|没(?:有"
        r"|什么|啥|个)*(?:想法|概念|主意|头绪|印象|把握|数|谱)(?:$|[呢啊了]))"
    ),
    (
        r".{0,6}?(?:没有?|未|尚未)(?:完全|最终|最后)?(?:想好|想过|想清楚|想出来|决定|定(?=$"
        r"|[下好了呢啊])|确定|考虑|拿定主意|打算好|计划好|商量好|安排好|选好)"
    ),
    (
        r"(?:还?在|正在|有点儿?|比较)?(?:考虑|犹豫|纠结|商量)(?:中|着(?:呢|$)|呢|要|去|是"
        r"|一下|$)"
    ),
    r"(?:忘了|忘记了?|记不(?:得|清|住)了?|待定|未定|一言难尽)$|(?:谁|天|鬼|哪)(?:才)?知道",
    r"(?:要?得?|主要)?(?:看情况|视情况|取决于|不一定)",
)
POSTPONING_ZH: Final = (
    rf"(?:让|容|等)我们?(?:先|再|去|好好|自己|仔细|回去|稍微)*{_THINK_ZH}",
    rf"(?:得|要|需要|必须|想|打算)?(?:先|再|去|好好|回去|自己)+(?:跟|和|同|找)?.{{0,6}}?{_THINK_ZH}{_END_ZH}",
    (
        rf"(?:得|需要|必须)(?:跟|和|同).{{0,6}}?{_THINK_ZH}|(?:得|需要)(?:想|考虑|问|查|看"
        rf"|确认)一?[下想问查看]|要(?:想一?想|考虑)"
    ),
    rf"(?:等.{{1,10}}|想好了?|定了|决定了|先.{{0,5}})(?:再|就|会)?(?:{_SAY_ZH}|定|决定){_END_ZH}",
    (
        rf"(?!(?:明天|以后|之后)(?:$|吧)){_SOON_ZH}(?:我|咱们?)?(?:再|来|会)*(?:给|跟|和|向)?(?:你"
        rf"|您)?(?:再)?(?:{_SAY_ZH}|看|定|决定|想|考虑|选|回)?{_END_ZH}"
    ),
    rf"(?:先|再)+(?:说|看|议|讨论|等等|缓缓|放放|放着|空着|留着|这样放着){_END_ZH}",
    r"(?:等等(?![^我让])|稍等|等一下|等一等|且慢|别急|不急|不着急)",
    rf"先?不(?:{_SAY_ZH}|急|定|决定|管|考虑|填){_END_ZH}|(?:不方便|不想|不能|没法){_SAY_ZH}",
    rf"有(?:空|时间|结果|消息|了).{{0,4}}(?:再|会)?(?:{_SAY_ZH}|通知)",
)
LEAVING_ZH: Final = (
    r"(?:随便|随意|任意)(?:你|您|啦|吧|呗|了|都行|都可以|什么都行|哪个都行|来|选|挑|定)*$",
    (
        r"无所谓|(?:怎样|怎么|什么|啥|哪[个种天里儿些]?|谁|几点|多少).{0,4}都(?:行|可以|好"
        r"|成|没问题|没关系|一样|能)"
    ),
    rf"(?:两个|这些|那些)?都(?:行|可以|成|ok|没问题|好|一样|没关系){_END_ZH}",
    (
        rf"(?:还是|就)?(?:由|让|请|听|看|任|凭|给|随)?(?:你|您)们?(?:来|帮我|自己|去)?(?:定"
        rf"|决定|选|挑|看着办|看|做主|作主|安排|拿主意|说了算|说|推荐|建议)?{_END_ZH}"
    ),
    r"看着办|没(?:有|什么|啥)*(?:特别的?)?(?:要求|偏好|所谓|讲究)|不在乎|不重要|不挑$",
)
REFUSING_ZH: Final = (
    (
        rf"(?:这个|那个|这事)?(?:我)?(?:不想|不愿意?|不肯|不方便|不便|不打算|懒得|没必要|不太想"
        rf"|不能|拒绝|不必|没法)(?:再|跟|和|对|向)*(?:你|您)?{_SAY_ZH}"
    ),
    (
        rf"不(?:告诉|说|讲){_END_ZH}|无可奉告|(?:这|这个|那)?(?:是|属于|要)?(?:个人|我的)?(?:保密"
        rf"|秘密|隐私|私事|机密){_END_ZH}"
    ),
    rf"先?(?:跳过|略过|算了|不答|下一(?:个|题|项)(?:问题)?|空着|留空){_END_ZH}",
    (
        r"(?:别|不要|不许|少)(?:再)?问(?!他|她|了他)|(?:不用|用不着|轮不到)(?:你|您)管|不?关(?:你"
        r"|您)(?:的|什么|啥|屁)?事"
    ),
)
ASKING_BACK_ZH: Final = (
    (
        r"换(?:一?个)(?:问题|话题)|.{0,4}?(?:为什么|为啥|干嘛|干吗|凭什么|怎么)(?:要|老|想"
        r"|非要|总|会|突然|都)?(?:你)?(?:问|知道|想知道|关心|打听)"
    ),
    r"问(?:这|那)(?:个|些)?(?:干嘛|干吗|做什么|干什么|做啥)|.{0,6}?(?:什么|啥|几个)意思",
    (
        r"(?:你|您)(?:们)?(?:觉得|认为|猜|呢|怎么(?:看|想)|有什么|有啥|推荐|建议|说呢|是说"
        r"|指)"
    ),
    r"没(?:听|看|太|搞|弄)*(?:懂|明白|清楚)|不(?:太)?(?:懂|明白|理解)|再说一[遍次]",
    (
        r"(?:有)?(?:哪些|哪个|哪种|什么|啥|怎么说|怎么讲|为什么|为啥)(?:选择|区别|不同|推荐"
        r"|建议)?[的呢啊呀]?$"
    ),
)

KINDS: Final = {
    "unknowing": (*UNKNOWING, *UNKNOWING_ZH),
    "postponing": (*POSTPONING, *POSTPONING_ZH),
    "leaving": (*LEAVING, *LEAVING_ZH),
    "refusing": (*REFUSING, *REFUSING_ZH),
    "asking back": (*ASKING_BACK, *ASKING_BACK_ZH),
    "supposing": SUPPOSING,
}
EVASION_RE: Final = re.compile("|".join(f"(?:{pattern})" for patterns in KINDS.values() for pattern in patterns))

LEAD_RE: Final = re.compile(
    r"(?:(?:well|so|and|but|or|oh|ah|um+|uh+|er+m?|hm+|honestly|frankly|actually|really"
    r"|to be honest|tbh|sorry|i'm afraid|look|listen|you know"
    r"|i mean|good question|at the moment|right now|for now|at this point|currently|i'm sorry"
    r"|though|although|because|since|then|as i said|yeah no)\b[\s:]*"
    r"|嗯+|呃+|额+|唔+|哦+|啊|这个嘛|那个嘛|那么|但是?|不过|可是|所以|因为|抱歉|不好意思"
    r"|老实说|说实话|其实|好问题|我们?|咱们?"
    r"|还|也|真的?(?!好|棒|正)|现在|目前|暂时|一时|确实|实在|完全|有点儿?|反正)+"
)
"""What only leads in to what a clause says."""
EMPTY_RE: Final = re.compile(
    r"(?:(?:well|so|oh|ah|um+|uh+|er+m?|hm+|sorry|thanks?|thank you|thx|bye|goodbye|good night"
    r"|see you|haha+|lol|please|good question|interesting|very|much|so much)\b[\s]*"
    r"|呃+|额+|唔+|谢谢[你您]?|多谢|再见|拜拜|抱歉|不好意思|哈哈+|这个嘛?|那个嘛?|好问题)+"
)
"""Clauses that say nothing: sounds, thanks, farewells."""
CONTRAST_RE: Final = re.compile(r"(?:but|though|although|however|only)\b|但是?|不过|可是|只是|就是")
"""What begins a clause that only qualifies what was said before it."""
UNSURE_RE: Final = re.compile(
    rf"(?:i'm |i am )?(?:not|n't) {_ADVERB}(?:sure|certain)\b|(?:我)?(?:也|还)?不(?:太"
    rf"|是很|大|完全)?(?:确定|肯定)"
)
"""Doubt that says no more than how sure the answer after a "but" is."""
ASIDE_RE: Final = re.compile(
    r"(?:maybe|perhaps|可能吧?|也许吧?|或许吧?)$|(?:no idea|not (?:\w+ )?(?:sure|certain)"
    r"|(?:i )?don't know|dunno|undecided)\b.* (?:about|on|of|for) (?:the|my|our|a|any)\b"
    rf"|{UNSURE_RE.pattern}|.*(?:isn't|is not|aren't|are not) (?:\w+ )?(?:decided|settled"
    rf"|fixed)"
    r"|(?!我|还|现在|目前|这个|那个|暂时|也|但|所以|因为)[\u4e00-\u9fff]{1,5}(?:还|也)?(?:没有?"
    r"|未|待)(?:定|想好|决定)"
)
"""Doubts that an answer said before them outlives: about how sure it is, or about something else."""
TAG_RE: Final = re.compile(
    r"(?:is that |would that be |if that's )?(?:ok(?:ay)?|alright|all right|fine|please)\b.*"
    r"|(?:好|行|可以|成)(?:吗|吧|不行?|不好)?.{0,3}"
)
"""A question at the end that only asks whether the answer is accepted."""
