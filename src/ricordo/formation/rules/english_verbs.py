"""English verbs as far as turning a statement into the third person needs them."""

from typing import Final

from ricordo.formation.rules.word_sets import words

BASE_FORMS: Final = words("""
accept add admire agree answer apply ask attend avoid bake believe belong bike blog book breed
bring brush build buy call camp care carry celebrate change check choose clean climb close coach
code collect commute consider cook cope count cover create crochet cut cycle dance deal deliver
depend design despise detest dislike dive do draw drink drive earn eat edit end enjoy expect
explain fast feed film fix feel finish fish fly follow forget garden get give go grow handle hate
have hear help hike hold host hunt improve install invest jog join keep knit know lead learn leave
lift like listen live look lose love make manage marry mean meet meditate mention mind move need
offer open order organise organize own paint paste pay photograph plan play post practice practise
pray prefer program publish pull put raise read receive record recycle rent repair restore reply
report request require respond rest ride run sail save say see sell send serve sew share ship shop
show sing sit skate ski sleep smoke spend stand start stay stop study submit suffer supervise
support swim take talk teach tell think train translate travel try tutor type understand upload
use vape visit volunteer vote wait wake walk want watch wear weigh win wish work worry write
""")

PAST_FORMS: Final = words("""
was were had did became began bought broke brought built came caught chose drank drew drove ate
fell felt flew forgot found gave got grew heard held kept knew learnt led left lent lost made
meant met paid put quit ran read rode said sang sat saw sent slept sold spent spoke stood swam
taught thought told took understood went woke won wore wrote
""")

MODALS: Final = words("""
can cannot can't must should will won't shall shouldn't mustn't
""")

ADVERBS: Final = words("""
also always already actually currently even generally hardly just mainly mostly never normally now
often only originally personally primarily rarely really regularly seldom sometimes still strongly
typically usually absolutely completely definitely recently finally officially
""")

_ODD: Final = {"have": "has", "do": "does", "go": "goes", "am": "is", "be": "is"}


def third_person(verb: str) -> str:
    """The form after "he": ``try`` gives ``tries``."""
    if verb in _ODD:
        return _ODD[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"
