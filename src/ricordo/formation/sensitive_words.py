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


# Patterns (verbose ones: white space is layout), because no space parts the words.

JAPANESE: Final = {
    "preferred_name": """
    (?<!の)名前は | (?:私|僕|俺|ユーザー)の名前 | と呼んで | と呼ばれ | と申します | 本名
    | あだ名 | ニックネーム | 苗字 | 名字 | 氏名
    """,
    "pronouns": """
    代名詞
    """,
    "city": """
    在住 | に住(?:ん|み|む|ま) | 引っ越 | (?<!大学)出身 | 住まい | 地元 | 実家 | 故郷 | に暮ら
    | で暮ら | 自宅 | 住所
    """,
    "language": """
    母語 | 母国語 | 語(?:が|を|も)?(?:話|しゃべ|喋) | 語(?:が|も)できる | バイリンガル
    | 語で(?:答|返)
    """,
    "health": """
    病気 | 持病 | 通院 | 入院 | 退院 | アレルギー | 糖尿病 | 癌 | (?:乳|胃|肺|大腸|皮膚)がん
    | がん(?:と診断|患者|治療) | うつ病 | 鬱 | 妊娠 | 流産 | 中絶 | 不妊 | 喘息 | ぜんそく
    | (?<!システム)(?<!ネットワーク)(?<!通信)障害(?!対応|報告) | 薬を飲 | 服用 | 服薬 | 処方
    | 治療 | 手術 | 不眠 | 高血圧 | 頭痛 | 腰痛 | 依存症 | 不耐症 | 車椅子 | 失明 | 難聴
    | 症候群 | 花粉症 | てんかん | 認知症 | 精神科 | 心療内科 | カウンセリング | 腫瘍 | 風邪
    | インフルエンザ | コロナに | 感染症 | 怪我 | けがを | 骨折 | 自閉症 | 更年期 | 生理痛
    | 白血病 | 脳卒中 | 心臓病 | 肝炎 | 結核 | 貧血 | 腎臓 | 血圧 | 喫煙 | 禁煙
    | メンタルヘルス
    """,
    "faith": """
    キリスト教 | クリスチャン | イスラム | ムスリム | 仏教 | 神道 | カトリック | プロテスタント
    | 宗教 | 信仰 | 信者 | 信徒 | 教会 | モスク | 礼拝 | お祈り | 祈っ | 祈り | ラマダン
    | ハラー?ル | ヒンドゥー | ユダヤ | 無神論 | 洗礼 | 創価 | 聖書
    """,
    "sexuality": """
    (?<![ァ-ー])ゲイ(?![ァ-ー]) | レズビアン | バイセクシュアル | バイセクシャル | 同性愛
    | 異性愛 | 同性婚 | トランスジェンダー | 性的指向 | 性自認 | 性同一性 | ノンバイナリー
    | クィア | 両性愛
    """,
    "politics": """
    政党 | 自民党 | 民主党 | 共産党 | 公明党 | 維新の会 | 国民民主 | 投票 | 選挙 | 支持政党
    | 政治 | 左翼 | 右翼 | 労働組合 | 組合員 | デモに
    """,
    "money": """
    給料 | 給与 | 年収 | 月収 | 収入 | 手取り | 借金 | 負債 | 貯金 | 貯蓄 | 破産 | 残高
    | 生活保護 | (?<![ァ-ー])ローン | 年金 | 資産
    """,
    "identifiers": """
    マイナンバー | パスポート | 免許証 | 電話番号 | 携帯番号 | 住所 | メールアドレス | 口座番号
    | カード番号 | 暗証番号 | パスワード | 郵便番号 | 保険証 | ナンバープレート
    """,
}


# English and Indonesian thoroughly, German and Japanese well enough. One word or phrase per
# comma, ``*`` is any ending; case and diacritics do not matter. ``harmless_words`` takes back
# what the same words mean elsewhere. A word that is left out is stored without asking, one too
# many only asks once too often: when in doubt, it is here.

