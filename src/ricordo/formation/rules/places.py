"""Places that are recognised without a capital letter, and capitalised words that are none."""

from typing import Final

from ricordo.formation.rules.word_sets import phrases, words

KNOWN_PLACES: Final = phrases("""
afghanistan, albania, algeria, argentina, armenia, australia, austria, azerbaijan, bahrain,
bangladesh, belarus, belgium, bolivia, bosnia, brazil, brunei, bulgaria, cambodia, cameroon, canada,
chile, china, colombia, costa rica, croatia, cuba, cyprus, czechia, denmark, ecuador, egypt,
england,
estonia, ethiopia, finland, france, georgia, germany, ghana, greece, guatemala, hungary, iceland,
india, indonesia, iran, iraq, ireland, israel, italy, jamaica, japan, jordan, kazakhstan, kenya,
korea, south korea, kuwait, laos, latvia, lebanon, libya, lithuania, luxembourg, malaysia, malta,
mexico, moldova, mongolia, montenegro, morocco, myanmar, nepal, netherlands, the netherlands,
new zealand, nigeria, norway, oman, pakistan, palestine, panama, paraguay, peru, philippines,
the philippines, poland, portugal, qatar, romania, russia, rwanda, saudi arabia, scotland, senegal,
serbia, singapore, slovakia, slovenia, somalia, south africa, spain, sri lanka, sudan, sweden,
switzerland, syria, taiwan, tanzania, thailand, tunisia, turkey, uganda, ukraine, uruguay,
uzbekistan, venezuela, vietnam, wales, yemen, zambia, zimbabwe, the uk, uk, the us, usa, the usa,
uae, the uae, the united states, the united kingdom,
amsterdam, athens, atlanta, auckland, austin, baghdad, bangalore, bangkok, barcelona, beijing,
beirut, belgrade, berlin, bogota, bologna, bordeaux, boston, brisbane, bristol, brooklyn, brussels,
bucharest, budapest, buenos aires, cairo, cape town, chennai, chicago, cologne, copenhagen, dallas,
delhi, denver, detroit, dhaka, dubai, dublin, edinburgh, florence, frankfurt, geneva, glasgow,
hamburg, hanoi, helsinki, hong kong, houston, hyderabad, istanbul, johannesburg, karachi, kiev,
kyiv, kuala lumpur, kyoto, lagos, lahore, leeds, lima, lisbon, liverpool, london, los angeles, lyon,
madrid, manchester, manila, melbourne, mexico city, miami, milan, montreal, moscow, mumbai, munich,
nairobi, naples, new delhi, new york, new york city, nyc, osaka, oslo, ottawa, oxford, palermo,
paris,
perth, philadelphia, phoenix, porto, portland, prague, riga, rio de janeiro, rome, rotterdam,
san diego, san francisco, santiago, sao paulo, são paulo, seattle, seoul, seville, shanghai,
shenzhen,
sofia, stockholm, stuttgart, sydney, tallinn, tehran, tel aviv, texas, california, florida, tokyo,
toronto, turin, valencia, vancouver, venice, vienna, vilnius, warsaw, washington, zagreb, zurich,
aceh, ambon, badung, bali, balikpapan, banda aceh, bandung, banjarmasin, banten, banyuwangi, batam,
batu, bekasi, bengkulu, binjai, blitar, bogor, bontang, brebes, bukittinggi, ciamis, cianjur,
cibubur,
cikarang, cilacap, cilegon, cimahi, cirebon, denpasar, depok, dumai, garut, gorontalo, gresik,
jakarta,
jakarta barat, jakarta pusat, jakarta selatan, jakarta timur, jakarta utara, jambi, jayapura,
jember,
jepara, jogja, jogjakarta, kalimantan, karawang, kebumen, kediri, kendari, klaten, kudus, kuningan,
kupang, lampung, lombok, lumajang, madiun, madura, magelang, majalengka, makassar, malang, manado,
mataram, medan, mojokerto, padang, palangkaraya, palembang, palu, pangkalpinang, papua, pasuruan,
pekalongan, pekanbaru, pontianak, probolinggo, purwakarta, purwokerto, salatiga, samarinda,
semarang,
serang, serpong, sidoarjo, singkawang, solo, subang, sukabumi, sulawesi, sumatera, sumedang,
surabaya,
surakarta, tangerang, tangerang selatan, tanjungpinang, tarakan, tasikmalaya, tegal, ternate, ubud,
wonogiri, wonosobo, yogyakarta
""")

WRITTEN_IN_CAPITALS: Final = frozenset({"uk", "us", "usa", "uae", "nyc", "la", "sf", "dc"})

# One moves to these, is from these or works in these without their being a place.
NOT_PLACES: Final = phrases("""
adobe, agile, airbnb, amazon, android, angular, ansible, apple, arch, aws, azure, bitbucket,
bootcamp,
chrome, claude, chatgpt, gemini, codeium, copilot, cursor, debian, django, docker, edge, emacs,
english,
excel, facebook, fedora, figma, finance, firefox, flask, flutter, gcp, git, github, gitlab,
gmail, gnome,
go, golang, google, hr, ibm, instagram, intel, ios, ipad, iphone, it, java, javascript, jira,
kafka, kde,
kotlin, kubernetes, laravel, legal, linux, lisp, lua, mac, macos, mariadb, marketing, meta,
microsoft,
mint, mongodb, mysql, neovim, netflix, nextjs, node, notion, numpy, obsidian, opera, oracle,
outlook,
pandas, perl, php, postgres, postgresql, product, pytorch, python, qa, rails, react, redis, ruby,
rust, safari, sales, salesforce, samsung, sap, scala, scrum, slack, sony, spotify, sqlite,
support, svelte,
swift, teams, tensorflow, terraform, tesla, tiktok, trello, twitter, typescript, uber, ubuntu,
vim, vivaldi,
vscode, vs code, vue, wayland, whatsapp, windows, word, wordpress, youtube, zig, zoom, zsh,
generation, mars, venus, hell, heaven, space, monday, tuesday, wednesday, thursday, friday,
saturday,
sunday, january, february, march, april, may,
june, july, august, september, october, november, december, spring, summer, autumn, winter, earth,
team, department, plan, phase, step, level, version, chapter, god, allah, tokopedia, gojek,
grab, shopee,
bukalapak, traveloka, pertamina, telkom
""")

PARTS_OF_COMPANIES: Final = words("""
team tim support department divisi inc ltd llc corp gmbh pt cv company group bank university
office agency hr desk committee club church helpdesk customer
""")

# "I live in hope", "i live in an apartment".
NOT_WHERE_ONE_LIVES: Final = words("""
agony anguish apartments chaos college comfort constant constantly darkness denial despair dorms
dread exile fantasy fear flats freedom grief harmony heaven hell here hiding hope horror housing
isolation limbo luxury misery mortal pain paradise peace perpetual poverty pure shame silence sin
slums solitude squalor student suburbia suspense terror there torment total town tents hotels
houses reality moderation vans trailers wonder style rural public shared temporary rented
university halls perfect abroad nature oblivion secret secrecy
""")
NOT_WHERE_ONE_LIVES_INDONESIAN: Final = words("""
kecil besar terpencil rumah kos kosan kost kontrakan apartemen sini sana situ mana desa kota
kampung luar asrama hotel
lantai bawah atas dalam dekat perumahan tempat hati dunia bumi hutan gunung pantai pinggir sebelah
depan belakang samping pondok pesantren villa mess rusun ruko lingkungan negara pulau daerah
wilayah sebuah suatu negeri kompleks komplek gang jalan jl jalanan kamar unit blok
""")
