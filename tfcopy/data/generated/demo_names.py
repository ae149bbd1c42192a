"""Names for the demo corpus: tens of thousands, in many scripts and shapes.

Names are put together from parts. Each belongs to one split only, which a
checksum of its letters decides: no name of the test set is ever seen in
training, whatever the seed and the sizes.
"""

import random
import zlib

# Beginnings, middles and ends of names; a middle may be empty.
_LATIN = {
    "slavic": (
        "Ł Bor Brze Cze Dob Dra Gra Jar Kaz Ko Kra Kwi Lub Mi Mro Now Ol Pa Ra "
        "Rad Sta Sto Szy Tom Wit Wo Za Zyg Žele Že Ča Če Ša Şta Ďu",
        "sła da bo lo na wi ro mi sza cze ku ja ni dzi wa le",
        "kowski ński ewicz czyk sław mir lak szek nik ska ová ský čić vić enko "
        "ščak dić kasz zej",
    ),
    "germanic": (
        "Al Bern Brück Diet Eck Fried Ger Grön Hart Hein Jörg Kess Lind Mühl "
        "Neu Oster Rein Schö Schu Stein Thal Wald Weiß Wolf Zim",
        "e er en el  ",
        "mann berg hardt stedt feld bauer meier wein burg hold rich brecht ßen "
        "lich hausen",
    ),
    "romance": (
        "Al Bel Bon Cam Car Cas Del Fer Fon Gar Gui Lam Lor Mar Mon Mor Per "
        "Que Ri Sal San Te Val Ver Ça Vi",
        "a e i ta li ro va ni da ca za ra ño çe",
        "mino ero ini ardo etti ález illo ano eira ães ão ucci eau ière esco "
        "oncle otti",
    ),
    "nordic": (
        "Aal As Bjø Dag Ei Freds Gun Hå Ing Jør Kjel Lang Møl Nord Ras Sø Tor "
        "Ulv Vå Æg Øst Å",
        "le ge  ste re va ",
        "sen ström quist dahl gård lund sson svik høj nes bø strand",
    ),
    "finnic": (
        "Aal Hei Här Jou Kal Ki Kos Lah Mä Nie Pel Ran Sää Tuu Vii Yli Õu Rää",
        "ki li ta no va ko sa",
        "nen lä mäki järvi salo niemi vuori ste ärv pää",
    ),
    "turkic": (
        "Ay Bay Çe Da De Er Gü Kara Kı Öz Sar Şa Te Yıl Ün İn",
        "la le ka dı ra ni ",
        "oğlu demir türk han çı kaya dağ şen bek maz",
    ),
    "celtic": (
        "O'Bri O'Don O'Ma O'Sul Mac Mc Gal Fitz Cal Bren Dun Ros Kil Lou",
        "na la ra do gu  ",
        "en van han ney gan more ley ghan don lough ry",
    ),
    "lowlands": (
        "D'Hon D'Al Van Ver De Ter Brou Dij Hoog Kuy Meu Nij Roe Sche",
        "de ve ken len er ",
        "dt straete mans kerk huis winckel baert poel sema stra veld donck",
    ),
    "hungarian": (
        "Ács Bar Csá Er Far Gyu Hor Jó Kel Lá Mé Nagy Pé Sze Tö Vö Zsi Ső",
        "ga ré ny ko la sze ",
        "nyi váth ényi őssy házi falvi halmi dos szky bér",
    ),
}
_GIVEN = (
    "Al An Bar Bea Cla Da De E El Fa Fe Ga Gre He I Ja Jo Ka La Li Lu Ma Mi Na "
    "Ni O Pa Pe Ra Ro Sa Si Ste Ta Te To Va Vi Wa Ya Zo Żo Jó Mó Sø Hé Ağ Ī",
    "l r n s m v th dr k t ł š z ri na le ni mi xa lo",
    "a o as is ia ina ek us el ette án ita ério ën ine ø ý ė ija",
)
_PLACES = (
    "Bal Ber Bre Cor Dor Du Fal Gal Gor Kal Ker Kru Lem Lin Lo Mar Mer Nar Or "
    "Par Pel Po Ro Sal Sel Sköv Ta Tre Tur Val Ven Vil Zar Žil Świ Gdy",
    "a e i o da ra li ve mo na sse gni chi ",
    "burg grad dal ville mouth stad holm nica ovo etz ães vár berg ham lín "
    "zzo lec pool wijk ente öping ţi",
)
_PLACE_ENDINGS = "-sur-Mer -les-Bains -le-Vieux -am-See -Süd -2000 -Zdrój"
_COMPANIES = (
    "Agro Alpha Aqua Bio Cyber Data Eco Eno Euro Ferro Geo Helio Hydro Inter "
    "Lumi Medi Mega Nano Neo Nord Omni Petro Pharma Poly Rail Sol Tele Terra "
    "Trans Uni Vita Xeno e i",
    "Ban Bel Cor Dax Fer Gen Kem Lin Mar Nex Nov Pax Quan Ral Sen Tec Tri Vex "
    "Wind Zor",
    "a ex is o um Tech Net Group Bank Lab Power 21 3000 24 X ix on AG",
)
_OTHER_SCRIPTS = {
    "greek": (
        "Γεω Δημη Θεο Κων Λαμ Μαυ Νικο Παπα Σταυ Χρυ Αλε Βασι",
        "ρο νο μα λι δο στα ",
        "πουλος ίδης άκης ίου άτος ίνα έας",
    ),
    "cyrillic": (
        "Ан Бо Вла Гри Дми Ели Иг Ка Ле Мар Ни Пет Рад Све Тодо Фё Чер Шев Ющ",
        "ри ва ми до ло ко ",
        "ров енко ев ина ский чук ић ов ева",
    ),
    "han": (
        "王 李 张 刘 陈 楊 赵 黄 周 吴 徐 孫 朱 高 林 何 郭 馬 羅 梁 宋 鄭",
        "伟 芳 娜 敏 静 丽 强 磊 洋 艳 勇 軍 杰 娟 涛 明 超 秀 霞 平 ",
        "安 宁 华 山 海 江 云 峰 春 梅 松 京 州 文 龍 玉 石 光 雪 月",
    ),
    "hangul": (
        "김 이 박 최 정 강 조 윤 장 임 한 신",
        "민 서 지 현 수 예 도 하 은 준",
        "우 진 아 연 호 영 윤 빈 희 석",
    ),
    "georgian": (
        "ბერ გიო დავ კალ ლომ მახ ნოდ ქავ შევ ჩხე",
        "ი ა ო უ ",
        "ძე შვილი ია ანი რაძე",
    ),
}
# So many that each is as rare as a name.
_EMOJI = [
    chr(code)
    for first, last in (
        (0x1F300, 0x1F3FA),  # before the skin tones
        (0x1F400, 0x1F4FC),
        (0x1F680, 0x1F6C5),
        (0x1F90C, 0x1F9FF),
    )
    for code in range(first, last + 1)
]
_SPLIT_OF_REMAINDER = {0: "test", 1: "validation"}  # of eight; else training


