"""Wordings that change the state of a conversation, in English and Chinese alike (S2)."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final


class SignalKind(StrEnum):
    """What a sentence does to the state."""

    TOPIC = "topic"
    INTENT = "intent"
    DECISION = "decision"
    CONFIRMATION = "confirmation"
    PENDING = "pending"
    DONE = "done"
    REVISION = "revision"
    WITHDRAWAL = "withdrawal"


_APOSTROPHE: Final = "['\u2019]"

_TOPIC_RE: Final = (
    rf"\b(?:let{_APOSTROPHE}?s|can we|could we|shall we|i{_APOSTROPHE}?(?:d| would)? (?:like"
    r"|want) to)\s+(?:now\s+|please\s+)?"
    r"(?:talk about|discuss|move on to|switch to|go back to|turn to|get back to|go over|look (?:at"
    r"|into))\s+(?P<topic>.+)"
    r"|^(?:ok(?:ay)?,?\s+|now,?\s+|so,?\s+)?(?:on to|moving on to|back to|switching to|turning to|going back to"
    r"|next (?:topic|up|point)(?:\s+is)?\s*[:,]?|(?:new|another|different|next) (?:topic|subject"
    r"|question)\s*[:,-]"
    r"|(?:changing|to change|let me change) the (?:subject|topic)\s*[:,-]?|on (?:a different"
    r"|another) (?:note|topic)\s*,?"
    r"|(?:anyway,?\s+)?speaking of|as for|now about)\s+(?P<topic2>.+)"
    r"|(?:换个话题|换一?个(?:话题|问题)|另外一件事|还有(?:一|件)[件个]?(?:事"
    r"|问题)|说另一件事|下一个(?:话题|问题|议题))[是,，:：说]*\s*(?P<topic3>.*)"
    r"|(?:我们|咱们|咱|接下来|现在|先|再|那)(?:来|就|再|先|接着|继续)?(?:聊聊"
    r"|谈谈|说说|讨论(?:一下|下)?|聊一?下|谈一?下|说一?下|看看)\s*(?P<topic4>.+)"
    r"|^(?:那么?|好[,，]?)?(?:回到|说到|说回|转到|至于)(?P<topic5>.+)"
)
_INTENT_RE: Final = (
    rf"\b(?:i{_APOSTROPHE}?(?:d| would) like (?:you )?to|i want (?:you )?to|i need (?:you )?to"
    rf"|i{_APOSTROPHE}?m (?:trying|looking|planning) to"
    r"|i am (?:trying|looking|planning) to|help me(?: to)?|(?:can|could|would) you(?: please)?"
    r"|please)\s+(?P<goal>.+)"
    r"|(?:我想(?:要|请你)?|我要|我打算|我准备|我需要|帮我|请帮?(?:我|忙)?"
    r"|麻烦(?:你)?(?:帮我)?|能不能(?:帮我)?|可不可以(?:帮我)?|可以帮我)(?P<goal2>.+)"
)
_DECISION_RE: Final = (
    rf"\b(?:let{_APOSTROPHE}?s (?:go with|take|book|use|settle (?:on|for)|stick with|do|pick|choose|make it)"
    rf"|(?:i|we){_APOSTROPHE}?(?:ll| will) (?:go with|take|use|stick with|pick|choose|settle (?:on|for))"
    rf"|(?:i|we)(?:{_APOSTROPHE}?ve| have)?(?: (?:also|just|finally|already|now|all|both))* (?:decided"
    r"|settled|agreed|opted|chosen|chose|picked)\b"
    rf"|(?:i|we){_APOSTROPHE}?(?:re|m| are| am) going with|going with the|go ahead (?:and|with)"
    r"|final (?:decision|answer|choice)"
    r"|it is decided|decision\s*:|agreed\s*:|we agreed|settled on|make it (?:the|a)\b|book (?:it|that|this)\b)"
    r"|决定(?!的)|就(?:这么|这样)?定(?:了|在|为|下)|定下来|敲定|拍板|说定了|就选|我选|选定|就用|就按|就订|就买|就去"
    r"|(?:还是|那就|就)(?:选|用|订|买|去|要|按|走|坐|定|采用)[^?？]*(?:吧"
    r"|了|好了)?|最终(?:方案|选择)是?|一致同意|采用(?:第|这|方案)"
)
_CONFIRMATION_RE: Final = (
    r"^(?:yes|yep|yeah|yup|sure|ok(?:ay)?|right|correct|exactly|confirmed?|agreed|perfect|absolutely"
    r"|definitely|of course"
    rf"|sounds (?:good|great|fine)|that{_APOSTROPHE}?s (?:right|correct|fine|it)|that works|works for me"
    r"|go ahead|please do|do it|fine(?: by me)?)\b"
    r"|^(?:对(?:的|呀|啊)?(?=$|[,，。!！])|是的|没错|好的?(?=$|[,，。!！吧呀啊])"
    r"|可以(?=$|[,，。!！的])|行(?=$|[,，。!！吧啊])|确认|没问题|就这样"
    r"|同意"
    r"|嗯+(?=$|[,，。!！])|正是|当然|就这么办)"
)
_PENDING_RE: Final = (
    rf"\b(?:remind me|to-?do\b|don{_APOSTROPHE}?t (?:let me )?forget|remember to|still (?:have|has|need"
    r"|needs|needed|waiting|to be|open|outstanding|missing)"
    rf"|waiting (?:for|on)|pending\b|(?:i|we){_APOSTROPHE}?(?:ll| will) (?:get back|follow up|let you know"
    r"|check (?:with|and)|confirm (?:later|tomorrow|by)|come back|send (?:it|you|them)|decide later)"
    r"|follow[- ]up on|to be (?:confirmed|decided|done)|tbd\b|not (?:done|finished|sent|paid|booked) yet"
    rf"|haven{_APOSTROPHE}?t (?:\w+ )?(?:yet|sent|paid|booked|decided|finished|heard)"
    r"|(?:need|have|has) to [^.?!]{2,60}(?:later|tomorrow|tonight|next week|by (?:mon|tue|wed|thu|fri|sat"
    r"|sun|the end)\w*|first|before))"
    r"|提醒我|待办|别忘|记得(?!我|你|他|她|是|有|很|清|曾|吗)|还(?:要"
    r"|需要?|得|差|没(?:有)?)(?!是)|尚未|待(?:确认|定|处理|回复|补)|(?:稍后"
    r"|晚点|回头|之后"
    r"|以后|明天)再|等[^。,，!！?？]{1,16}(?:再|后|回复|确认|通知|消息)"
)
_DONE_RE: Final = (
    r"\b(?:(?:done|sorted|finished|completed?|resolved|fixed|settled now|taken care of)\b"
    rf"|(?:i|we)(?:{_APOSTROPHE}?ve| have)?(?: already| just)+ (?:sent|booked|paid|called|finished"
    r"|submitted|ordered|fixed|renewed|cancelled|canceled|signed|done|emailed|uploaded|bought|filed"
    r"|updated|confirmed)"
    rf"|(?:i|we)(?:{_APOSTROPHE}ve| have) (?:sent|booked|paid|called|finished|submitted|ordered|fixed"
    r"|renewed|cancelled|canceled|signed|done|emailed|uploaded|bought|filed|updated)"
    r"|(?:has|have) been (?:sent|booked|paid|submitted|ordered|fixed|renewed|cancelled|canceled|signed"
    r"|emailed|uploaded|filed|updated|confirmed)"
    r"|(?:is|are) (?:all |already |now )?(?:sent|paid|submitted|ordered|signed|emailed|uploaded|filed)\b"
    r"(?! (?:by|to|for|every|on)\b)|all set\b|mark (?:it|that) (?:as )?done|checked off)"
    r"|[回发交寄付打买问]过了(?=$|[。,，!！])|搞定|(?:办|弄|写|做|订|改|买|发|交|寄|付|打|约|退|修)(?:好|妥|完)了"
    r"|已(?:经)?(?:为[您你])?(?:选|订|办|改|写|发)好|做(?:好|完)了|完成了"
    r"|解决了|处理(?:好|完)了|(?:已经?|都"
    r"|刚)[^。,，!！?？]{0,12}(?:了|完成|完毕|好|妥)(?=$"
    r"|[。,，!！])|已(?:完成|提交|发送|预订|付款|取消|签字|寄出|上传|更新|确认|解决|预约|续费)"
)

SIGNALS: Final[dict[SignalKind, re.Pattern[str]]] = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in (
        (SignalKind.TOPIC, _TOPIC_RE),
        (SignalKind.INTENT, _INTENT_RE),
        (SignalKind.DECISION, _DECISION_RE),
        (SignalKind.CONFIRMATION, _CONFIRMATION_RE),
        (SignalKind.PENDING, _PENDING_RE),
        (SignalKind.DONE, _DONE_RE),
    )
}

NOT_YET_RE: Final = re.compile(
    rf"\b(?:not|never|n{_APOSTROPHE}t|cannot|can{_APOSTROPHE}t|no)\b[^,.;!?]{{0,30}}\b(?:decid|settl|agree"
    r"|cho[os]|pick|done|finish|complet|sort|resolv|fix|sent|book|paid|sure|ready)"
    r"|(?:还没|没有?|尚未|不|别)[^。,，!！?？]{0,8}(?:决定|定|选|完成|搞定|解决|好|敲定|处理)",
    re.IGNORECASE,
)
HYPOTHETICAL_RE: Final = re.compile(
    r"^(?:if|when|once|unless|suppose|imagine|in case|until|before we|should we)\b|\b(?:would have"
    r"|could have|might have|used to)\b"
    r"|^(?:如果|要是|假如|万一|假设|除非|等到|只要|一旦)",
    re.IGNORECASE,
)
QUESTION_RE: Final = re.compile(
    r"[?\uff1f]\s*[\"'\u201d\u2019)]*\s*$|(?:吗|呢|么)\s*[。!\uff01]?\s*$"
    r"|^(?:who|what|when|where|why|how|which|have|has|did|does|do|is|are|was|were)\s+\w+[^.!]*$(?<!\.)",
    re.IGNORECASE,
)
REQUEST_QUESTION_RE: Final = re.compile(
    r"^(?:so,? |and |ok(?:ay)?,? |now,? )?(?:can|could|would|will) (?:you|we)\b|能不能|可不可以|可以帮|what about"
    r"|shall we",
    re.IGNORECASE,
)
BUT_RE: Final = re.compile(r"\b(?:but|however|except|only if|though)\b|但是?|不过|可是|除非|只是", re.IGNORECASE)
