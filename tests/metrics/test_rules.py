"""What values decide about a claim."""

from __future__ import annotations

import pytest

from q2_metric.evaluation.scores import ScoreColumns
from q2_metric.metrics.rules import ruling
from q2_metric.metrics.scale import Scale
from q2_metric.text.excerpts import with_tables
from q2_metric.types import Example, Judgement

SHOP = "A cabin costs 120 euros and a bunk costs 45 euros."
TWO = "The inn has 12 rooms. The hotel next door has 80 rooms and allows no pets."
MIRRORS = ("The Hale telescope was completed in 1948. The Keck telescope has a mirror of 10 m. "
           "The Hale telescope has a mirror of 5.1 m.")
OWNERS = "Brill and Penguin own 25 % and 75 % of the house, respectively."
YEARS = "It drew 20,000 people in 2019 and 30,000 in 2020."
AGES = "Ana, Ben and Cleo are 31, 34 and 29 years old, respectively."
SALES = "Sales were 8.4 million, up from 7.9 million. Protection fell to 41 percent in May."
RATES = "Prices rose by 5 % in May and fell by 3 % in June."
JOBS = "It will cut 250 of its 5,000 jobs."
LIFE = "Josef Kral (born 4 June 1921 in Brno; died 9 January 2004 in Vienna) was a chemist."
COST = "The library cost 21 million euros, of which the city paid two thirds."


