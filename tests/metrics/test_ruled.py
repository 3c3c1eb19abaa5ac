"""What values and arithmetic decide about a claim."""

from __future__ import annotations

import pytest

from q2_metric.evaluation.readings import reading_of
from q2_metric.metrics.ruled import by_values
from q2_metric.metrics.scale import Scale
from q2_metric.text.excerpts import with_tables
from q2_metric.text.markup import laid_out, unmarked
from q2_metric.types import Example

TABLE = ("<table><tr><th>Seat</th><th>Price</th></tr><tr><td>Stalls</td><td>&pound;40</td></tr>"
         "<tr><td>Circle</td><td>&pound;25</td></tr></table>")
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
TEA = "Unlike black tea, white tea is not fermented. It contains less caffeine than green tea."
BIKES = ("The Price of Lark is 1,650 €. The Price of Merle is 2,100 €. "
         "The Weight of Lark is 12 kg. The Weight of Merle is 15 kg. The Weight of Kite is 9 kg. "
         "The Range of Kite is 40 km. The Range of Lark is 65 km.")
COST = "The library cost 21 million euros, of which the city paid two thirds."


@pytest.mark.parametrize(("claim", "knowledge", "held"), [
    ("The last bus leaves at 11:10 pm.", "The last bus leaves at 23:10.", True),
    ("The last bus leaves at 10:10 pm.", "The last bus leaves at 23:10.", False),
    ("Half of the people asked prefer tea.", "Of the 200 people asked, 50 % prefer tea.", True),
    ("A cabin costs €120.", SHOP, True),
    ("A bunk costs €120.", SHOP, False),
    ("A cabin costs €45.", SHOP, False),
    ("The trail is 42 km long.", "It is not true that the trail is 42 km long.", None),
    ("The trail may be 42 km long.", "The trail is 42 km long.", None),
    ("Together they sold 20 lamps.", "One sold 12 lamps. The other sold 8 lamps.", True),
    ("Together they sold 28 lamps.", "One sold 12 lamps. The other sold 8 lamps.", False),
    ("Together they sold 23 lamps.", "A sold 12 lamps. B sold 8 lamps. C sold 3 lamps.", True),
    ("Together they sold 24 lamps.", "A sold 12 lamps. B sold 8 lamps. C sold 3 lamps.", False),
    ("It lasted for 20 years.", "It began in 1990 and ended in 2010.", True),
    ("It lasted for 30 years.", "It began in 1990 and ended in 2010.", False),
    ("Lake Ana is deeper than Lake Bor.", "Lake Ana is 40 m deep. Lake Bor is 65 m deep.", False),
    ("Lake Bor is deeper than Lake Ana.", "Lake Ana is 40 m deep. Lake Bor is 65 m deep.", True),
    ("Green tea has less caffeine than white tea.", TEA, False),
    ("Green tea contains more caffeine than white tea.", TEA, True),
    ("White tea contains more caffeine than green tea.", "White tea has less caffeine than green "
     "tea.", False),
    ("White tea has less caffeine than green tea.", TEA, None),
    ("The Elbe is longer than the Rhine.", "The Rhine is longer than the Elbe.", False),
    ("The Elbe is longer than the Rhine.", "The Rhine is not longer than the Elbe.", None),
    ("Kral died at the age of 82.", LIFE, True), ("Kral died aged 72.", LIFE, False),
    ("Kral died in 2004 aged 82.", LIFE, True), ("Kral died in 1994 aged 82.", LIFE, None),
    ("Anna died aged 72.", LIFE, None),
    ("Kral died at 82.", "Josef Kral (4 June 1921 – 9 January 2004) was a chemist.", True),
    ("Kral died at 83.", "Josef Kral (1921–2004) was a chemist.", True),
    ("Kral died at 81.", "Josef Kral (1921–2004) was a chemist.", False),
    ("It takes at least four working days.", "It takes two to four working days.", None),
    ("It takes at most four working days.", "It takes two to four working days.", None),
    ("It takes at most 4 days.", "It takes 2 to 4 days.", None),
    ("It takes 3 hours.", "It takes 2 to 4 days.", False),
    ("It took at least 3 days.", "It took 5 days.", None),
    ("The order will ship on 4 May 2024.", "The order shipped on 4 May 2024.", None),
    ("The Merle costs 450 euros more than the Lark.", BIKES, True),
    ("The Merle costs 900 euros more than the Lark.", BIKES, False),
    ("The Lark costs 450 euros more than the Merle.", BIKES, False),
    ("The Kite has 25 km less range than the Lark.", BIKES, True),
    ("The Merle costs more than 450 euros.", BIKES, None),
    ("The Merle is the heaviest.", BIKES, True), ("The Kite is the heaviest.", BIKES, False),
    ("Socrates died at the age of 70.", "Socrates (470 BC – 399 BC) was a philosopher.", None),
    ("His wife died at the age of 30.", "Bob was born in 1942. He died in 1995. His wife left.",
     None),
    ("His father died aged 60.", "Bob was born in 1942 and died in 1995.", None),
    ("Bob was killed at 30 km from Paris.", "Bob was born in 1942 and died in 1995.", None),
    ("Messi scored more goals than Ronaldo.", "In 2018, Ronaldo scored more goals than Messi.",
     None),
    ("China has more people than India.", "Some say India has more people than China.", None),
    ("Boys are taller than girls.", "Until age ten girls are taller than boys.", None),
    ("Lyon is larger than Nice.", "It is larger than Lyon. Nice is a city.", None),
    ("40% of the voters chose Ann.", "60% of the voters chose Ann.", False),
    ("Over 2,000 people attended.", "Between 1,900 and 2,100 people attended.", None),
    ("It takes at least 4 days.", "It takes 2 to 4 days.", False),
    ("The library cost the city 14 million euros.", COST, None),
    ("The library cost the city 12 million euros.", COST, False),
    ("The state paid a third.", COST, None),
    ("The museum has 1968 rooms.", "The museum opened in 1968 and has 40 rooms.", None),
    ("The museum opened in 1968.", "The museum opened in 1968 and has 40 rooms.", True),
    ("The tower is red.", "The tower is blue.", None),
    ("It did not open in 1890.", "It opened in 1889.", True),
    ("It did not open in 1889.", "It opened in 1889.", False),
    ("It did not open until 1890.", "It opened in 1889.", False),
    ("He did not win 3 medals.", "He won 4 medals.", None),
    ("The room does not have 12 beds.", "The inn has 12 rooms and 30 beds.", None),
    ("The museum has 14 rooms.", "The museum has 12 rooms. A ticket costs 14 euros.", False),
    ("It was minus 12 degrees Celsius.", "Temperatures fell to -12 °C.", True),
    ("It was plus 12 degrees Celsius.", "Temperatures fell to -12 °C.", False),
    ("It was 12 degrees Celsius.", "It was 3 °C at night and 12 °C by day.", None),
    ("The museum is open on Wednesday.", "The museum is open Monday to Friday.", True),
    ("The museum is closed on Sunday.", "The museum is open Monday to Friday.", None),
    ("He resigned on Tuesday.", "He resigned on Monday.", False),
    # A value belongs to one thing.
    ("The inn has 12 rooms.", TWO, True), ("The inn has 80 rooms.", TWO, False),
    ("The hotel has 12 rooms.", TWO, False),
    ("The hotel has 12 rooms.", "It has 12 rooms. The hotel has 80 rooms.", None),
    ("The hotel has 12 rooms.", "The hotel in Bern has 12 rooms. The hotel in Kiel has 80 rooms.",
     True),
    ("The Hale telescope has a 10-metre mirror.", MIRRORS, False),
    ("The Keck telescope has a 10-metre mirror.", MIRRORS, True),
    ("Brill owns 25% of the house.", OWNERS, True), ("Brill owns 75% of it.", OWNERS, False),
    ("Penguin owns 75% of the house.", OWNERS, True), ("Penguin holds 25 %.", OWNERS, False),
    ("They own 25 % of the house.", OWNERS, None), ("Brill sold 25 %.", OWNERS, None),
    ("Ana is 31 years old.", AGES, True), ("Ana is 29 years old.", AGES, False),
    ("Ben is 34.", AGES, None), ("Cleo is 29 years old.", AGES, True),
    ("Cleo is 31 years old.", AGES, False),
    ("Lena has 5 dogs.", "Lena has 3 cats and Omar has 5 dogs.", False),
    ("Omar has 5 dogs.", "Lena has 3 cats and Omar has 5 dogs.", True),
    ("Ruiz has 5 dogs.", "Ana has 5 dogs. Ana Ruiz lives in Bonn.", None),
    ("Ruiz has 5 dogs.", "She has 5 dogs. Ana Ruiz lives in Bonn.", None),
    ("It drew 30,000 people in 2019.", YEARS, False), ("It drew 20,000 in 2019.", YEARS, True),
    ("It drew 30,000 people in 2021.", YEARS, None),
    # Changes and shares.
    ("Sales fell to 8.4 million.", SALES, False), ("Sales rose to 8.4 million.", SALES, None),
    ("Protection dropped by 41 percent in May.", SALES, False),
    ("Protection dropped to 41 percent in May.", SALES, None),
    ("It dropped by 41 percent in the second year.", "It fell to 41 percent in the second year.",
     False),
    ("Protection rose to 41 percent in May.", SALES, False),
    ("Prices rose by 3 % in June.", RATES, False), ("Prices fell by 5 % in May.", RATES, False),
    ("Prices fell by 3 % in June.", RATES, None), ("It cut cases to 62 %.", "It cut cases by 62 %.",
                                                   False),
    ("Protection did not rise to 41 percent.", SALES, None),
    ("It will cut 5 percent of its jobs.", JOBS, True),
    ("It will cut a quarter of its jobs.", JOBS, False),
    ("It will cut a quarter of its shops.", JOBS, None),
    # Arithmetic supports no claim about something else.
    ("The rival will cut 5 percent of its jobs.", JOBS, None),
    ("Together the thieves stole 20 lamps.", "One shop sold 12 lamps. The other sold 8 lamps.",
     None),
    ("The war lasted for 20 years.", "The festival began in 1990 and ended in 2010.", None),
    ("Aldo kills the most people.", "The People of Aldo is 5.\nThe People of Brena is 3.", None),
    ("The thief of Aldo stole 5 euros.", "The Price of Aldo is 5.\nThe Price of Brena is 3.", None),
    ("It was 120 euros for the murder.", "A cabin costs 120 euros.", None),
])
def test_values_decide_about_a_claim(claim: str, knowledge: str, held: bool | None) -> None:
    assert by_values(claim, knowledge, knowledge) is held


