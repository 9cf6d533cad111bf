"""Everyday words that mean the same, that deny one another, or that exclude one another: English and Chinese.

Data only. Small on purpose and general: closed groups, and the commonest words of daily life. A word that is not
here stands for itself.
"""

from __future__ import annotations

from typing import Final

SAME_ENGLISH: Final = """
work job employ employer commute
office workplace
house home flat apartment
car vehicle
phone call ring telephone
message text texting
email mail
kid child children
start begin commence
finish end
big large
quick fast rapid
roughly about approximately around
reply answer respond response
short brief concise succinct
send post forward
purchase buy
shop store
holiday vacation trip
film movie
ill sick unwell poorly
doctor physician gp
due deadline
meal food
manager boss supervisor
colleague coworker workmate
everybody everyone all
open reopen
mother mum mom mama mam
father dad daddy papa
brother bro
grandmother grandma gran granny
grandfather grandpa grandad
somebody someone
below beneath under underneath
own have got possess
want need
live reside
drink sip
like love enjoy adore prefer fond keen favourite favorite fan mad favour
steal stolen nick
rent lease tenant
pay paid payment
cost price
build compile
error fault bug
metric kilometre centimetre
subtitle caption
meet meeting
birthday born birth
wage salary
exam test
speak talk
write draft
photo picture image
see watch
sofa couch
autumn fall
allergic allergy allergies
intolerant intolerance
eat eating ate
team group squad
guest visitor
every each daily
month monthly
week weekly
year yearly annual annually
quarter quarterly
fortnight fortnightly
often frequently regularly
report
approve authorise authorize
deploy release ship
staff personnel
wife spouse
evening night
lead leader captain head
buy
sleep asleep bed
"""

SAME_CHINESE: Final = """
爸 爸爸 父亲 老爸 我爸
妈 妈妈 母亲 老妈 我妈
老婆 妻子 爱人 媳妇 太太
老公 丈夫 先生
儿子 男孩
女儿 闺女 女孩
孩子 娃 小孩
爷爷 祖父
奶奶 祖母
外公 姥爷
外婆 姥姥
上班 工作 干活 任职 就职
公司 单位
坐 乘 搭 乘坐
每天 天天 每日 日日
每周 每星期 每礼拜
晚上 夜里 夜间 晚间
早上 早晨 清晨 早晨 一早
中午 午间
下午 午后
周末 礼拜六日
吃 用餐
喝 饮
买 购买 购
住 居住
说 讲
写 书写 撰写
回答 答复 回复
简短 短 简洁
领导 上司 老板
汇报 报告
房租 租金 月租
孩子 娃娃
关门 闭馆 打烊 关 停业
头疼 头痛
疼 痛
飞机 航班 乘机
靠窗 舷窗 窗边 窗户 带窗
座位 位子 座 选座
晚饭 晚餐
早饭 早餐
午饭 午餐
米饭 饭
短信 信息 消息 简讯
电话 来电
截止 最迟 最晚
抽烟 吸烟
会议 开会
留 留着 保留
独居 一个人住
月底 月末
年底 年末 今年之内
全部 所有 全员 一律 统一
只 仅 单单 唯一
保留 留存 保存
日志
搬 挪 移 转
放 搁 摆
团队 小组 组 我们组
限流 限制 上限 最多
自己 一个人 单独
经常 常常 常 老
固定 规定
家 家里
怕 害怕
冷 凉 冰凉
看 观看
偏好 偏爱 喜欢 爱 最爱 钟爱 爱好 喜爱 更爱
图 图片 图表
门口 门外
国货 国产
亮色 亮
爬 登
生日 出生
车 汽车
楼 层
软件 软体
网络 网路
数据库 资料库
服务器 伺服器
屏幕 萤幕
鼠标 滑鼠
硬盘 硬碟
打印 列印
出租车 计程车
地铁 捷运
公交车 公交 公车
自行车 脚踏车 单车
方便面 泡面
菠萝 凤梨
空调 冷气
幼儿园 幼稚园
项目 专案
质量 品质
"""

