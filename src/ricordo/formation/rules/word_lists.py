"""Closed lists of words by which the rules tell a lasting fact from an everyday remark."""

from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def phrases(text: str) -> frozenset[str]:
    """The phrases of a text, between commas."""
    return frozenset(" ".join(phrase.split()) for phrase in text.split(","))


# All in small letters. A list need not be complete: what it does not know is not learned.

# The last word of "I'm a software engineer".
OCCUPATIONS: Final = words("""
academic accountant actor actress actuary administrator analyst anaesthetist anesthesiologist
anthropologist archaeologist architect archivist artist assistant astronomer athlete attorney
auditor author baker banker barber barista bartender beautician biochemist biologist blacksmith
blogger bookkeeper botanist broker builder butcher cardiologist caregiver carer carpenter cashier
chauffeur chef chemist chiropractor choreographer cinematographer cleaner clerk coach columnist
composer conductor consultant contractor controller cook coordinator copywriter counsellor
counselor courier curator dancer dentist dermatologist designer developer dietician dietitian
diplomat director dj doctor driver ecologist economist editor educator electrician engineer
entrepreneur estimator executive farmer filmmaker firefighter fisherman florist freelancer gardener
geographer geologist geophysicist goldsmith gynecologist hairdresser hairstylist historian
homemaker housekeeper housewife hydrologist illustrator immunologist influencer inspector
instructor interpreter intern janitor jeweller jeweler journalist judge lab laborer labourer
landlord lawyer lecturer librarian lifeguard linguist logistician machinist magician manager
marketer mason mathematician mechanic merchant microbiologist midwife miner minister model
musician nanny neurologist neuroscientist notary novelist nurse nutritionist officer
oncologist operator optician optometrist orthodontist painter paralegal paramedic pastor
pathologist pediatrician paediatrician pharmacist photographer physician physicist physiotherapist
pianist pilot planner playwright plumber poet policeman policewoman politician postdoc postman
priest principal producer professor programmer psychiatrist psychologist psychotherapist publicist
radiographer radiologist realtor receptionist recruiter reporter researcher retailer sailor
salesman salesperson saleswoman scientist screenwriter sculptor seamstress secretary seller
shopkeeper singer socialworker sociologist soldier solicitor sommelier songwriter statistician
stockbroker strategist streamer student stylist superintendent supervisor surgeon surveyor tailor
teacher technician technologist teller tester therapist trader trainer translator tutor
underwriter undergraduate undergrad upholsterer urologist vet veterinarian videographer violinist
waiter waitress warehouseman watchmaker webmaster welder worker writer youtuber zoologist
""")

# "Saya guru": first word of the trade, so that "guru SD di Bekasi" counts too.
INDONESIAN_OCCUPATIONS: Final = words("""
admin akuntan aktor aktris analis animator apoteker arsitek artis asisten atlet auditor barista
bidan buruh chef dekan desainer direktur dokter dosen editor ekonom fotografer freelancer guru
hakim ilustrator insinyur jaksa jurnalis karyawan karyawati kasir kepala konsultan koki kontraktor
kurir mahasiswa mahasiswi manajer manager mekanik montir musisi nelayan notaris novelis
ojol pedagang pegawai pelajar pelatih pelaut pelayan pelukis pemadam pemandu pembalap
pembantu penari peneliti penerjemah pengacara pengajar pengusaha penjahit penulis penyanyi
penyiar perawat peternak petani pilot pns polisi pramugari pramugara programmer programer
psikiater psikolog pustakawan resepsionis sales satpam sekretaris seniman siswa siswi sopir
sutradara supir teknisi tentara terapis tukang wartawan wiraswasta wirausaha wirausahawan
barber florist developer engineer marketing
""")