_HEALTH_ENGLISH = """
ill, illness*, sick, sickness, unwell, disease*, disorder*, syndrome*, symptom*, diagnosis,
diagnoses, diagnosed with, diagnosed as, was diagnosed, been diagnosed, got diagnosed, undiagnosed,
misdiagnos*, prognosis, health condition*, health problem*, health issue*, health history, health
concern*, health scare, health record*, medical condition*, medical history, medical issue*, medical
problem*, medical reason*, medical treatment*, medical procedure*, medical leave, medical record*,
medical bill*, medical appointment*, medical test*, mental health, mental illness*, mental
breakdown, nervous breakdown, depress*, anxiety, anxious, panic attack*, panic disorder, bipolar,
schizo*, psychosis, psychotic, psychiatr*, ptsd, traumati*, ocd, adhd, autis*, asperger*,
neurodiver*, dyslexi*, dyspraxi*, dyscalculi*, tourette*, insomnia*, burnout, burned out, burnt out,
suicid*, self harm*, anorexi*, bulimi*, eating disorder*, phobia*, therapy, psychotherap*,
counselling, counseling, therapist, in rehab, rehab, detox, sober, sobriety, alcoholi*, addict*,
drug use, drug abuse, drug problem, uses drugs, takes drugs, cocaine, heroin, meth, opioid*, smoker,
smokes, smoking, vapes, gambling problem, cancer*, tumor*, tumour*, leukemia, leukaemia, lymphoma,
melanoma, chemo*, radiotherapy, remission, stroke, heart attack*, heart disease, heart failure,
heart condition, heart surgery, heart problem*, pacemaker, arrhythmi*, diabet*, insulin, prediabet*,
asthma*, inhaler, allerg*, anaphyla*, epipen, hay fever, lactose intoleran*, gluten intoleran*, food
intoleran*, histamine intoleran*, fructose intoleran*, intolerant to, intolerance to, gluten
sensitiv*, celiac, coeliac, epilep*, seizure*, pregnan*, miscarriage*, miscarried, abortion*, ivf,
infertil*, fertility treatment, postpartum, postnatal, menopaus*, menstrua*, period pain*,
contracepti*, birth control, the pill, endometriosis, pcos, disability, disabilities, user is
disabled, i am disabled, i m disabled, disabled person, disabled people, disabled since, is blind,
am blind, i m blind, went blind, legally blind, blind in one, partially sighted, visually impaired,
color blind*, colour blind*, colorblind*, deaf*, hearing loss, hearing aid*, hearing impair*, hard
of hearing, tinnitus, wheelchair*, amput*, paraly*, paraplegi*, quadriplegi*, prosthe*, surgery,
surgeries, operated on, hospitali*, in hospital, in the hospital, hospital stay, hospital
appointment, medication*, medicated, takes medicine*, take medicine*, taking medicine*, on meds, his
meds, her meds, their meds, my meds, prescri*, antidepress*, antibiotic*, painkiller*, ssri*,
sedative*, sleeping pill*, takes pills, ibuprofen, paracetamol, acetaminophen, aspirin, metformin,
sertraline, fluoxetine, prozac, xanax, ritalin, adderall, statin, statins, warfarin, steroids,
testosterone, dialysis, transplant*, chronic, chronically, in pain, back pain, knee pain, neck pain,
chest pain, joint pain, shoulder pain, stomach pain, bad back, bad knee*, headache*, migraine*,
injur*, fracture*, broken arm, broken leg, broken wrist, broken ankle, broken rib*, broken foot,
broken hand, broken bone*, broken nose, broken hip, broken finger, broken toe, broken collarbone,
broke his arm, broke her arm, broke their arm, broke my arm, broke an arm, broke his leg, broke her
leg, broke their leg, broke my leg, broke a leg, broke his wrist, broke her wrist, broke their
wrist, broke my wrist, broke her ankle, broke his ankle, broke my ankle, sprained, concuss*, blood
pressure, blood sugar, blood test*, blood type, blood group, hypertens*, cholesterol, anemi*,
anaemi*, arthrit*, osteopor*, thyroid*, hypothyroid*, hyperthyroid*, lupus, fibromyalgia, sclerosis,
parkinson*, alzheimer*, dementia, crohn*, colitis, ibs, irritable bowel, hepatitis, cirrhosis, hiv,
has aids, sti, stds, an std, herpes, chlamydia, covid*, long covid, tuberculosis, malaria, dengue,
pneumonia, bronchitis, eczema, psoriasis, rosacea, acne, apnea, apnoea, vertigo, obes*, overweight,
underweight, bmi, user weighs, i weigh, kidney stone*, kidney disease, kidney failure, liver
disease, gout, ulcer*, reflux, gerd, gastritis, hernia*, scoliosis, sciatica, slipped disc,
herniated, glaucoma, cataract*, flu, influenza, fever, has a cold, have a cold, caught a cold,
infection*, vaccinat*, vaccine*, dietary restriction*, terminally, palliative, anesthe*, anaesthe*,
cystic fibrosis, sickle cell, hemophil*, haemophil*, stutter*, stammer*, weight loss, lose weight,
lost weight, losing weight, gambling addiction
"""

