"""Pairs of statements written by hand, to measure what consolidation merges without a model."""

from typing import Final

SAME: Final = (
    ("User lives in Bekasi with two cats.", "User lives with two cats in Bekasi."),
    (
        "User works as a nurse at a children's hospital.",
        "User is a nurse at a children's hospital.",
    ),
    ("User is allergic to peanuts.", "User has a peanut allergy."),
    ("User likes hiking in the mountains.", "User really loves hiking in the mountains."),
    (
        "User plays the violin in an amateur orchestra.",
        "User plays violin in an amateur orchestra.",
    ),
    ("User's favourite colour is dark green.", "Dark green is the user's favourite colour."),
    ("User drinks coffee without sugar.", "User drinks his coffee without sugar."),
    ("User is learning to sail on the lake.", "User is currently learning to sail on the lake."),
    ("User prefers short answers.", "User always prefers short answers."),
    ("User prefers trains over planes.", "User generally prefers trains over planes."),
    ("User has a daughter who studies law.", "User's daughter studies law."),
    ("User owns a small bakery in the old town.", "User owns a small bakery in the old town!"),
    ("User wants replies in Indonesian.", "User wants all replies in Indonesian."),
    ("User gets up at 5 every day.", "User gets up every day at 5."),
    ("User does not eat meat.", "User doesn't eat meat."),
    ("User runs 10 kilometres every Sunday.", "Every Sunday the user runs 10 kilometres."),
    ("User enjoys watching old films.", "User likes watching old films."),
    ("User's brother lives in Surabaya.", "The user's brother lives in Surabaya."),
    ("User bought a used bicycle in March.", "In March the user bought a used bicycle."),
    ("User is afraid of heights.", "User has a fear of heights."),
)
"""The same in other words, or nearly the same words."""

DISTINCT: Final = (
    ("User's sister lives in Bekasi.", "User's brother lives in Bekasi."),
    ("User has an appointment on 5 May.", "User has an appointment on 15 May."),
    ("User runs 10 kilometres every Sunday.", "User runs 10 kilometres every Saturday."),
    ("User's father is called Ben.", "User's grandfather is called Ben."),
    ("User likes black coffee.", "User likes black tea."),
    ("User drinks coffee with sugar.", "User drinks coffee without sugar."),
    ("User is allergic to peanuts.", "User is not allergic to peanuts."),
    ("User prefers trains over planes.", "User prefers planes over trains."),
    ("User plays the violin in an orchestra.", "User plays the viola in an orchestra."),
    ("User speaks Spanish at work.", "User speaks Spanish at home."),
    ("User flew from Rome to Paris.", "User flew from Paris to Rome."),
    ("User's first dog was brown.", "User's second dog was brown."),
    ("User takes the medicine in the morning.", "User takes the medicine in the evening."),
    ("Ana teaches Ben to swim.", "Ben teaches Ana to swim."),
    ("User has read the book twice.", "User has read the book once."),
    ("User wants replies in Indonesian.", "User wants replies in English."),
    ("User used to smoke.", "User smokes."),
    ("User's car is insured.", "User's house is insured."),
    ("User met Ana in Berlin in 2019.", "User met Ana in Berlin in 2021."),
    ("User only eats fish on Fridays.", "User eats fish except on Fridays."),
)
"""Nearly the same words, and something else that they say."""

SAME_AGAIN: Final = (
    ("User keeps bees on the roof.", "User still keeps bees on the roof."),
    ("User is married to a doctor.", "The user is married to a doctor."),
    ("User paid 40 euros for the ticket.", "User paid 40 euros for his ticket."),
    ("User goes to the gym on Mondays.", "On Mondays the user goes to the gym."),
    ("User can't stand loud music.", "User hates loud music."),
    ("User adores Italian food.", "User likes Italian food very much."),
    ("User collects old stamps and coins.", "User collects old coins and stamps."),
    ("Pengguna suka kopi hitam.", "Pengguna sangat suka kopi hitam."),
    ("User would like to visit Japan in spring.", "User wants to visit Japan in spring."),
    ("User writes poems at night.", "User usually writes poems at night."),
)
"""Written after the first rules stood. One of the distinct ones (born here, lives there) led to the
rule that words must stand in the same order, so these too say more of the past than the future."""

DISTINCT_AGAIN: Final = (
    ("User borrowed money from Ben.", "User lent money to Ben."),
    ("User's mother taught him Dutch.", "User taught his mother Dutch."),
    ("User sold the car to buy a boat.", "User sold the boat to buy a car."),
    ("User is older than Ana.", "Ana is older than the user."),
    ("User wakes up before the children.", "User wakes up after the children."),
    ("User has two sons and one daughter.", "User has one son and two daughters."),
    ("User moved from Italy to Spain.", "User moved from Spain to Italy."),
    ("User likes cats but not dogs.", "User likes dogs but not cats."),
    ("User was born in Turin and lives in Milan.", "User was born in Milan and lives in Turin."),
    ("User never works on Fridays.", "User always works on Fridays."),
    (
        "User takes 20 mg in the morning and 10 mg at night.",
        "User takes 10 mg in the morning and 20 mg at night.",
    ),
    ("User's boss dislikes the new office.", "User dislikes the new office."),
    ("User gave Ana a book.", "Ana gave User a book."),
    ("User plans to visit Japan.", "User plans to leave Japan."),
    ("User almost bought the house.", "User bought the house."),
    ("User lost the blue umbrella.", "User found the blue umbrella."),
    ("Pengguna suka teh manis.", "Pengguna suka teh tawar."),
    ("User sings in the church choir.", "User's wife sings in the church choir."),
    ("User was told to rest for 3 days.", "User was told to rest for 3 weeks."),
    ("User wants to be called Ana.", "User does not want to be called Ana."),
)