FIELDS_OF_WORK: Final = phrases("""
accounting, advertising, aerospace, agriculture, aviation, banking, biotech, construction,
consulting, customer service, customer support, cybersecurity, data science, design, education,
engineering, fashion, film, finance, fintech, healthcare, health care, hospitality, hr,
human resources, insurance, it, journalism, law, logistics, manufacturing, marketing, media,
medicine, mining, music, pharma, pr, public health, public relations, publishing, real estate,
research, retail, sales, security, software, software development, tech, telecoms, the army,
the film industry, the music industry, the navy, the public sector, tourism, transport
""")

LANGUAGES: Final = words("""
afrikaans albanian amharic arabic armenian azerbaijani balinese basque batak belarusian bengali
bosnian bulgarian burmese cantonese catalan cebuano chinese croatian czech danish dutch english
estonian farsi filipino finnish flemish french galician georgian german greek gujarati hausa
hebrew hindi hungarian icelandic igbo indonesian irish italian japanese javanese kannada kazakh
khmer korean kurdish lao latin latvian lithuanian malay malayalam maltese mandarin marathi
mongolian nepali norwegian pashto persian polish portuguese punjabi quechua romanian russian
serbian sinhala slovak slovenian somali spanish sundanese swahili swedish tagalog tamil telugu
thai tibetan turkish ukrainian urdu uzbek vietnamese welsh xhosa yoruba zulu
""")

INDONESIAN_LANGUAGES: Final = words("""
arab bali banjar batak belanda betawi bugis cina hindi indonesia inggris italia jawa jepang jerman
korea latin madura mandarin melayu minang perancis persia portugis prancis rusia spanyol sunda
tagalog thai tionghoa turki vietnam
""")

# "I'm Italian" is not a name.
DEMONYMS: Final = LANGUAGES | words("""
african american argentinian asian australian austrian bangladeshi belgian bolivian brazilian
british cambodian canadian chilean christian colombian cuban dominican ecuadorian egyptian
ethiopian european ghanaian hindu indian iranian iraqi israeli ivorian jamaican jewish jordanian
kenyan lebanese libyan malaysian mexican moroccan muslim nigerian pakistani palestinian peruvian
buddhist catholic protestant sikh atheist agnostic vegan vegetarian scottish senegalese
singaporean swiss syrian taiwanese tunisian ugandan uruguayan venezuelan zimbabwean
""")

RELATIONS: Final = words("""
wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee spouse mother father mom
mum mam dad mommy daddy sister brother daughter son baby grandmother grandfather grandma grandpa
aunt uncle cousin niece nephew mother-in-law father-in-law sister-in-law brother-in-law
stepmother stepfather stepson stepdaughter twin grandson granddaughter
""")

INDONESIAN_RELATIONS: Final = words("""
istri suami pacar tunangan ibu mama bunda ayah papa bapak kakak adik adek abang anak putra putri
nenek kakek tante om paman bibi sepupu keponakan mertua cucu menantu
""")

PETS: Final = words("""
dog cat puppy kitten rabbit hamster parrot horse pony goldfish tortoise turtle snake lizard budgie
canary ferret gecko bunny labrador poodle beagle dachshund corgi hen chicken duck goose goat
greyhound whippet spaniel terrier collie husky pug chihuahua bulldog retriever schnauzer parakeet
cockatiel chinchilla donkey tarantula axolotl
""")
INDONESIAN_PETS: Final = words("""
anjing kucing kelinci hamster burung ikan kura-kura kuda iguana ayam bebek kambing sapi merpati
""")
INDONESIAN_BELONGINGS: Final = words("""
warung toko kafe kebun sawah ladang usaha bengkel mobil motor sepeda rumah kos-kosan kontrakan
laundry salon ruko gitar piano akuarium kolam tambak peternakan apotek klinik restoran butik perahu
kapal kamera drone kios apartemen vila villa
""")
INDONESIAN_MAKES: Final = words("""
thinkpad macbook asus acer lenovo samsung xiaomi oppo vivo honda yamaha suzuki toyota daihatsu vario
nmax pcx aerox mio supra revo scoopy vespa avanza xenia brio jazz innova agya ayla iphone ipad redmi
poco infinix realme canon nikon fujifilm sony epson dell msi axioo polytron polygon advan
""")