_HEALTH_INDONESIAN = """
sakit, kesakitan, penyakit*, mengidap, menderita, penderita, diabetes, kencing manis, gula darah,
darah tinggi, darah rendah, tekanan darah, hipertensi, hipotensi, asma, sesak napas, maag, asam
lambung, lambung, kanker, tumor, kemoterapi, kemo, stroke, serangan jantung, gagal ginjal, batu
ginjal, cuci darah, alergi*, intoleransi, tidak tahan laktosa, hamil, kehamilan, keguguran, aborsi,
program hamil, bayi tabung, mandul, menstruasi, haid, menopause, depresi, kecemasan, gangguan jiwa,
gangguan mental, gangguan makan, gangguan tidur, gangguan kecemasan, masuk rumah sakit, kesehatan
mental, kesehatan jiwa, masalah kesehatan, kondisi kesehatan, riwayat kesehatan, skizofrenia, bunuh
diri, trauma, autis*, disleksia, ke psikolog, ke psikiater, psikiaternya, psikolognya, konsultasi
psikolog, konsultasi psikiater, terapi, obat, obatnya, berobat, pengobatan, minum obat, resep
dokter, antibiotik, dioperasi, operasi jantung, operasi caesar, operasi sesar, operasi usus, operasi
mata, operasi lutut, pascaoperasi, dirawat, rawat inap, rawat jalan, opname, didiagnosis,
didiagnosa, diagnosis, diagnosa, cacat, difabel, disabilitas, tunanetra, tunarungu, tunadaksa, tuli,
buta, buta warna, kursi roda, lumpuh, cedera, patah tulang, patah kaki, patah tangan, kecanduan,
pecandu, alkoholik, narkoba, perokok, merokok, vaksin*, hiv, tbc, demam*, tipes, tifus, malaria,
flu, batuk, pilek, infeksi, vertigo, migrain, insomnia, susah tidur, obesitas, berat badan,
kegemukan, anemia, epilepsi, ayan, kolesterol, rematik, asam urat, eksim, wasir, ambeien, sembelit,
usus buntu, golongan darah, kelainan, sindrom*, kambuh, sembuh
"""

