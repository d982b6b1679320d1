"""Short texts in many scripts, written for the golden files."""

LETTER = """\
The light at Skarholm

Dear Mira, the fog lifted at last. You asked how the keeper counts ships: he doesn't, he counts "flashes" \
(one every 12.5 seconds). Is that clever? Perhaps… we'll see!

  * lamp oil, 40 l
  * rope — 3 coils

Write soon 🙂
"""

CABLE = """\
灯塔的守护人每天清晨和黄昏各爬一次楼梯。「今天有雾吗？」她问。显示屏坏了。\r
\r
カモメが窓からパンを盗んだ！料理人は笑った。\r
 \r
어젯밤 바다에는 안개가 짙었다. 배는 늦었다.\r
"""

LOG = """\
नाव ४२ आ गई। किराया १०० रुपये है।

เมื่อคืนนี้ไม่มีใครเห็นเรือ ทะเลเงียบ

שלום עולם. مرحبا، هل الميناء مفتوح؟ نعم.

👨‍👩‍👧‍👦 waved 👋🏻 at 🇫🇷; Zo\u0308e wrote 𝔗𝔥𝔢 end.<|endoftext|>
"""

PARTS = ["Café déjà vu — part one.\n\nStill one.", "", "第二部分。", " Part three 👋🏻 ends."]

TEXTS = {"letter": LETTER, "cable": CABLE, "log": LOG, "parts": PARTS}