CHILDREN: Final = words("kid kids child children son sons daughter daughters grandchildren")
SIBLINGS: Final = words("brother brothers sister sisters sibling siblings")

NUMBER_WORDS: Final = words("a an one two three four five six seven eight nine ten")
INDONESIAN_NUMBER_WORDS: Final = words(
    "satu dua tiga empat lima enam tujuh delapan sembilan sepuluh seorang seekor"
)

CONDITIONS: Final = phrases("""
adhd, add, anxiety, arthritis, asma, asthma, autism, bipolar disorder, celiac disease,
coeliac disease, crohn's disease, depression, diabetes, type 1 diabetes, type 2 diabetes,
diabetes tipe 1, diabetes tipe 2, dyslexia, endometriosis, epilepsy, epilepsi, fibromyalgia, gerd,
high blood pressure, hypertension, hipertensi, hypothyroidism, ibs, lupus, maag, migraines, migrain,
multiple sclerosis, pcos, psoriasis, scoliosis, tinnitus, vertigo, darah tinggi, kolesterol tinggi
""")

DIETS: Final = words(
    "vegetarian vegan pescatarian pescetarian flexitarian celiac coeliac teetotal vegetarians keto"
)
FOODS_NOT_EATEN: Final = words("""
meat pork beef fish seafood shellfish dairy gluten eggs sugar nuts peanuts wheat alcohol coffee
caffeine milk lactose red chicken lamb soy spicy bread carbs onions garlic mushrooms
daging babi sapi ayam ikan udang seafood susu telur kopi alkohol gula pedas kacang nasi roti
gorengan
""")

# What gives people a rash in earnest, beside what they do not eat.
ALLERGENS: Final = (FOODS_NOT_EATEN - words("red spicy pedas")) | words("""
penicillin amoxicillin antibiotics aspirin ibuprofen codeine sulfa latex nickel pollen ragweed
dust mould mold wool lanolin kiwi strawberries tomatoes mango pineapple sesame mustard celery
cashews walnuts almonds hazelnuts prawns shrimp crab lobster mussels cats dogs
""")

# Things that one has for years.
BELONGINGS: Final = phrases("""
accordion, acoustic guitar, allotment, aquarium, banjo, barbecue, bicycle, bike, boat, bread maker,
cabin, camera, campervan, caravan, car, cargo bike, cello, drone, drum kit, e-bike, ebike,
electric car, electric guitar, espresso machine, fish tank, flute, garden, greenhouse,
guitar, harmonica, harp, hot tub, kayak, kiln, loom, motorbike, motorcycle, motorhome, paddleboard,
piano, pizza oven, record player, rice cooker, road bike, rowing machine, sailboat, saxophone,
scooter, sewing machine, snowboard, sourdough starter, stand mixer, surfboard, synth, synthesizer,
telescope, tractor, treadmill, trumpet, turntable, typewriter, ukulele, van, vegetable garden,
violin, wheelchair, wood stove, 3d printer, air fryer, smoker, grill
""")

RELIGIONS: Final = words("muslim christian catholic buddhist hindu jewish sikh atheist agnostic")

SPORTS_AND_INSTRUMENTS: Final = words("""
badminton baseball basketball cello chess clarinet cricket drums flute football futsal gitar golf
guitar handball harmonica hockey padel piano rugby saxophone soccer squash tennis trumpet ukulele
viola violin volleyball bass fencing archery accordion banjo harp oboe bassoon trombone tuba
recorder
""")

BUSINESSES: Final = words("""
agency bakery bar blog bookshop bookstore boutique brewery business café cafe clinic company
stall truck stand workshop nursery guesthouse b&b channel nonprofit charity vineyard dairy garage
laundrette market orchard ranch kennel winery distillery florist's hairdresser's
consultancy farm gym hotel kiosk newsletter pharmacy podcast practice pub restaurant salon school
shop startup store studio
""")


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