def split_of(name: str) -> str:
    """The only split in which the name may stand."""
    remainder = zlib.crc32(name.encode()) % 8
    return _SPLIT_OF_REMAINDER.get(remainder, "train")


class Names:
    """Draws names that belong to one split.

    Args:
        rng: A `random.Random`.
        split: `"train"`, `"validation"` or `"test"`.
    """

    def __init__(self, rng: random.Random, split: str):
        self.rng = rng
        self.split = split

    def surname(self) -> str:
        shape = self.rng.random()
        if shape < 0.06:  # hyphenated
            return self._draw(lambda: f"{self._latin()}-{self._latin()}")
        if shape < 0.82:
            return self._draw(self._latin)
        return self._draw(self._other_script)

    def given_name(self) -> str:
        if self.rng.random() < 0.08:
            return self._draw(lambda: f"{self._given()}-{self._given()}")
        return self._draw(self._given)

    def full_name(self) -> str:
        """One to three words."""
        shape = self.rng.random()
        if shape < 0.1:
            return self._draw(self._other_script)
        if shape < 0.13:
            names = [self.given_name(), self.given_name(), self.surname()]
            return " ".join(names)
        return f"{self.given_name()} {self.surname()}"

    def place(self) -> str:
        shape = self.rng.random()
        if shape < 0.08:
            return self._draw(self._other_script)
        if shape < 0.16:
            return self._draw(lambda: self._join((*_PLACES, _PLACE_ENDINGS)))
        return self._draw(lambda: self._join(_PLACES))

    def company(self) -> str:
        return self._draw(lambda: self._join(_COMPANIES))

    def acronym(self) -> str:
        def draw():
            letters = self.rng.choices("ABCDEFGIKLMNOPRSTUVXZ", k=4)
            return "".join(letters[: self.rng.choice((3, 4, 4))])

        return self._draw(draw)

    def emoji(self) -> str:
        return self._draw(lambda: self.rng.choice(_EMOJI))

    def code(self) -> str:
        """The number of a report or a directive: A5-0123/1999."""

        def draw():
            kind = self.rng.choice(("A5", "B5", "C4", "H", "O"))
            number = self.rng.randrange(1, 1000)
            return f"{kind}-{number:04d}/{self.rng.randrange(1994, 2011)}"

        return self._draw(draw)

    def _latin(self) -> str:
        return self._join(self._choose(_LATIN))

    def _given(self) -> str:
        return self._join(_GIVEN)

    def _other_script(self) -> str:
        return self._join(self._choose(_OTHER_SCRIPTS))

    def _choose(self, styles):
        return styles[self.rng.choice(sorted(styles))]

    def _join(self, parts) -> str:
        return "".join(self.rng.choice(part.split(" ")) for part in parts)

    def _draw(self, draw) -> str:
        """Draws until the name belongs to this split."""
        while split_of(name := draw()) != self.split:
            pass
        return name
