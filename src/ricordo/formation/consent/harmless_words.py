"""Where the words of sensitive statements mean something harmless, per field."""

from typing import Final

HARMLESS: Final = {
    "health": """
    health insurance software, mental health app developer, sick of, sick beat, love sick, homesick,
    great depression, tropical depression, economic depression, bipolar transistor*, bipolar
    junction, brush stroke*, stroke order, stroke width, stroke color, stroke colour, breast stroke,
    butterfly stroke, stroke of luck, zodiac cancer, cancer zodiac, cancer sign, tropic of cancer,
    analysis paralysis, tone deaf, deaf ears, is blind to, non alcoholic, alcoholic drink*,
    alcoholic beverage*, retail therapy, therapy dog*, is a therapist, as a therapist, physical
    therapist, works in the hospital, working in the hospital, work in the hospital, fever dream,
    prescriptive*, disorderly, gold fever, smoking hot, smoking jacket, has a cold brew, have a cold
    brew, has a cold beer, have a cold beer, has a cold shower, has a cold drink, addicted to
    coffee, addicted to tea, addicted to chocolate, addicted to chess, addicted to reading, addicted
    to running, addicted to podcasts, addicted to sudoku, addicted to sushi, addicted to crosswords,
    addicted to this, addictive game*, bug symptom*, symptom of the bug, infected file*, infected
    computer, virus infection on the, injury time, rumah sakit, sakit hati, buta arah, kecanduan
    kopi, kecanduan game, kecanduan main game, kecanduan cokelat, kecanduan drakor, krankenpfleg*,
    krankenschwester*, krankenhaus*, krankenkasse*, krankenversicherung*, traumatic ending,
    depressing movie, depressing film, depressing book, chronic procrastinat*, database seizure
    """,
    "faith": """
    good faith, bad faith, leap of faith, faith in humanity, church encoding, church numeral*,
    alonzo church, intermittent fasting, kosher salt, gospel music, gospel choir, islamabad, buddha
    bowl*, hey jude, language agnostic, platform agnostic, framework agnostic, database agnostic,
    vendor agnostic, cloud agnostic, model agnostic, provider agnostic, agnostic to, spiritual
    successor, hail mary, programming bible, style bible
    """,
    "sexuality": """
    asexual reproduction, virgin olive, is straight to, is straight forward, same sex ratio, homo
    sapiens
    """,
    "politics": """
    office politics, political science, political scientist*, political thriller*, political
    philosophy, politikwissenschaft*, ilmu politik, leader election, voting classifier, majority
    vote, majority voting, voting app, estimate is conservative, is liberal with, kampanye iklan,
    kampanye pemasaran, kampanye email, politically correct
    """,
    "money": """
    technical debt, tech debt, design debt, sleep debt, daylight savings, savings time, energy
    savings, cost savings, time savings, token savings, loan word*, library loan*, interlibrary
    loan, earns points, earning points, earnings call, semantic debt, utang teknis, hutang teknis,
    utang budi, bank account app
    """,
    "identifiers": """
    passport js, password manager*, password reset*, password hashing, password policy, password
    field*, passwordless, api key rotation, passport photo app
    """,
    "pronouns": """
    japanese pronouns, german pronouns, spanish pronouns, french pronouns, pronouns in japanese,
    pronouns in german, pronouns in spanish, pronouns in french
    """,
    "preferred_name": """
    first name field, last name field, surname field, full name field, full name column
    """,
}
"""Phrases whose words do not count."""

WORK: Final = """
work, works, worked, working, builds, build, building, built, develops, developing, develop, writes,
maintains, job, employed, engineer, employer, sells, teaches, researches, research*, bekerja,
mengembangkan, membuat, kerja, arbeitet, arbeite, entwickelt, verkauft
"""
"""Words of a statement that is about somebody's work …"""

TRADE: Final = """
app, apps, software, research, researcher*, insurance, startup*, nurse*, ward, clinic*, department,
charity, dataset*, api, platform*, tool*, company, ngo, institute, lab, laboratory, calculator*,
tracker*, system*, service*, processing, products, drugs, devices, advisor*, adviser*, counsel*,
officer*, broker*, journalist*, correspondent*, reporter*, desk, teacher*, hospital, records,
management, model, models, prediction, detection, website*, surgeon*, specialist*, aplikasi,
perangkat, perusahaan, forschung, firma, aktuar*
"""
"""… where the word before one of these names a trade and not a person's state."""