@pytest.mark.parametrize(("claim", "knowledge", "held"), [
    ("The last bus leaves at 11:10 pm.", "The last bus leaves at 23:10.", True),
    ("The last bus leaves at 10:10 pm.", "The last bus leaves at 23:10.", False),
    # Days of a month in both orders; a range that is wider than the known one; what is unclear.
    ("The fair is on May 3-5.", "The fair is on 3 to 5 May.", True),
    ("The fair runs from May 3 to 5, 2025.", "The fair runs from 3 to 5 May 2025.", True),
    ("The fair is on May 4-6.", "The fair is on 3-5 May.", None),
    ("The fair is on 3 June.", "The fair is on 3-5 May.", False),
    ("Store at -2 to 8 °C.", "Store at 2-8 °C.", None),
    ("Rates were between -1% and 2%.", "Rates were between 1% and 2%.", None),
    ("The firm was founded in 1990.", "The firm was founded in the 1990s.", None),
    ("It was built in the 1980s.", "It was built in 1980.", True),
    ("It opened on 1 May.", "It opened in May.", None),
    ("The shop opens at 9 pm.", "The shop opens at 9:00.", None),
    ("The shop opens at 9 am.", "The shop opens at 9:00.", True),
    ("The train leaves at 10:40.", "The train leaves at 22:40.", None),
    ("The limit is one million rows.", "The limit is 10^6 rows.", None),
    ("It takes 5.5 hours.", "It takes 5½ hours.", True),
    ("It takes 3 hours.", "It takes 5½ hours.", False),
    ("20 guests came.", "Half of the 40 guests came.", None),
    ("The dose is 5 mg daily.", "The dose is 5 \u00b5g daily.", False),
    ("The dose is 5 mcg daily.", "The dose is 5 \u03bcg daily.", True),
    ("Half of the people asked prefer tea.", "Of the 200 people asked, 50 % prefer tea.", None),
    ("A cabin costs €120.", SHOP, True),
    ("The order number is 4710.", "The order number is 4711.", None),
    ("The fee is 1250 euros.", "The fee is 1249 euros.", None),
    ("It costs $3.10.", "It costs $3.11.", False),
    ("The rate is 3.1 %.", "The rate is 3.14 %.", True),
    ("Install Python 3.1.", "Install Python 3.14.", None),
    ("Python 3.10 is required.", "Python 3.1 is required.", None),
    ("Profit was $5 million.", "Profit was -$5 million.", False),
    ("The balance is -$40.", "The balance is −40 dollars.", True),
    ("The trail is 42 km long.", "It is not true that the trail is 42 km long.", None),
    ("The trail may be 42 km long.", "The trail is 42 km long.", None),
    ("Kral died in 1994 aged 82.", LIFE, None),
    ("It takes at least four working days.", "It takes two to four working days.", None),
    ("It takes at most four working days.", "It takes two to four working days.", None),
    ("It takes at most 4 days.", "It takes 2 to 4 days.", None),
    ("It takes 3 hours.", "It takes 2 to 4 days.", False),
    ("It took at least 3 days.", "It took 5 days.", None),
    ("The order will ship on 4 May 2024.", "The order shipped on 4 May 2024.", None),
    ("Socrates died at the age of 70.", "Socrates (470 BC – 399 BC) was a philosopher.", None),
    ("His wife died at the age of 30.", "Bob was born in 1942. He died in 1995. His wife left.",
     None),
    ("Bob was killed at 30 km from Paris.", "Bob was born in 1942 and died in 1995.", None),
    ("40% of the voters chose Ann.", "60% of the voters chose Ann.", False),
    ("Over 2,000 people attended.", "Between 1,900 and 2,100 people attended.", None),
    ("It takes at least 4 days.", "It takes 2 to 4 days.", False),
    ("The state paid a third.", COST, None),
    ("The museum has 1968 rooms.", "The museum opened in 1968 and has 40 rooms.", None),
    ("The museum opened in 1968.", "The museum opened in 1968 and has 40 rooms.", True),
    ("He did not win 3 medals.", "He won 4 medals.", None),
    ("The room does not have 12 beds.", "The inn has 12 rooms and 30 beds.", None),
    ("The museum has 14 rooms.", "The museum has 12 rooms. A ticket costs 14 euros.", False),
    # The sentence must have all other words of the claim.
    ("The fee per line goes up by 0.35.", "The fee per line rises from 2.10 to 2.45.", None),
    ("A family of four can collect 16 litres a day.", "They get 4 litres per person a day.", None),
    ("It was 12 degrees Celsius.", "It was 3 °C at night and 12 °C by day.", None),
    ("The museum is open on Wednesday.", "The museum is open Monday to Friday.", True),
    ("The museum is closed on Sunday.", "The museum is open Monday to Friday.", None),
    ("The museum is open Monday to Friday.", "The museum is open Mon-Fri.", True),
    ("He resigned on Tuesday.", "He resigned on Monday.", False),
    ("The inn has 12 rooms.", TWO, True),
    ("The hotel has 12 rooms.", "It has 12 rooms. The hotel has 80 rooms.", None),
    ("The hotel has 12 rooms.", "The hotel in Bern has 12 rooms. The hotel in Kiel has 80 rooms.",
     None),
    ("The Keck telescope has a 10-metre mirror.", MIRRORS, None),
    ("They own 25 % of the house.", OWNERS, None), ("Brill sold 25 %.", OWNERS, None),
    ("Ben is 34.", AGES, None), ("Omar has 5 dogs.", "Lena has 3 cats and Omar has 5 dogs.", None),
    ("Ruiz has 5 dogs.", "Ana has 5 dogs. Ana Ruiz lives in Bonn.", None),
    ("Ruiz has 5 dogs.", "She has 5 dogs. Ana Ruiz lives in Bonn.", None),
    ("It drew 20,000 in 2019.", YEARS, None), ("It drew 30,000 people in 2021.", YEARS, None),
    ("Sales rose to 8.4 million.", SALES, None),
    ("Protection dropped to 41 percent in May.", SALES, None),
    ("Prices fell by 3 % in June.", RATES, None),
    ("Protection did not rise to 41 percent.", SALES, None),
    ("It will cut a quarter of its shops.", JOBS, None),
    ("The rival will cut 5 percent of its jobs.", JOBS, None),
    ("Together they sold 20 lamps.", "One sold 12 lamps. The other sold 8 lamps.", None),
    ("Google bought YouTube in 2006.", "Google was bought by YouTube in 2006.", None),
    ("Take it 2 hours before meals.", "Take it 2 hours after meals.", None),
    ("Sales rose to 5 million euros.", "Sales rose by 5 million euros.", None),
    ("You must bring 2 photos.", "You can bring 2 photos.", None),
    ("The museum closed in 2003.", "The museum's cafe closed in 2003.", None),
    ("Anna Holm was born in 1931.", "The father of Anna Holm was born in 1931.", None),
    ("The firm acquired Beta in 2015.", "The firm tried to acquire Beta in 2015.", None),
    ("Tickets cost $10.", "Tickets previously cost $10.", None),
    ("The factory closed in 2015.", "The factory nearly closed in 2015.", None),
    ("The model has 7B parameters.", "The model has 7 billion parameters.", True),
    ("The fee is $2 M.", "The fee is $2 million.", True),
    ("There are hundreds of rooms.", "There are 350 rooms.", None),
    ("The notice period is 30 days.", "The notice period is one month.", None),
    ("The notice period is 10 days.", "The notice period is one month.", False),
    ("It did not open in 1890.", "It opened in 1889.", None),
    ("Ana is 31 years old.", AGES, None),
    # An amount that was rounded, or whose signs a program has changed.
    ("It has 23,000 shops.", "It has 23,768 shops.", None),
    ("It has 25,000 shops.", "It has 23,768 shops.", False),
    ("It earned $53,193,914.", "It earned £53,193,914.", None),
    ("It earned $120.", "It earned £120.", False),
    ("It is in about 2.580 papers.", "It is in 2,580 papers.", None),
    ("It sold over 10 million albums.", "Its first two albums sold 10 million copies.", None),
    ("The war lasted for 20 years.", "The festival began in 1990 and ended in 2010.", None),
    ("It was 120 euros for the murder.", "A cabin costs 120 euros.", None),
])
def test_values_decide_about_a_claim(claim: str, knowledge: str, held: bool | None) -> None:
    decided = {True: "supported", False: "contradicted", None: None}
    assert ruling(claim, knowledge) == decided[held]


