"""Closed-class words that carry no content, for English and Chinese."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH_STOP: Final = _words(
    # articles, determiners, pronouns
    "a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself "
    "yourselves he him his himself she her hers herself it its itself they them their theirs themselves one "
    "who whom whose which what some any each such same other another both either neither own "
    # auxiliaries and their contracted forms without the apostrophe
    "am is are was were be been being do does did doing done have has had having will would shall should can "
    "could may might must ought im ive id ill youre youve youd youll hes shes its were weve wed theyre "
    "theyve theyd theyll doesnt didnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt cant couldnt "
    "dont shouldnt mustnt lets thats whats heres theres whos gonna wanna gotta "
    # prepositions, conjunctions, particles
    "of at by for with about against between into through during before after above below to from up down in "
    "out on off over under again further and but if or because as until while than so nor not no only very "
    "too just then once here there when where why how all more most few also upon onto per via "
    # conversational fillers
    "yes yeah yep ok okay oh um uh hmm hey hi hello please really "
)

CHINESE_STOP_CHARS: Final = frozenset(
    "的了是在吗呢啊呀吧嘛么我你他她它们有和与也都就不很这那个一什怎哪谁多少几要会能可以还没去说着过得地把被让给对从到为里上下中"
)

CHINESE_STOP_WORDS: Final = _words(
    "的 了 吗 呢 吧 啊 呀 嘛 哦 哈 嗯 着 过 地 得 之 与 "
    "及 而 而且 并 并且 或 或者 但 但是 不过 就 也 都 还 又 很 太 "
    "把 被 让 给 从 到 对 在 是 有 和 跟 这 那 哪 这个 "
    "那个 哪个 这些 那些 个 们 我 你 您 他 她 它 我们 你们 他们 她们 "
    "它们 自己 咱 咱们 什么 怎么 怎样 怎么样 为什么 谁 哪里 哪儿 多少 "
    "几 会 能 可以 要 想 说 去 来 上 下 里 中 里面 "
    "因为 所以 如果 的话 然后 那么 这么 这样 那样 一个 一下 一些 "
    "一点 非常 比较 真 真的 其实 反正 所 以 于 为 向 "
    "以及 关于 对于 呗 啦 哎 唉 喔 噢"
)
