"""Words that speak of one matter, English and Chinese together, for knowing what was forgotten in other words (B3).

Coarser than the synonyms that judge relations (`relations/_words.py`), and used for nothing that replaces or merges:
"therapist" and "counselling" are not one word, but who had the one forgotten does not want the other guessed again.
Data only, of what people ask to have forgotten: body, money, love, law, work, home. A word not here stands for
itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from memory_service.domain.relations import _words as words
from memory_service.domain.text.analysis import stem_english

# English | Chinese; the first English word names the concept. An underscore stands for a space.
_CONCEPTS: Final = """
weight weigh weighs weighed | 体重 重
kilogram kg kgs kilo kilos kilogramme | 公斤 千克 斤
height tall | 身高 个子
centimetre cm centimeter | 厘米 公分
age aged years_old year-old | 年龄 岁 年纪
salary wage wages income earn earns earned earning earnings pay paid takehome take-home take_home payslip
salary | 工资 月薪 年薪 薪水 薪资 薪酬 收入 月收入 年收入 到手 挣 赚 月入
savings saved | 存款 积蓄 储蓄 存了
debt owe owes owed owing debts indebted loan loans borrowed borrow | 欠 欠款 欠债 负债 债务 债 借款 贷款 外债 还欠
mortgage | 房贷 按揭
rent rental | 房租 租金
gamble gambling gambler bet bets betting casino bookmaker bookie | 赌 赌博 赌钱 赌场 下注
bankrupt bankruptcy insolvent | 破产
therapy therapist counselor counsellor counseling counselling shrink psychologist psychotherapist psychotherapy
therapy psychiatrist
therapy | 心理医生 心理咨询 心理咨询师 咨询师 心理治疗 心理辅导 精神科 治疗师
doctor physician gp | 医生 大夫
medicine medication meds pill pills tablet tablets drug | 药 药物 吃药 服药 药片
sleepingpill sleeping_pill sleeping_pills | 安眠药 助眠药
sleep asleep insomnia insomniac sleepless | 失眠 睡不着 入睡 睡眠 睡觉
surgery operation surgical operated | 手术 开刀 动手术
diagnosis diagnosed diagnose | 确诊 诊断 查出
pregnancy pregnant expecting | 怀孕 有喜 怀上 身孕 孕期
miscarriage miscarried | 流产 小产
abortion | 堕胎 打胎 人流
depression depressed depressive | 抑郁 抑郁症 忧郁症
anxiety anxious panic | 焦虑 焦虑症 恐慌
epilepsy epileptic | 癫痫
diabetes diabetic | 糖尿病
dementia alzheimer alzheimers | 老年痴呆 痴呆 阿尔茨海默
hepatitis | 乙肝 肝炎
asthma asthmatic | 哮喘
cancer tumour tumor | 癌 癌症 肿瘤
allergy allergic allergies | 过敏
addiction addicted addict | 上瘾 成瘾 瘾
rehab detox rehabilitation | 戒毒 戒毒所 戒断
aa alcoholic alcoholism alcoholics sober sobriety | 酗酒 戒酒 酒瘾
smoke smokes smoking smoker cigarette cigarettes | 抽烟 吸烟 烟 香烟
married marriage marry wedding wed | 结婚 婚姻 已婚 领证
divorce divorced divorcing | 离婚 离异
breakup broke_up split_up breaking_up | 分手 分了手
dating date dates dated seeing_someone going_out_with in_a_relationship | 谈恋爱 恋爱 交往 恋爱对象 约会 处对象
ex ex-boyfriend ex-girlfriend former_partner former_boyfriend former_girlfriend | 前任 前男友 前女友
boyfriend | 男友 男朋友
girlfriend | 女友 女朋友
husband spouse | 老公 丈夫
wife | 老婆 妻子 爱人 太太
affair cheating cheated unfaithful | 出轨 外遇 婚外情
crush fancy fancies fancied in_love_with | 暗恋 心动 喜欢 喜欢上
hate hates dislike dislikes loathe detest despise can't_stand cannot_stand resents
hate | 讨厌 厌恶 反感 烦 不喜欢 嫌弃 受不了
gay lesbian homosexual queer | 同性恋 出柜
prison jail jailed imprisoned imprisonment incarcerated inmate | 坐牢 坐过牢 监狱 入狱 服刑 蹲过 牢
arrest arrested detained detention custody | 拘留 被捕 逮捕 抓过
lawsuit sue sued suing litigation court | 官司 起诉 诉讼 打官司
fraud | 诈骗 欺诈
dismissed laid_off lay_off let_go fired sacked redundant redundancy lost_their_job lost_his_job lost_her_job
dismissed lost_my_job lost_the_job
dismissed | 裁员 被裁 裁了 裁掉 被辞退 开除 解雇 失业
quit quits quitting leave leaves leaving left resign resigns resigned resigning resignation job-hunting
quit | 辞职 离职 辞去 跳槽 辞掉 走人
work works working job employer employed employment | 上班 工作 就职 任职
boss manager supervisor | 老板 领导 上司 组长 主管 经理
bankruptcy
exam exams examination test | 考试 考
fail failed fails flunk flunked unsuccessful not_pass didn't_pass | 不及格 没过 未通过 没通过 挂科 没考上
password passcode pin code combination passphrase | 密码 口令 验证码
phone telephone mobile number | 手机号 手机号码 电话号码 电话 联系电话 号码
email e-mail | 邮箱 邮件
account | 账号 账户 卡号
live lives living lived reside resides residence resident address | 住 住址 地址 居住 住在 借住 家住 住家
birthday born birth birthdate | 生日 出生 出生于 生于
mother mum mom mama mam mother's | 妈 妈妈 母亲 我妈 老妈
father dad daddy papa | 爸 爸爸 父亲 我爸 老爸
daughter | 女儿 闺女
son | 儿子
brother | 弟弟 哥哥 弟 哥 我哥 我弟
sister | 妹妹 姐姐 妹 姐 我姐 我妹
grandmother grandma gran granny nan | 奶奶 外婆 姥姥 祖母
grandfather grandpa grandad | 爷爷 外公 姥爷 祖父
niece | 侄女 外甥女
nephew | 侄子 外甥
neighbour neighbor neighbours neighbors | 邻居
landlord landlady | 房东
colleague colleagues coworker workmate | 同事
motherinlaw mother-in-law | 婆婆 丈母娘 岳母
fatherinlaw father-in-law | 公公 岳父
cousin | 表哥 表弟 表姐 表妹 堂哥 堂弟 堂姐 堂妹
uncle | 舅舅 叔叔 伯伯
aunt | 阿姨 姑姑
friend | 朋友
roommate flatmate housemate | 室友 合租
religion religious | 宗教 信仰 信教
vote votes voted voting | 投票 投给
surname lastname | 姓
twice | 两次 两回
annual annually yearly per_year | 每年 一年
nearby near | 附近 隔壁
"""

# Says that something is told, guessed or planned, and nothing of what.
_FILLING_ENGLISH: Final = """
user users currently recently presently seem seems appears appear apparently probably likely possibly mention
mentioned mentions state stated states say said says note noted plan plans planning planned intend intends going
about roughly approximately around due because suffer suffers suffering named called name year-old person
somebody secretly actually finally still today lately moment thinking considering decided every weekly monthly
daily pounds pound euro euros dollar dollars quid gbp usd eur £ $ € child mr mrs ms since see sees seeing saw
visit visits visiting visited attend attends attending undergo undergoes underwent wear wears wearing start
starts starting started begin begins began
"""
_FILLING_CHINESE: Final = """
用户 约 大约 大概 左右 目前 最近 曾 曾经 曾于 计划 打算 准备 因为 因 患 患有 患者 得了 其 该 已 已经 正在 现在
暂时 正 叫 名叫 名字 提到 表示 称 说 可能 似乎 应该 进行 每 每月 每天 每周 一个月 个月 月 元 块 钱 块钱 人民币
了 过 为 于 之前 偷偷 之 需要 特别 来 个 位 人 一个 不 没 没有 最 才 再 去 做 办 参加 有 治 暂 两 次 自 从 起
以来 看 见 戴 佩戴 穿 开始 时候 的时候
"""

# Taken out before the text is cut into words, of which they may otherwise join a neighbour's character (阿远 去年).
_FILLING_PHRASE_RE: Final = re.compile(
    "去年|今年|明年|前年|昨天|今天|明天|前天|上周|下周|本周|这周|上个月|下个月|这个月|最近|目前|现在"
    "|已经|正在|打算|计划|之前|以前|曾经|偷偷|暂时|用户"
)
_KEPT_GENERIC: Final = frozenset(("drink", "eat", "week"))


def _lines() -> Iterator[tuple[str, list[str], list[str]]]:
    for line in _CONCEPTS.strip().splitlines():
        english, _, chinese = line.partition("|")
        yield english.split()[0], english.split(), chinese.split()


def _groups(data: str) -> Iterator[list[str]]:
    """Lines of synonyms, of a table that denies only the words that deny."""
    for line in data.strip().splitlines():
        group = (line.partition("|")[2] or line).split()
        if group:
            yield group


def _english() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for table in (words.SAME_ENGLISH, words.DENYING_ENGLISH):
        for first, *others in _groups(table):
            for word in others:
                found.setdefault(stem_english(word), stem_english(first))
    own = {
        stem_english(word): stem_english(head) for head, english, _ in _lines() for word in english if "_" not in word
    }
    # What a synonym leads to may itself be one word of a concept.
    return {word: own.get(first, first) for word, first in found.items()} | own


def _chinese() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for table in (words.SAME_CHINESE, words.DENYING_CHINESE):
        for first, *others in _groups(table):
            for word in others:
                found.setdefault(word, first)
    own = {word: stem_english(head) for head, _, chinese in _lines() for word in chinese}
    return {word: own.get(first, first) for word, first in found.items()} | own


_ENGLISH: Final = _english()
_CHINESE: Final = _chinese()
_PHRASES: Final[Mapping[str, str]] = {
    word.replace("_", " "): head for head, english, _ in _lines() for word in english if "_" in word or "-" in word
} | {word: head for head, _, chinese in _lines() for word in chinese if len(word) > 1}
_PHRASE_RE: Final = re.compile(
    "|".join(
        rf"\b{re.escape(phrase)}\b" if phrase.isascii() else re.escape(phrase)
        for phrase in sorted(_PHRASES, key=len, reverse=True)
    )
)
_FILLING: Final = frozenset(
    [stem_english(word) for word in (*_FILLING_ENGLISH.split(), *words.GENERIC_ENGLISH.split())]
    + [*_FILLING_CHINESE.split(), *words.GENERIC_CHINESE.split(), *words.STOP_CHINESE.split()]
) - {stem_english(word) for word in _KEPT_GENERIC}
NAMES: Final = frozenset(_ENGLISH.values())
"""Every concept's name."""
PEOPLE: Final = frozenset(
    [_ENGLISH.get(stem, stem) for word in (*words.KIN_ENGLISH.split(), "ex") if (stem := stem_english(word))]
    + [_CHINESE.get(word, word) for word in words.KIN_CHINESE.split()]
)
"""What stands for a person by a role: who a statement is about."""


def name_phrases(folded: str) -> str:
    """A normalised text with the phrases and Chinese words of a concept replaced by its name.

    Before the text is cut into words: no dictionary cuts 坐过牢 alike in every sentence.
    """
    bare = _FILLING_PHRASE_RE.sub(" ", folded)
    return _PHRASE_RE.sub(lambda match: f" {_PHRASES[match.group()]} ", bare)


def concept_of(term: str) -> str | None:
    """What a term (an English stem or a Chinese word) speaks of; None for what speaks of nothing."""
    found = _ENGLISH.get(term) or _CHINESE.get(term) or term
    return None if found in _FILLING or term in _FILLING else found
