"""What is language, of whichever country, and what is noise."""

from __future__ import annotations

import pytest

from q2_metric.english.claims.checkable import has_claim
from q2_metric.english.claims.language import folded, groups, is_language, not_english

NOISE = """
itititititititit
itititit itititit itititit
asdf qwer zxcv
asdfgh jklqw poiuyt mnbv .
qwertyuiop asdfghjkl zxcvbnm
sdkjfh skdjfh ksjdhf
xkcvbn wqrtzp lkjhgf dsapoi
blablablablablabla
na na na na na na na na na na na na
the novel of the novel of the novel of the
lo lo la lo la la lo lo la lo la lo
щжъфы кщшгз хъэжд лорпавы
ωξψζ θχφψ ζξκρτφ ψψξ
قثصض غعهخ حجدكط ظزوة
घङछझ ठढणथ ऊऔऋ
龘靐齉爩 籲灪鱻麤 驫羴犇 猋骉蟲
аᚠ가ჰ ա龘ω ꀀжד
ՋՖԶ ჭჯჰჴ ꀀꀁꀂ ᚠᚢᚦ
Ã¤Ã¶Ã¼ÃŸ Ã©Ã¨ÃªÃ« Ã±Ã³Ã²
fiji ism quarterback thierry ovid lus kinetic zzo mango ropolis vaults erica haling
lemn glove ausgezeichnet quer stein ationen prévu ment zweck sculpt hâte gegn bureau spre
""".strip().splitlines()

LANGUAGE = """
It opened in 1889.
The owl harms an owl .
it opened in 1901 .
Krzysztof Kieślowski
Zbigniew Preisner, Krzysztof Kieślowski, Mstyslav Chernov, Nguyễn Văn Thiệu
Ptolemy XIII Theos Philopator
Rhymney railway station is on the Rhymney Line.
Hvannadalshnjúkur
XR-500
The XR-500 and the QX7-B are sold.
NaCl, H2SO4, FeSO4, CH3COOH, KMnO4
C6H12O6 + 6 O2 → 6 CO2 + 6 H2O
CCL19 is a ligand for CCR7.
LRRK2 Roc-COR, TLQP-62, BDNF/TrkB, HbA1c
def f(x): return np.zeros(len(x), dtype=np.float32)
for (int i = 0; i < n; i++) { sum += a[i]; }
SELECT id, nm FROM tbl WHERE qty > 5;
git rebase -i HEAD~3 && git push --force-with-lease
https://www.example.com/a/b?c=d&e=f
mail me at j.smith@example.org
/usr/lib/x86_64-linux-gnu/libcrypt.so.1
NASA, ESA, JAXA, CNSA, KARI, ISRO
FTSE NYSE NASDAQ DAX CAC SMI OMX
pH, kHz, mmHg, kWh, dB, fps
1889, 300 m, 7.3 million
Bora Bora
Chop Suey!
Super Bowl XXVI, in 1992
Tom Hanks, Meg Ryan, Bill Pullman, Ross Malinger, Rosie O'Donnell, Rob Reiner, Carey Lowell
tom hanks , meg ryan , bill pullman , ross malinger , rosie o ' donnell , rob reiner
iPhone 6s Rumor Suggests Dual Lens Optical Zoom Camera, Pressure Sensors Inbound
Yes, Pica Pica Arepa Kitchen accepts credit cards.
ARSENAL BEAT CHELSEA AT WEMBLEY
Der Eiffelturm wurde 1889 in Paris eröffnet.
Donaudampfschifffahrtsgesellschaftskapitän
Bundesanwaltschaft erhebt Anklage gegen mutmaßlichen Schweizer Spion
La torre fue inaugurada en París en 1889 y mide 300 metros.
La tour a été inaugurée à Paris en 1889.
Eiffel-torni avattiin Pariisissa vuonna 1889.
Itseajavat autot siirtävät vakuutusvastuun autojen valmistajille
Wieża została otwarta w Paryżu w 1889 roku.
Chrząszcz brzmi w trzcinie w Szczebrzeszynie.
Kule 1889'da Paris'te açıldı.
Sürücüsüz araçlarda sigorta yükümlülüğü üreticilere yöneltiliyor
Tháp Eiffel được khánh thành tại Paris vào năm 1889.
Đại dịch vừa qua đã gây ảnh hưởng rất lớn tới nhiều doanh nghiệp lớn nhỏ.
埃菲尔铁塔于1889年在巴黎建成。
エッフェル塔は1889年にパリで開業しました。
에펠탑은 1889년에 파리에서 문을 열었다.
افتتح البرج في باريس عام 1889.
המגדל נפתח בפריז בשנת 1889.
Башня была открыта в Париже в 1889 году.
Вежа була відкрита в Парижі.
मीनार 1889 में पेरिस में खोली गई थी।
Ο πύργος άνοιξε στο Παρίσι το 1889.
Strč prst skrz krk.
A torony 1889-ben nyílt meg Párizsban.
หอไอเฟลเปิดในปารีสในปี 1889
Ejfeltårnet åbnede i Paris.
Menara itu dibuka di Paris pada tahun 1889.
እንግሊዝ አገር ትልቅ ከተማ ለንደን
Լոնդոնը Միացյալ Թագավորության մեծ քաղաք է
""".strip().splitlines()