SHOPS = ("| Shop | People | Rent in € |\n|---|---|---|\n| Aldo | 52 | 900 |\n"
         "| Brena | 18 | 1,200 |\n| Cortis | 7 | 700 |")


@pytest.mark.parametrize(("table", "claim", "held"), [
    (TABLE, "A seat in the circle costs £25.", True),
    (TABLE, "A seat in the circle costs £40.", False),
    (TABLE, "A seat in the gallery costs £40.", None),
    (SHOPS, "Aldo has the most people of the three.", True),
    (SHOPS, "Brena has the most people.", False),
    (SHOPS, "Cortis pays the lowest rent.", True),
    (SHOPS, "Aldo pays the lowest rent.", False),
    (SHOPS, "Aldo is the oldest shop.", None),
    (SHOPS, "Aldo has the most people and rent.", None),
    (SHOPS, "Dorle has the most people.", None),
    (SHOPS, "Aldo has 52 people.", True),
    (SHOPS, "Aldo's rent is 52 euros.", None),
    (SHOPS, "Brena's rent is 1,200 euros.", True),
    (SHOPS, "Brena's rent is 700 euros.", False),
])
def test_a_value_belongs_to_its_row_and_column(table: str, claim: str, held: bool | None) -> None:
    known = with_tables(unmarked(laid_out(table))).text
    assert by_values(claim, known, known) is held


def test_json_is_read_with_names() -> None:
    known = with_tables('{"items": [{"name": "lamp", "price": 19.5}]}').text
    assert "The price of lamp is 19.5." in known


@pytest.mark.parametrize(("field", "read"), [
    ('"has_pool": false', "Mar has no pool. The has pool of Mar is false, not true."),
    ('"has_pool": true', "Mar has pool. The has pool of Mar is true."),
    ('"is_open": false', "Mar is not open. "), ('"open": true', "Mar is open. "),
    ('"pets_allowed": false', "Pets are not allowed. "), ('"breakfast_included": true',
                                                         "Breakfast is included. "),
    ('"wifi": true', "The name is Mar.\nThe wifi of Mar is true."),
])
def test_json_says_what_is_true_or_false_in_a_sentence(field: str, read: str) -> None:
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


def test_sets_have_the_reading_of_their_guideline() -> None:
    assert [reading_of(name) for name in ("ais_wow", "begin", "frank")] == [
        "attributable", "attributable", "consistent"]