_HEALTH_GERMAN = """
krank*, erkrank*, allergi*, unvertraglich*, laktoseintoleran*, glutenintoleran*, zoliakie,
schwanger*, fehlgeburt*, abtreibung, angststorung*, panikattacke*, depressi*, krebs, krebsdiagnose,
brustkrebs, behindert*, behinderung*, schwerbehindert*, rollstuhl*, ist blind, erblindet, gehorlos*,
schwerhorig*, medikament*, tabletten, therapie, psychisch*, diagnostiziert, diagnose, bluthochdruck,
herzinfarkt, schlaganfall, migrane, kopfschmerz*, ruckenschmerz*, schmerzen, suchtig,
alkoholsuchtig, alkoholiker*, drogensuchtig, drogensucht, raucher, raucherin, raucht, operiert,
verletz*, rheuma, neurodermitis, heuschnupfen, schlafstorung*, zuckerkrank*, impfung*, geimpft,
bandscheibenvorfall, wechseljahre, magersucht, erkaltet, grippe, pflegegrad, multiple sklerose
"""

_FAITH = """
muslim*, moslem*, islam*, christian, christians, christianity, catholic*, protestant*, orthodox
christian*, orthodox church, orthodox jew*, greek orthodox, russian orthodox, baptist*, methodist*,
lutheran*, anglican*, evangelical*, pentecostal*, presbyterian*, adventist*, mormon*, jehovah*,
quaker*, hindu*, buddhis*, sikh*, jain, jainism, taois*, shinto*, jew, jews, jewish, judaism,
bahai*, rastafari*, pagan*, wicca*, scientolog*, atheis*, agnostic*, religio*, faith, spiritual*,
church, churches, churchgo*, mosque*, synagogue*, goes to temple, temple every, pray, prays, prayed,
praying, prayer*, worship*, ramadan, ramadhan, fasts, fasting, observes lent, gave up for lent, eid,
hajj, umrah, shabbat, sabbath, passover, yom kippur, kosher, halal, baptis*, baptiz*, christening,
bar mitzvah, bat mitzvah, bible, quran, koran, torah, gospel, believes in god, believe in god,
belief in god, no belief in, god fearing, born again, converted to islam, converted to christianity,
converted to judaism, converted to catholicism, converted to buddhism, hijab, kippah, priest*,
pastor, imam, rabbi, monk, is a nun, clergy, deacon, parish, attends mass, sunday mass, sunday
school, seminary, theolog*, kristen, kristiani, katolik, protestan, buddha, konghucu, kejawen,
agama*, beragama, seagama, keagamaan, keyakinan, shalat, sholat, solat, salat jumat, salat subuh,
salat lima, salat malam, rajin salat, selalu salat, melaksanakan salat, menjalankan salat, waktu
salat, salat tepat, tahajud, jumatan, puasa, berpuasa, mengaji, ngaji, mengajinya, masjid, musala,
mushola, gereja, ke pura, wihara, vihara, kelenteng, berdoa, doa, doanya, haji, umroh, naik haji,
jilbab, berhijab, mualaf, ateis, beriman, iman, imannya, ustadz, ustad, kyai, pendeta, pesantren,
zakat, sedekah, pengajian, sembahyang, ibadah, beribadah, taat beragama, merayakan natal, merayakan
lebaran, idul fitri, idul adha, nyepi, waisak, alquran, alkitab, injil, tuhan, rohani, baptisan,
goes to mass, go to mass, going to mass, went to mass, to mass every, to mass on, mass every, at
mass on, holy mass, midnight mass, after mass, before mass, altar server*, altar boy*, altar girl*,
diwali, deepavali, for lent, during lent, communion, to confession, rosary, novena, catechis*,
hanukkah, chanukah, purim, sukkot, ashura, iftar, suhoor, sahur, tarawih, taraweh, vesak, puja,
gurdwara*, mandir, misa, a la messe, ministrant*, messdiener*, in die messe, heilige
messe, sonntagsmesse, evangelisch, katholisch, katholik*, protestantisch, jude, juden, judin,
judisch, christ, christin,
christlich, konfession*, glaubig*, glaubt an gott, gottesdienst*, kirche*, moschee*, synagoge*,
betet, beten, gebet*, getauft, taufe, fastet, hinduist*, buddhist*, konfirmation, konfessionslos
"""

