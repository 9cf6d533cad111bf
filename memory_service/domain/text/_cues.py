"""The wordings that tell what kind of statement a text is: a pattern a cue, both languages together."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final


class Cue(StrEnum):
    """Why a text was classified as it was. Names only: a cue never carries text of the statement."""

    QUESTION = "question"
    HYPOTHETICAL = "hypothetical"
    PROCEDURE = "procedure"
    CHANGE = "change"
    ANNIVERSARY = "anniversary"
    HABIT = "habit"
    SCHEDULE = "schedule"
    EXCEPTION = "exception"
    MOMENT = "moment"
    TEMPORARY = "temporary"
    UPCOMING = "upcoming"
    PAST = "past"
    TASK = "task"
    DENIAL = "denial"
    CONSTRAINT = "constraint"
    PREFERENCE = "preference"
    WISH = "wish"
    PROFILE = "profile"


_QUESTION_RE: Final = (
    r"[?\uff1f]\s*[\"'\u201d\u2019)]*\s*$|[吗么嘛]\s*[。!\uff01]?\s*$"
    r"|^(?:who|what|when|where|why|how|which|whose|is|are|do|does|did|can|could|would|will"
    r"|should)\b[^.!]*\?"
)
_HYPOTHETICAL_RE: Final = (
    r"^(?:if|imagine|suppose|supposing|what if|pretend|let['\u2019]s say|hypothetically)\b"
    r"|^(?:如果|假如|要是|假设|万一|想象)"
)
_PROCEDURE_RE: Final = (
    r"\bfirst\b[^.]{2,120}\b(?:then|next|after that|finally)\b|^to\s+[a-z]+[^.:]{1,60}:\s"
    r"|\bstep\s+(?:1|one)\b"
    r"|\b(?:steps?|procedure|runbook)\s*(?:(?:is|are)\b|:)"
    r"|步骤|流程(?:是|[:\uff1a])|第一步|先[^。]{1,24}(?:再|然后|接着)[^。]{1,40}(?:最后|再|然后)"
)
_DAY_WORD: Final = (
    r"(?:today|tonight|tomorrow|now|yesterday|then|morning|afternoon|evening|mon|tues?|wed|thu|fri"
    r"|sat|sun|week|month"
    r"|year|january|february|march|april|may|june|july|august|september|october|november|december)"
)
# The statement starts a lasting state, however precisely it is dated.
_CHANGE_RE: Final = (
    rf"\b(?:since|starting|beginning|effective|as of)\s+(?:(?:the\s+)?\d|(?:(?:next|this"
    rf"|last)\s+)?{_DAY_WORD})"
    r"|\bfrom\b(?<!week from)(?<!weeks from)(?<!day from)(?<!days from)(?<!fortnight from)(?<!month from)"
    rf"(?<!months from)(?<!year from)(?<!years from)\s+(?:(?:next|this|last)\s+)?{_DAY_WORD}\w*\b"
    r"(?!\s*(?:to|till|until|through)\b|\s*[-\u2013])"
    r"|\b(?:from now on|henceforth|any ?more|no longer|going forward|permanently|for good)\b"
    r"|从[^。,\uff0c]{1,8}(?:起|开始)|自[^。,\uff0c]{1,8}起|(?<!小时|分钟)(?<![天周年月])以后|今后"
    r"|往后|再也不|永久"
)
_ANNIVERSARY_RE: Final = (
    r"\bbirthday\b(?!\s+(?:party|dinner|lunch|brunch|drinks|bash|do\b))"
    r"|\banniversary\b(?!\s+(?:party|dinner|lunch))"
    r"|\b(?:was|were|been)\s+born\b|生日(?!会|聚|派对|宴|餐|饭|蛋糕)|纪念日|出生"
)
_HABIT_RE: Final = (
    r"\b(?:always|usually|normally|generally|typically|tend to|as a rule|never(?!\s+(?:have|had"
    r"|been|seen|met|heard|knew)\b|\s*[.,!]|$)|rarely|seldom"
    r"|mostly|regularly|"
    r"whenever|by default|without fail)\b"
    r"|总是|总要|老是|一般|平时|平常|通常|从不|从来|向来|一向|习惯|经常|常常|默认|每次"
)
_SCHEDULE_RE: Final = (
    r"\b(?:every|each)\s+(?:single\s+|other\s+)?(?:day|night|morning|afternoon|evening|week"
    r"|weekend|weekday|month|year|"
    r"spring|summer|autumn|fall|winter|mon|tues?|wed|thu|fri|sat|sun|january|february|march|april"
    r"|may|june|july|august|"
    r"september|october|november|december|\d|two|three|few)"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|\bweekdays\b|\b(?:daily|weekly|monthly"
    r"|yearly|nightly)\b"
    r"|\b(?:on|most)\s+(?:weekends|mornings|evenings|nights|days)\b|\b(?:once|twice|times)\s+(?:a"
    r"|per)\s+"
    r"|每[天周日月年晚早个隔逢]|每(?:星期|礼拜)|天天|工作日|一[天周][一二两三四几]次|固定"
)
_EXCEPTION_RE: Final = (
    r"\b(?:just|only)\s+(?:this\s+once|this\s+time|for\s+(?:today|tonight|now|once)|today"
    r"|tonight)\b|\bthis\s+once\b"
    r"|\bthis\s+(?:one\s+)?time(?!\s+(?:last|next|of|tomorrow|yesterday))\b|\b(?:one[- ]off|(?:as"
    r"|make)\s+an\s+exception)\b"
    r"|\b(?:today|tonight)\s+only\b|\bnever again after (?:this|that|today|tonight)\b"
    r"|\b(?:filling|standing|stepping)\s+in\s+(?:as|for)\b|\blet\s+(?:that|this|it)\s+(?:one\s+)?(?:through|slide|pass)\b"
    r"|\b(?:forget|ignore|never mind|skip)\s+(?:the|my)\s+(?:usual|cap|limit|budget|rule|diet)\b"
    r"|\bexcept\s+(?:for\s+)?(?:today|tonight|tomorrow|this\s+(?:once|time|week|one))\b"
    r"|\bback\s+to\s+(?:normal|usual)\s+(?:after|tomorrow|from|next)\b"
    r"|过了[今这明后][^。,\uff0c]{0,5}(?:恢复|照旧|照常|还是|再)|恢复原样|恢复如常|[今这][天次顿晚]不算"
    r"|[不别]用?管(?:预算|上限|规矩|忌口|老规矩)|顶替|代班|替[^。,\uff0c]{1,4}[值上]班|[只仅就]限(?:今|这|本|明)[天次晚日周]"
    r"|[这此][次回](?=就|先|要|改|换|用|不|别|例外|给|想|来|点|喝|吃|还是|只|我|按|走|坐|选|加|少"
    r"|多)|[就仅只]?这?此?一次(?:而已|吧)|下不为例|破[个一]?[次回]?例"
    r"|例外一?[次回]"
)
# A state that anyone would ask about only within hours; what may last (learning, looking for work) is not here.
_MOMENT_RE: Final = (
    r"\b(?:right now|at the moment|at this moment|as we speak)\b|这会儿|此刻|眼下|这时候"
    r"|\b(?:is|am|are|['\u2019]m|['\u2019]re|['\u2019]s)\s+(?:currently\s+|still\s+|just\s+)?"
    r"(?:waiting\s+(?:for|on|in|at|to)|watching|queue?ing|boarding|on\s+hold|about\s+to|parked|stuck\s+in"
    r"|in\s+the\s+middle\s+of|in\s+a\s+(?:meeting|call|cab|taxi|queue|waiting room))\b"
    r"|\btemporary\s+(?:\w+\s+)?(?:password|passcode|code|pin|pass|badge|desk|locker)\b"
    r"|正在?(?:等|排队|看|吃|喝|开会|上课|洗|煮|逛|听|打车|堵|过安检|登机|候机|加载|下载|充电)"
    r"|正在[^。,\uff0c]{0,6}(?:店|馆|吧|车站|机场|路上|[车机铁]上|厅|商场|楼下|医院|诊所|银行|学校|公司|办公室)"
    r"|正?在[^。,\uff0c]{0,5}(?:排队|排号|候诊|等[号位车])"
    r"|还没(?:上菜|上(?=[。,\uff0c!\uff01]|$)|到站|叫到)|临时(?:的)?[^。,\uff0c]{0,5}(?:验证码|车位|工位|通行证|停车)"
    r"|临时(?:的)?[^。,\uff0c]{0,5}(?:密码|口令|码)(?=[^。]{0,12}[0-9A-Za-z]{3})"
)
_TEMPORARY_RE: Final = (
    r"\b(?:for now|for the moment|for the time being|temporarily|until further notice|these days"
    r"|lately|"
    r"for the (?:next|coming) (?:few|couple)|this (?:week|month) only)\b"
    r"|暂时|暂且|临时(?!的?[^。,\uff0c]{0,3}(?:密码|口令|码))|最近|近期|近来|这阵子|这段时间|这段日子|这几天|这两天"
)
_TASK_RE: Final = (
    r"\b(?:remind me|to-?do\b|don['\u2019]t (?:let me )?forget to|(?:i )?must(?:n['\u2019]t"
    r"| not) forget to|"
    r"remember to(?!\s+(?:always|never|use|answer|reply|write))|"
    r"i(?:['\u2019]ve got| have| need) to (?:buy|call|ring|phone|send|book|pay|email|finish|submit"
    r"|pick up|return|renew|"
    r"fix|schedule|cancel|order|file|write to|collect|drop off|post))"
    r"|提醒我|待办(?!清单|事项|列表|软件|应用|工具)|别忘(?:了|记)?(?!我|他|她)|记得(?!我|他|她|你|是|有|很|清|曾|吗|用|写|说|回复"
    r"|称呼)|回头(?:要|得)"
)
_DENIAL_RE: Final = (
    r"\b(?:not|isn['\u2019]t|aren['\u2019]t|wasn['\u2019]t|no longer)\s+(?:\w+\s+)?(?:allergic"
    r"|intolerant|vegan|vegetarian)\b"
    r"|\bno\s+(?:\w+\s+)?allerg|不过敏|没有?[^。,\uff0c]{0,6}过敏|不再(?:过敏|吃素)"
)
_CONSTRAINT_RE: Final = (
    r"\b(?:allergic|allergy|allergies|anaphyla\w+|intolerant|intolerance|coeliac|celiac|vegetarian"
    r"|vegan|kosher|halal|"
    r"gluten[- ]free|off[- ]limits|forbidden|prohibited|not allowed|under no circumstances"
    r"|at all costs)\b"
    r"|\b(?:must|mustn['\u2019]t|cannot|may not)\b(?!\s+(?:be|have been|see|wait|say|admit)\b)"
    r"|\bcan['\u2019]t\s+(?:eat|drink|have|take|use|do|work|travel|drive|fly|go|touch|handle|be)\b"
    r"|(?:^|[.!;]\s+)(?:please\s+)?(?:don['\u2019]t|do not|never|no)\s+(?!way\b|idea\b|problem\b"
    r"|doubt\b|worries\b|one\b|mind\b|"
    r"you\b|forget\b|worry\b|know\b|think\b)[a-z]"
    r"|(?<!不)过敏|不耐受|忌口|不能(?!不|说是|怪)|不可以|不要(?!紧|脸|担心|忘|错过|害怕|着急|客气)"
    r"|不许|禁止|不准|禁忌"
    r"|(?:^|[,\uff0c。!;\uff1b])\s*(?:请|千万)?别(?!人|的|墅|扭|处|名|忘|拖|写错|弄错|搞错|记错"
    r"|提了|说|急|担心|客气|致|具)"
    r"|必须|千万|绝不|绝对不|只能|一律|吃素|素食|清真|戒了|戒掉"
)
_PREFERENCE_RE: Final = (
    r"\b(?:prefer\w*|favou?rites?|fan of|keen on|fond of|go-to|rather\s+(?:have|use|get|eat|drink"
    r"|not|be|see|read|work)|"
    r"can['\u2019]t\s+(?:stand|abide|bear)|(?:reply|answer|respond|write|speak|talk)(?: to me)? in"
    r"|sick of|mad about|crazy about|not (?:really )?into"
    r"|partial to)\b"
    r"|\b(?:i|we|they)\s+(?:\w+ly\s+|do(?:n['\u2019]t| not)?\s+|also\s+|still\s+|just\s+"
    r"|always\s+|never\s+|used to\s+)*"
    r"(?:like|love|enjoy|hate|dislike|adore|loathe|detest|favou?r|appreciate)\b"
    r"|\b(?:he|she|user|[a-z]+)\s+(?:\w+ly\s+|doesn['\u2019]t\s+|also\s+|still\s+)*(?:loves|enjoys"
    r"|hates|dislikes|adores|"
    r"loathes|detests|prefers)\b|\b(?:he|she|user)\s+(?:\w+ly\s+|also\s+)*likes\b"
    r"|\bdoes(?:n['\u2019]t| not)\s+(?:like|love|enjoy)\b"
    r"|(?<![你您])(?<![你您][最也很更都还])(?<!自己)喜欢|偏好|偏爱|钟爱|最爱|更爱|热衷|讨厌|厌恶"
    r"|受不了|请[用按以]|宁愿|宁可|更愿意|倾向于|不爱"
    r"|爱[吃喝听看用玩去穿逛读喝泡睡]"
)
_WISH_RE: Final = (
    r"\b(?:i['\u2019]d (?:like|love|rather)|i (?:want|fancy|feel like)|in the mood for"
    r"|i['\u2019]ll (?:have|take|go with|stick with)|"
    r"let['\u2019]s (?:use|have|go with|stick (?:with|to)|keep(?! (?:track|a record|count))|do)|please)\b"
    r"|(?:^|[.,;]\s+)(?:use|keep|reply|answer|write|skip|make it|switch to|give me|send|call me"
    r"|stick (?:with|to)|don['\u2019]t|do not)\b"
    r"|想[吃喝要看听用玩]|来[一两]?[份杯个碗]|换成|改成|改用|先用|先按|就用|照常|不要|(?:^"
    r"|[,\uff0c])\s*(?:请|别(?!忘|拖))"
    r"|(?:[今明后][天晚早]|[上中下]午|晚上|早上|这[次顿回周])(?:就|先|都|也|暂时)?(?:请|别(?!忘|拖|人|的|处))"
)
_PROFILE_RE: Final = (
    r"\b(?:my (?:full |first |last |middle )?name(?:['\u2019]s| is)|call me|i(?:['\u2019]m"
    r"| am) (?:called|from|originally from|based in|married|"
    r"divorced|single|retired|\d{1,3} years old)|i live in|i(?: \w+ly)? work (?:at|for|as|in)"
    r"|i was born|"
    r"i(?:['\u2019]m| am) (?:a|an|the) (?!bit|little|fan|mess|wreck|lot|few|tad|sucker|believer"
    r"|one)[a-z]+|"
    r"my (?:e-?mail|phone|number|address|birthday|job|profession|occupation|blood type|pronouns"
    r"|hometown|nickname)\b|"
    r"my (?:wife|husband|partner|son|daughter|mother|mum|mom|father|dad|brother|sister|boss"
    r"|manager|dog|cat)"
    r"(?:['\u2019]s name| is (?:called|named)| \w+ is))"
    r"|我(?:叫|姓|是(?!你|不是|说|想|在|要|从|否|真|很|不)|住|来自|家[住在])|我的?(?:名字|生日|电话"
    r"|手机号|邮箱|地址|血型|职业|老家|爱人)"
    r"|我在[^。,\uff0c]{1,14}(?:工作|上班|读书|上学|读研|任教|当[^。,\uff0c])"
    r"|我(?:今年)?\s*[\d一二三四五六七八九十]{1,3}岁"
)

PATTERNS: Final[dict[Cue, re.Pattern[str]]] = {
    cue: re.compile(pattern, re.IGNORECASE)
    for cue, pattern in (
        (Cue.QUESTION, _QUESTION_RE),
        (Cue.HYPOTHETICAL, _HYPOTHETICAL_RE),
        (Cue.PROCEDURE, _PROCEDURE_RE),
        (Cue.CHANGE, _CHANGE_RE),
        (Cue.ANNIVERSARY, _ANNIVERSARY_RE),
        (Cue.HABIT, _HABIT_RE),
        (Cue.SCHEDULE, _SCHEDULE_RE),
        (Cue.EXCEPTION, _EXCEPTION_RE),
        (Cue.MOMENT, _MOMENT_RE),
        (Cue.TEMPORARY, _TEMPORARY_RE),
        (Cue.TASK, _TASK_RE),
        (Cue.DENIAL, _DENIAL_RE),
        (Cue.CONSTRAINT, _CONSTRAINT_RE),
        (Cue.PREFERENCE, _PREFERENCE_RE),
        (Cue.WISH, _WISH_RE),
        (Cue.PROFILE, _PROFILE_RE),
    )
}

STATIVE_RE: Final = re.compile(
    r"\b(?:(?:i['\u2019]m|i am|we['\u2019]re|we are|he['\u2019]s|she['\u2019]s)"
    r"(?!\s+(?:going|flying|off|attending|visiting|meeting|heading|giving|having|hosting"
    r"|joining)\b)|staying|living|working"
    r"|sitting|covering)\b|[我他她][^。]{0,6}在",
    re.IGNORECASE,
)
USUAL_RE: Final = re.compile(r"\b(?:never|rarely|seldom)\b|从不|从来", re.IGNORECASE)
