"""Names of places that are no home town and no employer, as far as comparing statements needs.

Not a gazetteer: a country or an island may contain the town that another statement names, so the
two do not contradict each other; and who "bekerja di Jakarta" says where, not for whom.
"""

from typing import Final

_AREAS = """
indonesia,java,jawa,jawa barat,jawa tengah,jawa timur,west java,central java,east java,bali,
sumatra,sumatera,kalimantan,borneo,sulawesi,papua,lombok,jabodetabek,malaysia,singapore,singapura,
thailand,vietnam,philippines,filipina,japan,jepang,korea,south korea,china,taiwan,india,pakistan,
bangladesh,nepal,sri lanka,australia,new zealand,germany,jerman,france,prancis,italy,italia,spain,
spanyol,portugal,netherlands,belanda,belgium,austria,switzerland,poland,czech republic,hungary,
romania,bulgaria,greece,turkey,turki,ukraine,russia,rusia,sweden,norway,denmark,finland,iceland,
ireland,scotland,wales,england,uk,united kingdom,britain,inggris,usa,us,united states,america,
amerika,canada,kanada,mexico,brazil,argentina,chile,peru,colombia,egypt,mesir,morocco,nigeria,
kenya,south africa,ethiopia,israel,saudi arabia,arab saudi,uae,qatar,iran,iraq,europe,eropa,asia,
africa,afrika,bavaria,california,texas,florida,tuscany,lombardy,piedmont,sicily,catalonia,ontario
"""

_CITIES = """
jakarta,bekasi,bandung,surabaya,medan,depok,bogor,tangerang,semarang,yogyakarta,jogja,solo,malang,
makassar,palembang,denpasar,padang,batam,berlin,munich,hamburg,cologne,vienna,zurich,london,paris,
rome,milan,turin,madrid,barcelona,lisbon,amsterdam,brussels,tokyo,osaka,kyoto,seoul,beijing,
shanghai,hong kong,bangkok,hanoi,manila,kuala lumpur,sydney,melbourne,new york,san francisco,
los angeles,chicago,boston,seattle,toronto,vancouver,dubai,istanbul,moscow,warsaw,prague,stockholm
"""


def _listed(names: str) -> frozenset[str]:
    return frozenset(name.strip() for name in names.replace("\n", " ").split(",") if name.strip())


AREAS: Final = _listed(_AREAS)
"""Countries, islands and regions."""

CITIES: Final = _listed(_CITIES)
"""Some large towns."""