_SEXUALITY = """
gay, gays, lesbian*, bisexual*, bi curious, queer, asexual*, aromantic, pansexual*, demisexual*,
homosexual*, heterosexual*, transgender*, transsexual*, trans woman, trans man, trans person, trans
women, trans men, trans girl, trans boy, is trans, am trans, i m trans, nonbinary, non binary,
genderqueer, genderfluid, gender fluid, agender, cisgender, intersex, gender identity, gender
dysphoria, gender transition*, gender reassignment, lgbt*, sexual orientation, sexuality, sexual
preference*, sex life, same sex, came out as, coming out as, come out as, in the closet, closeted,
drag queen, polyamor*, is straight, am straight, straight man, straight woman, attracted to men,
attracted to women, likes men, likes women, libido, is a virgin, homoseksual*, heteroseksual*,
lesbi, lesbian, biseksual*, aseksual, panseksual, transpuan, transpria, waria, orientasi seksual,
seksualitas, sesama jenis, identitas gender, penyuka sesama, schwul*, lesbe, lesben, lesbisch*,
bisexuell*, homosexuell*, heterosexuell*, asexuell*, pansexuell*, nichtbinar*, transsexuell*,
transfrau, transmann, sexuelle orientierung, ist trans
"""

_POLITICS = """
politic*, democrat, democrats, democratic party, republican*, tory, tories, labour party, labor
party, labour voter, conservative party, conservative voter, is conservative, liberal party, is
liberal, liberal democrat*, lib dem*, green party, votes green, socialist*, socialism, communist*,
communism, marxist*, anarchist*, libertarian*, fascis*, nationalist*, populist, left wing*, right
wing*, far left, far right, leftist*, centrist*, progressive voter, maga, vote, votes, voted, voter,
voting, ballot*, election*, campaigned for, campaigns for, canvass*, party member, party membership,
member of parliament, ran for office, runs for office, activist*, activism, protest march,
protester*, protestor*, attended a protest, demonstrations, trade union*, labor union*, labour
union*, union member*, union rep*, union steward, in a union, in the union, joined a union, joined
the union, unionis*, unioniz*, shop steward, pro life, pro choice, anti abortion, pro palestin*, pro
israel*, pro russia*, pro ukrain*, brexit*, monarchist*, separatist*, supports labour, supports
labor, supports the conservatives, politik*, berpolitik, parpol, partai, pdip, pdi perjuangan,
golkar, gerindra, nasdem, pks, pkb, pemilu, pilpres, pilkada, pileg, caleg, golput, nyoblos,
mencoblos, coblos, memilih presiden, memilih capres, pendukung capres, kampanye, simpatisan, serikat
buruh, serikat pekerja, aktivis, unjuk rasa, demonstrasi, oposisi, spd, cdu, csu, afd, fdp, die
linke, linkspartei, grunenwahler, wahlt die, wahlt grun, partei, parteimitglied*, gewerkschaft*,
politisch*, bundestagswahl, wahlen, linksradikal, rechtsradikal
"""

_MONEY = """
salary, salaries, salaried, wage, wages, paycheck*, payslip*, payday, income, earns, earning,
earnings, debt, debts, indebted, in the red, owes money, owe money, loan, loans, mortgage*, savings,
saved up, net worth, bankrupt*, insolven*, foreclos*, repossess*, credit score, credit rating,
credit limit, credit history, card debt, account balance, bank balance, bank account*, overdraft,
overdrawn, pension, retirement fund, retirement account, 401k, tax return*, tax debt, unemployment
benefit*, on welfare, food stamps, universal credit, child support, alimony, investment portfolio,
stock portfolio, an inheritance, inherited money, six figures, gambling, got a raise, pay rise, pay
the bills, minimum wage, low income, is broke, am broke, i m broke, paid per hour, hourly rate,
annual bonus, stock options, payday loan*, financial problem*, financial trouble*, financial
difficult*, financial situation, financially, makes ends meet, paycheck to paycheck, gaji*, bergaji,
digaji, penggajian, penghasilan*, berpenghasilan, pendapatan*, upah, utang*, hutang*, berutang,
berhutang, tabungan*, menabung, nabung, pinjaman, pinjol, cicilan*, mencicil, kpr, kredit macet,
bangkrut, pailit, saldo, rekening bank, pensiunan, uang pensiun, warisan, bantuan sosial, bansos,
paylater, masalah keuangan, kondisi keuangan, kesulitan keuangan, keuangan pribadi, masalah
finansial, kesulitan finansial, kondisi finansial, tagihan kartu kredit, bokek, gehalt*, lohn,
lohne, einkommen*, schulden, verschuldet, kredit, darlehen, hypothek*, ersparnis*, rente, pleite,
insolvent, privatinsolvenz, kontostand, vermogen, netto im monat, brutto, burgergeld,
arbeitslosengeld, erbschaft
"""