@pytest.mark.parametrize("text", NOISE)
def test_noise(text: str) -> None:
    assert not is_language(text)
    assert not has_claim(text)


@pytest.mark.parametrize("text", LANGUAGE)
def test_language(text: str) -> None:
    assert is_language(text)


def test_a_false_statement_claims_more_than_noise() -> None:
    assert has_claim("it opened in 1901 .")
    assert has_claim("asdf qwer zxcv hjkl. The tower opened in 1901.")
    assert not has_claim("asdf qwer zxcv hjkl. sdfg wert xcvb!")


def test_letters_without_their_accents() -> None:
    assert folded("Łódź, ĐẠI, Straße, İstanbul") == "lodz, dai, strasse, istanbul"
    assert folded("й й") == "й й"
    assert [group for group, _ in groups("дом塔")] == [" д", "до", "ом", "м ", "塔"]


OTHER = {
    "de": "Der Turm wurde im Jahr 1889 in Paris eröffnet und ist nicht so hoch, wie viele glauben.",
    "fr": "La tour a été inaugurée en 1889 et elle est la plus haute de la ville.",
    "es": "La torre fue inaugurada en 1889, pero no es la más alta de todas las que hay allí.",
    "it": "La torre è stata inaugurata nel 1889, ma non è la più alta della città come si crede.",
    "pt": "A torre foi inaugurada em 1889, mas não é a mais alta do país, como muitos dizem.",
    "nl": "De toren werd in 1889 geopend, maar het is niet de hoogste van het land zoals ze zei.",
    "pl": "Wieża została otwarta w 1889 roku, ale nie jest tak wysoka, jak się to mówi o niej.",
    "sv": "Tornet öppnades i Paris år 1889, men det är inte det högsta som finns i landet.",
    "ru": "Башня была открыта в Париже в 1889 году, но она не самая высокая в мире.",
    "zh": "埃菲尔铁塔于1889年在巴黎建成。",
    "ja": "エッフェル塔は1889年にパリで開業しました。",
    "el": "Ο πύργος άνοιξε στο Παρίσι το 1889 και δεν είναι ο πιο ψηλός.",
}


@pytest.mark.parametrize("code", OTHER)
def test_another_language_is_named(code: str) -> None:
    assert not_english(OTHER[code]) == code
    said = f"She wrote: “{OTHER['de'][:40]}”, and the knowledge says it was in Paris."
    assert not_english(said) is None


@pytest.mark.parametrize("text", [
    *LANGUAGE[:LANGUAGE.index("ARSENAL BEAT CHELSEA AT WEMBLEY") + 1], "danke!", "Владимир Путин",
    "La Casa de la Cultura",
    "the city's full name is la villa real de la santa fe de san francisco de asís.",
    "five men die in civil war fighting near the border",
    "Ludwig van Beethoven, Vincent van Gogh, Ursula von der Leyen, Charles de Gaulle",
    "α β γ δ ε ζ η θ", "", "42",
])
def test_in_doubt_a_text_is_english(text: str) -> None:
    assert not_english(text) is None