# Each line: what is affirmed | what denies it. Either is read as the first word, the second also as a denial.
DENYING_ENGLISH: Final = """
like | hate dislike loathe detest despise bore boring bored
open | close closed shut
allow | ban banned forbid forbidden prohibit prohibited disallow reject rejected off-limits
welcome | unwelcome
married | single bachelor unmarried divorced separated separate
pass | fail failed
full | empty vacant
work | broken
public | private confidential secret
possible | impossible
include | exclude excluding
early | late
old | young
older | younger
oldest | youngest
tall | short
taller | shorter
hot | cold
wet | dry
safe | dangerous unsafe
friendly | rude unfriendly hostile
clean | dirty filthy
attend | absent miss missed
healthy | ill sick
remember | forget
win | lose
everybody | nobody
big | small little tiny
indoors | outdoors outside
keep | sell sold
alone | share shared flatmate roommate
start | stop
renew | cancel expire terminate
stay | leave
like | dread
sunny | shady
loud | quiet silent
"""

DENYING_CHINESE: Final = """
喜欢 | 讨厌 厌恶 烦 最烦 反感 嫌 嫌弃 嫌恶
允许 | 禁止 严禁 谢绝 杜绝 拒绝 不准 不许
公开 | 保密 机密
开门 | 关门 关 闭馆 打烊 停业 关闭
已婚 | 单身 未婚 离异
通过 | 不及格 挂
满 | 空
可用 | 坏
高 | 矮 低
室内 | 室外 户外
留 | 卖 卖掉 扔
独居 | 合租 合住
早 | 迟
早睡 | 熬夜 晚睡 夜猫子
早起 | 赖床 晚起
长 | 短
热 | 冷 凉
干净 | 脏
热情 | 冷冰冰 冷淡 冷漠
安全 | 危险
卷 | 直
自然卷 | 直发
免费 | 收费 付费
荤 | 素
吃素 | 吃肉 吃荤
"""

# Each line a closed set of values of which one thing has one.
EXCLUSIVE: Final = """
left/left-handed/lefty right/right-handed
red blue green yellow black white grey purple orange pink brown maroon
north south east west
first second third fourth fifth sixth seventh eighth
monday/mon tuesday/tue wednesday/wed thursday/thu friday/fri saturday/sat sunday/sun
morning/mornings afternoon/afternoons evening/evenings night/nights
spring summer winter
tabs spaces
upstairs downstairs
daily weekly fortnightly monthly quarterly yearly
cash card transfer
刷卡 现金 转账
leather plastic paper
vegetarian vegan meat steak pork beef chicken
male female
window aisle
左/左边/左手/左侧/左撇子 右/右边/右手/右侧/右撇子
红色/红 蓝色/蓝 绿色/绿 黄色/黄 黑色/黑 白色/白 灰色/灰 紫色/紫 粉色
东 南 西 北
东门 南门 西门 北门
周一 周二 周三 周四 周五 周六 周日
早上/清晨/早晨/上午/一早/晨 中午/午间 下午/午后 晚上/夜里/晚间/夜间 凌晨
春天 夏天 秋天 冬天
靠窗 过道
男 女
甲 乙 丙 丁
"""

KIN_ENGLISH: Final = """
mother mum mom mama mam
father dad daddy papa
parents folks
brother
sister
son
daughter
wife
husband
partner spouse girlfriend boyfriend fiance fiancee
child kid children kids toddler baby
twin
grandmother grandma gran granny nan
grandfather grandpa grandad
uncle
aunt auntie
cousin
niece
nephew
neighbour neighbor neighbours neighbors
landlord landlady
colleague colleagues coworker
boss manager
friend
flatmate roommate housemate
teacher
student
client customer
tenant
mother-in-law
father-in-law
dog
cat
"""

KIN_CHINESE: Final = """
妈 妈妈 母亲 我妈 老妈
爸 爸爸 父亲 我爸 老爸
爸妈 父母
爷爷
奶奶
外公 姥爷
外婆 姥姥
哥 哥哥 我哥
姐 姐姐 我姐 姊姊
弟 弟弟 我弟
妹 妹妹 我妹
儿子
女儿 闺女
孩子 娃 小孩 孩子们
老婆 妻子 爱人 媳妇 太太
老公 丈夫 先生
男友 男朋友
女友 女朋友
舅 舅舅 我舅
姨 小姨 阿姨
姑姑
姑父
叔叔
伯伯
表哥
表姐
表妹
表弟
堂哥
堂姐
堂妹
堂弟
侄女
侄子
外甥
丈母娘 岳母
岳父
婆婆
公公
邻居 邻居家
房东
同事
老板 领导
客户
老师
师傅
学员 学生
教练
室友
朋友
"""