_IDENTIFIERS = """
passport*, paspor, reisepass*, personalausweis*, ausweisnummer, id number, id card, identity card,
identity number, national id, nik, nomor ktp, ktp, kartu keluarga, sim card number, ssn, social
security number, social security, national insurance number, tax number, tax id, tax identification,
npwp, steuernummer, steuer id, sozialversicherungsnummer, insurance number, medicare number, patient
number, driver s licence, driver s license, drivers license, driver licence, driving licence,
driving license, licence number, license number, nomor sim, fuhrerscheinnummer, licence plate,
license plate, number plate, plate number, plat nomor, nomor polisi, kennzeichen, nummernschild, vin
number, email address*, e mail address*, alamat email, emailnya, emailku, e mail adresse, phone
number, mobile number, cell number, telephone number, whatsapp number, nomor telepon, nomor hp,
nomor wa, nomor whatsapp, nomor ponsel, nomornya, telefonnummer, handynummer, iban, account number,
routing number, sort code, nomor rekening, kontonummer, card number, credit card number, nomor
kartu, kreditkartennummer, cvv, pin code, password*, passphrase, kata sandi, passwort, api key, home
address, street address, postal address, mailing address, my address, user s address, users address,
lives at, zip code, postcode, postal code, kode pos, postleitzahl, alamat rumah, alamatnya, alamat
saya, alamatku, alamat pengguna, anschrift, meine adresse, wohnadresse, ip address, alamat ip, mac
address, student number, employee number, employee id, nomor induk
"""

_PRONOUNS = """
pronoun, pronouns, preferred pronoun*, kata ganti, pronomen, she her, he him, they them, she they,
he they, ze zir, xe xem
"""

_NAME = """
preferred name, nickname*, full name, legal name, first name, last name, surname, maiden name,
family name, deadname, nama panggilan, nama lengkap, nama asli, julukan, spitzname, rufname,
vorname, nachname, prefers to be called, likes to be called, wants to be called, to be addressed as
"""

_CITY = """
hometown, home town, home city, home address, kampung halaman, kota asal, alamat rumah, kota tempat
tinggal, tempat tinggal, heimatstadt, heimatort, wohnort, wohnhaft, wohnadresse, lives at, grew up
in, raised in, lahir dan besar, resident of, commutes from, berdomisili, domisili, aufgewachsen in
"""

_LANGUAGE = """
native language, native speaker*, native tongue, mother tongue, first language, second language,
preferred language, language preference, bilingual, trilingual, multilingual, polyglot, bahasa ibu,
bahasa sehari, bahasa daerah, berbahasa, penutur asli, muttersprach*, zweisprachig
"""

WORDS: Final = {
    "preferred_name": _NAME,
    "pronouns": _PRONOUNS,
    "city": _CITY,
    "language": _LANGUAGE,
    "health": f"{_HEALTH_ENGLISH},{_HEALTH_INDONESIAN},{_HEALTH_GERMAN}",
    "faith": _FAITH,
    "sexuality": _SEXUALITY,
    "politics": _POLITICS,
    "money": _MONEY,
    "identifiers": _IDENTIFIERS,
}
"""What makes a statement touch a field."""