def test_json_is_read_with_names() -> None:
    known = with_tables('{"items": [{"name": "lamp", "price": 19.5}]}').text
    assert "The price of lamp is 19.5." in known


@pytest.mark.parametrize(("field", "read"), [
    ('"has_pool": false', "The has pool of Mar is false, not true."),
    ('"wifi": true', "The name is Mar.\nThe wifi of Mar is true."),
])
def test_json_says_what_is_true_or_false(field: str, read: str) -> None:
    text = '{"name": "Mar", ' + field + "}"
    known = with_tables(text)
    assert read in known.text
    value = field.split()[-1]
    assert text[known.place(known.text.rindex(value)) :].startswith(value)


@pytest.mark.slow
def test_a_response_that_claims_nothing_is_not_attributable() -> None:
    chat = Example("That's great, thanks!", "The tower opened in 1889.")
    assert Scale.from_preset(support="attributable").score([chat])[0].value == 0.0
    assert Scale.from_preset().score([chat])[0].value is None


@pytest.mark.slow
@pytest.mark.parametrize(("response", "knowledge", "verdict"), [
    ("Maximum speed is 120 mph.", "The tank holds 60 litres. Maximum speed is 120 km/h.",
     "contradicted"),
    ("Pets are allowed in the rooms.",
     "Pets are not allowed in the rooms. Refunds are paid within five days.", "contradicted"),
])
def test_the_passage_is_about_the_claim(response: str, knowledge: str, verdict: str) -> None:
    """Whether a rule decides or the networks."""
    [score] = Scale.from_preset().score([Example(response, knowledge)], evidence=True)
    [judged] = score.evidence
    assert isinstance(judged, Judgement)
    assert (judged.verdict, judged.passage) == (verdict, next(
        part for part in knowledge.replace(". ", ".\n").split("\n") if part[:4] == response[:4]))


def test_sets_have_the_reading_of_their_guideline() -> None:
    assert [ScoreColumns([]).reading_of(name) for name in ("ais_wow", "begin", "frank")] == [
        "attributable", "attributable", "consistent"]