# What a statement is about when its own words do not say so: lines of a life of which one value holds at a time.
FIELDS: Final = (
    (
        r"\b(?:work(?:s|ing)? (?:at|for|in|as)|job|employer|hired|joined|resigned|i['\u2019]m a \w+(?:er"
        r"|or|ist|ian|ant|ent)\b"
        r"|quit my|left (?:the )?(?:company|firm)|promoted|career|employed)\b|上班|工作|任职|就职|跳槽"
        r"|入职|离职|辞职|转行|转岗"
    ),
    (
        r"\b(?:lives?|living|moved (?:to|in|out|into)|reside|based in|new (?:flat|house|place|address)"
        r"|address)\b|住在?|搬到|搬去|搬家|搬进|搬回|定居|租在|住址|地址"
    ),
    (
        r"\b(?:married|single|bachelor|engaged|divorced|separated|widowed|wife|husband|girlfriend"
        r"|boyfriend|dating|broke up)\b"
        r"|单身|已婚|未婚|结婚|离婚|订婚|分手|对象|男友|女友|男朋友|女朋友|领证"
    ),
    (
        r"\b(?:vegan|vegetarian|meat|pescatarian|keto|diet|steak|pork|beef|plant-based)\b|吃素|素食|全素"
        r"|吃荤|吃肉|生酮|节食|肉|牛排|荤菜"
    ),
    (r"\b(?:pets?|cats?|dogs?|kitten|puppy|rabbit|hamster|parrot)\b|宠物|猫|狗|兔子|仓鼠|鹦鹉|犬|柯基|橘猫"),
    (r"\b(?:phone number|mobile number|extension)\b|手机号|号码|分机|电话是"),
    (
        r"\b(?:early riser|night owl|morning person|go to bed|get up|wake up|late riser|stay up"
        r"|bedtime)\b|早睡|晚睡|熬夜|夜猫子|早起|上床|睡觉|赖床|起床"
    ),
    (
        r"\b(?:grade|school|university|college|year (?:one|two|three|four|five|six))\b|年级|小学|初中"
        r"|高中|大学|幼儿园"
    ),
    (
        r"\b(?:commute|to work|drive to|cycle to|by (?:bus|tram|train|bike|car)|tram|metro|subway)\b"
        r"|上班.{0,3}(?:坐|骑|开|走)|(?:坐|骑|开|乘|搭|走).{0,4}(?:上班|上学|去公司)|通勤"
    ),
    (r"\b(?:smok(?:e|es|ing)|cigarettes?)\b|抽烟|烟|戒烟"),
    (r"\b(?:alcohol|drink(?:s|ing)? (?:wine|beer)|sober|teetotal)\b|喝酒|酒|沾"),
)

# Too common to make two statements related.
GENERIC_ENGLISH: Final = """
drink eat use take go get make put keep come thing way time lot bit day year week month know think say tell
give show need want like find let set turn user good well much many really quite about new old now
again back still already people someone everyone anything something nothing everything never always
ever every formerly only even own everybody alone roughly approximately given choice simply each
"""

GENERIC_CHINESE: Final = """
吃 喝 时间 日子 安排 用 来 去 做 弄 给 有 是 会 要 能 可以 想 时候 东西 事 人 天 次 个 年 月 用户
现在 今天 里 好 一个 喜欢
"""

# No content, beside the stop words of the lexical terms.
STOP_CHINESE: Final = """
不 没 没有 别 得 才 再 最 更 就 只 所 该 此 每 每逢 一 两 不了 一种 一只 一个
一款 一位 一台 一条 请 您 咱 嘛 呗 哪 儿 点 时 那儿 这儿
"""

# Begin with a negator and deny nothing.
NOT_DENIED_CHINESE: Final = """
不错 不同 不久 不断 不仅 不但 不过 不管 不论 不只 没事 没关系 没问题 未来 未婚
"""

BEFORE_NOUN_ENGLISH: Final = """
the a an my our his her their your this that these those please there it's its
"""

# A number after one of these is a value, not a name.
NO_LABELLED_ENGLISH: Final = """
is has at on by for in of to ends from about over under version port around after before only use
"""

# Open a clause and say nothing of what it is about.
LEADS_NOTHING: Final = """
now today tonight tomorrow yesterday morn week month year first finally okay ok right well turn just updat note fyi
今天 昨天 明天 上次 上周 这周 下周 本周 周末 以后 之后 今后 总算 终于 问 记 听 查 看 确认 刚 上个月 这个月 下个月 今年
明年 补 说
"""
