"""Draw the pictures of docs/images that explain how things flow; with --check, only compare.

They are drawn for a width that a phone still shows legibly, so most of them run downwards.
"""

import itertools
import sys
from pathlib import Path
from typing import Final

from picture_parts import Arrow, Box, Group, Picture, down, left, right

FOLDER: Final = Path(__file__).parents[1] / "docs" / "images"
WIDTH: Final = 480


def main() -> int:
    """Write or compare every picture; the exit code."""
    stale = [one for one in PICTURES if _stored(one) != one.svg()]
    if "--check" in sys.argv[1:]:
        for one in stale:
            print(f"docs/images/{one.name}.svg is out of date: python scripts/pictures.py")
        return 1 if stale else 0
    for one in stale:
        (FOLDER / f"{one.name}.svg").write_text(one.svg(), encoding="utf-8")
        print(f"wrote docs/images/{one.name}.svg")
    return 0


def _stored(picture: Picture) -> str:
    path = FOLDER / f"{picture.name}.svg"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def column(*steps: tuple[str, tuple[str, ...], str], top: int = 20, gap: int = 24) -> list[Box]:
    """Boxes one below the other, as high as their lines need."""
    boxes = []
    for head, lines, kind in steps:
        height = 30 + 17 * len(lines)
        boxes.append(Box(50, top, WIDTH - 100, height, head, lines, kind))
        top += height + gap
    return boxes


def chain(boxes: list[Box]) -> list[Arrow]:
    """An arrow from each box to the next."""
    return [down(above, below) for above, below in itertools.pairwise(boxes)]


def overview() -> Picture:
    """Who uses it, through what, and where things are kept."""
    users = [
        Box(20, 20, 140, 47, "Your program", ("Python",)),
        Box(170, 20, 140, 47, "Agents", ("tools, MCP clients",)),
        Box(320, 20, 140, 47, "Chat clients", ("OpenAI, Anthropic",)),
    ]
    faces = Box(20, 107, 440, 47, "One library", ("also as a command, over HTTP and over MCP",))
    said = Box(20, 204, 140, 64, "Remember", ("what was said, and", "what it told"))
    found = Box(170, 204, 140, 64, "Recall", ("by meaning and", "words, with reasons"))
    prompt = Box(320, 204, 140, 64, "Prompt", ("what matters now,", "within a budget"))
    store = Box(20, 318, 300, 64, "One database", ("SQLite file, or PostgreSQL",), "store")
    jobs = Box(345, 318, 115, 64, "Background", ("forming,", "upkeep"), "choice")
    arrows = [down(one, Box(one.x, 107, one.width, 47, "")) for one in users]
    arrows += [down(Box(one.x, 107, one.width, 47, ""), one) for one in (said, found, prompt)]
    return Picture(
        "overview",
        "ricordo at a glance",
        "Programs, agents and chat clients use one library, directly or as a command, over HTTP or"
        " MCP. It remembers, recalls and builds prompts over one database, SQLite or PostgreSQL."
        " Work in the background forms memories and keeps them clean.",
        WIDTH,
        402,
        [
            *users,
            faces,
            said,
            found,
            prompt,
            store,
            jobs,
            *arrows,
            *(down(one, Box(one.x, 318, one.width, 64, "")) for one in (said, found)),
            down(prompt, Box(270, 318, 40, 64, "")),
            left(jobs, store),
        ],
    )


def message_to_memory() -> Picture:
    """Formation."""
    steps = column(
        ("Something is said", ("recorded as it was, with speaker and time",), "store"),
        ("Wait", ("until the conversation is silent for 10 seconds",), "plain"),
        (
            "Clean",
            ("left: what the user said, and results of tools;", "never recalled text"),
            "plain",
        ),
        ("Read", ("by rules, or by a language model",), "plain"),
        ("Check", ("to be understood alone, of words that were said",), "plain"),
        ("Compare with what is known", ("new · known · more specific · contradiction",), "choice"),
        ("Does it need consent?", ("sensitive things do, unless asked for",), "choice"),
    )
    last = steps[-1].y + steps[-1].height
    proposal = Box(
        50, last + 44, 175, 64, "Proposal", ("approved, rejected, or", "lapsed after 7 days")
    )
    memory = Box(
        255, last + 44, 175, 64, "Memory", ("with its words, its turn", "and since when"), "end"
    )
    asked = Box(50, steps[-1].y, 175, steps[-1].height, "")
    free = Box(255, steps[-1].y, 175, steps[-1].height, "")
    return Picture(
        "message-to-memory",
        "How a message becomes a memory",
        "What is said is recorded. When the conversation is silent it is cleaned, read by rules or"
        " a model, checked, and compared with what is known. What needs consent becomes a proposal,"
        " the rest a memory. An approved proposal becomes a memory, too.",
        WIDTH,
        last + 128,
        [
            *steps,
            *chain(steps),
            proposal,
            memory,
            down(asked, proposal, "yes"),
            down(free, memory, "no"),
            right(proposal, memory),
        ],
    )


def question_to_results() -> Picture:
    """Search."""
    question = Box(140, 20, 200, 30, "Question")
    meaning = Box(
        20, 90, 210, 64, "Meaning", ("cosine of its vector with", "that of each text"), "plain"
    )
    words = Box(
        250, 90, 210, 64, "Words", ("BM25 of its terms: stems,", "identifiers, typos"), "plain"
    )
    allowed = Box(
        50, 194, 380, 47, "What this user may see, and the filter allows",
        ("the best 50 by each signal",), "choice",
    )  # fmt: skip
    rest = column(
        ("Fusion", ("0.7 of meaning + 0.3 of words, each from 0 to 1",), "plain"),
        (
            "Boosts, within a quarter of the score",
            ("recency, importance, confidence, date, relations",),
            "plain",
        ),
        ("Results", ("the order, and for each how sure it is",), "end"),
        ("Budget", ("for query and prompts: what fits into the tokens",), "end"),
        top=265,
    )
    return Picture(
        "question-to-results",
        "How a question becomes results",
        "A question is matched by meaning and by words at the same time. Of what the user may see"
        " and the filter allows, the best 50 of each are fused, 0.7 to 0.3, and boosted by a"
        " bounded amount. Results say how sure they are; queries and prompts cut them to a budget.",
        WIDTH,
        rest[-1].y + rest[-1].height + 20,
        [
            question, meaning, words, allowed, *rest,
            down(question, meaning), down(question, words),
            down(meaning, Box(meaning.x, 194, 210, 47, "")),
            down(words, Box(words.x, 194, 210, 47, "")),
            down(allowed, rest[0]),
            *chain(rest),
        ],
    )  # fmt: skip


def write() -> Picture:
    """One write."""
    before = column(
        ("Values are checked", ("a mistake ends here",), "plain"),
        ("The vector is made, neighbours are looked up", ("no transaction is open yet",), "plain"),
    )
    inside = column(
        ("Lock of the user", ("one user's writes go one after the other",), "store"),
        ("Theme, if it is new", (), "store"),
        ("Memory, and the old text it replaces", (), "store"),
        ("Terms, vector and relations", (), "store"),
        ("Job, if something is to happen later", (), "store"),
        ("History and revision", ("of the owner, and of each viewer",), "store"),
        top=before[-1].y + before[-1].height + 66,
        gap=16,
    )
    last = inside[-1].y + inside[-1].height
    answer = Box(50, last + 50, 380, 47, "The answer", ("what is acknowledged is stored",), "end")
    return Picture(
        "write",
        "A write is one transaction",
        "Values are checked and the vector is made before the transaction begins. The transaction"
        " locks the user and writes theme, memory, search index, job, history and revision"
        " together. Then comes the answer.",
        WIDTH,
        last + 117,
        [
            Group(24, inside[0].y - 32, 432, last - inside[0].y + 48, "One transaction"),
            *before, *inside, answer,
            *chain([*before, inside[0]]), *chain(inside), down(inside[-1], answer),
        ],
    )  # fmt: skip


def life() -> Picture:
    """The states of a memory."""
    active = Box(195, 80, 170, 47, "active", ("what is found and listed",), "end")
    archived = Box(20, 210, 150, 47, "archived", ("kept, out of the way",), "store")
    superseded = Box(390, 210, 150, 47, "superseded", ("history; found by as_of",), "store")
    deleted = Box(195, 350, 170, 47, "deleted", ("gone from every read",), "choice")
    gone = Box(195, 450, 170, 30, "gone")
    return Picture(
        "life-of-a-memory",
        "The life of a memory",
        "A memory is active when it is added. It can be archived and restored; superseded or"
        " merged, and brought back by undo; forgotten or expired, which deletes it, and restored"
        " from there. A purge removes a deleted memory for good.",
        560,
        500,
        [
            active, archived, superseded, deleted, gone,
            Arrow(((280, 30), (280, 77)), "add", (290, 56), "start"),
            Arrow(((215, 127), (90, 207)), "archive", (138, 163), "end"),
            Arrow(((130, 210), (250, 130)), "restore", (188, 192), "start"),
            Arrow(((345, 127), (470, 207)), "supersede, merge", (422, 163), "start"),
            Arrow(((430, 210), (310, 130)), "undo", (372, 192), "end"),
            Arrow(((268, 127), (268, 347)), "forget, expire", (262, 280), "end"),
            Arrow(((292, 347), (292, 130)), "restore", (299, 280), "start"),
            Arrow(((95, 257), (215, 347)), "forget, expire", (140, 318), "end"),
            Arrow(((465, 257), (345, 347)), "forget, expire", (420, 318), "start"),
            Arrow(((280, 397), (280, 447)), "purge, after 30 days", (290, 426), "start"),
        ],
    )  # fmt: skip


def jobs_and_upkeep() -> Picture:
    """Work in the background."""
    write_ = Box(20, 20, 205, 47, "A write", ("and what it causes",))
    plan = Box(255, 20, 205, 47, "Every hour", ("whose daily round is due?",))
    queue = Box(
        70, 110, 340, 47, "Jobs are rows of the database",
        ("written with what causes them",), "store",
    )  # fmt: skip
    fast = Box(
        20, 210, 205, 81, "Fast lane", ("expire and purge", "lapse proposals", "daily round")
    )
    slow = Box(
        255,
        210,
        205,
        81,
        "Slow lane",
        ("form, embed, summarise", "consolidate, insights", "relations"),
    )
    worker = Box(
        20, 341, 440, 64, "Threads, ricordo worker, or Celery",
        ("one holds the lease; if it falls silent for 60 seconds,", "another takes the job over"),
        "choice",
    )  # fmt: skip
    done = Box(
        20, 445, 440, 47, "Done, in a transaction of its own",
        ("a job that runs twice does no harm",), "end",
    )  # fmt: skip
    half = (Box(20, 110, 205, 47, ""), Box(255, 110, 205, 47, ""))
    return Picture(
        "jobs-and-upkeep",
        "Jobs and upkeep",
        "A write queues jobs as rows in the same transaction; every hour the daily rounds that are"
        " due are queued. Jobs wait in a fast and a slow lane. Threads, workers or Celery take them"
        " under a lease; a job may run twice without harm.",
        WIDTH,
        512,
        [
            write_, plan, queue, fast, slow, worker, done,
            down(write_, half[0]), down(plan, half[1]),
            down(half[0], fast), down(half[1], slow),
            down(fast, Box(20, 341, 205, 64, "")), down(slow, Box(255, 341, 205, 64, "")),
            down(worker, done),
        ],
    )  # fmt: skip


def who_sees_what() -> Picture:
    """Users, sharing, agents and keys."""
    ana = Box(20, 62, 205, 47, "Ana's memories", ("and conversations",), "store")
    ben = Box(255, 62, 190, 47, "Ben's memories", ("and conversations",), "store")
    shared = Box(20, 159, 205, 47, "one, linked to ben", ("without where it came from",), "choice")
    everyone = Box(255, 159, 190, 47, "global memories", ("while little is known",), "choice")
    as_ana = Box(20, 276, 205, 47, "For ana", ("all of ana's",), "end")
    as_ben = Box(255, 276, 205, 47, "For ben", ("ben's, the linked one, global",), "end")
    agent = Box(
        20,
        363,
        205,
        64,
        "Agent for ana",
        ("only its categories; the rest", "does not exist for it"),
    )
    service = Box(
        255, 363, 205, 64, "Key of a service", ("acts for the user that", "a request names")
    )
    return Picture(
        "who-sees-what",
        "Who may see what",
        "Each user reaches their own memories and conversations, what others have linked to them"
        " and, while little is known of them, the global memories. An agent reaches only its"
        " categories of one user. A service's key acts for the user that each request names.",
        WIDTH,
        447,
        [
            Group(8, 20, 464, 200, "One store; on PostgreSQL, row-level security under all of it"),
            ana, ben, shared, everyone, as_ana, as_ben, agent, service,
            down(ana, shared, "a part of them"),
            Arrow(((225, 182), (240, 182), (240, 246), (330, 246), (330, 273))),
            down(shared, as_ana),
            Arrow(((380, 206), (380, 273))),
            Arrow(((445, 85), (458, 85), (458, 240), (430, 240), (430, 273))),
            Arrow(((122.5, 363), (122.5, 326))), Arrow(((357.5, 363), (357.5, 326))),
        ],
    )  # fmt: skip


def what_reaches_the_prompt() -> Picture:
    """The parts of a prompt."""
    message = Box(140, 20, 200, 30, "Message")
    first = column(
        ("Budget", ("less the message, the tools and the reply",), "choice"),
        ("SOUL · RULES · USER", ("prompt files, as they are now; date and time",), "plain"),
        ("Guide to the tools", ("mode tools: themes, not what they say",), "plain"),
        top=74,
        gap=18,
    )
    data = column(
        ("What changed", ("since this conversation last looked, told once",), "store"),
        ("Summary, memories, quotes", ("modes summary and recall: what is sure enough",), "store"),
        ("What came before, in short", ("the bridge",), "store"),
        top=first[-1].y + 47 + 52,
        gap=18,
    )
    frame = Group(24, data[0].y - 28, 432, 217, "Marked as data")
    last = column(
        ("Latest turns", ("as many as are left to pay for",), "plain"),
        ("The model", ("gets it all, never more than the budget",), "end"),
        top=frame.y + frame.height + 24,
    )
    return Picture(
        "what-reaches-the-prompt",
        "What reaches the prompt",
        "For a message, the budget is what is left after message, tools and reply. The prompt"
        " files, date and guide come first; then, between markers as data, what changed, the"
        " summary, memories and quotes, and the bridge; then the latest turns.",
        WIDTH,
        last[-1].y + 67,
        [frame, message, *first, *data, *last, *chain([message, *first, *data, *last])],
    )


def deployment() -> Picture:
    """Several servers."""
    clients = Box(140, 20, 200, 30, "Clients")
    proxy = Box(90, 84, 300, 30, "nginx or Caddy (TLS)")
    one = Box(20, 160, 135, 47, "ricordo serve", ("port 8377",))
    two = Box(170, 160, 135, 47, "ricordo serve", ("port 8378",))
    broker = Box(340, 160, 120, 47, "Redis", ("a job is due",), "choice")
    workers = Box(340, 267, 120, 64, "Workers", ("ricordo celery", "worker"))
    database = Box(20, 267, 285, 64, "PostgreSQL + pgvector", ("everything is kept here",), "store")
    return Picture(
        "deployment",
        "Several servers and workers",
        "Clients reach nginx or Caddy, which passes on to several ricordo serve. They use one"
        " PostgreSQL, and tell Redis when a job is due; workers hear it from there and work on the"
        " same database.",
        WIDTH,
        351,
        [
            clients, proxy, one, two, broker, workers, database,
            down(clients, proxy),
            Arrow(((160, 114), (160, 137), (87.5, 137), (87.5, 157))),
            Arrow(((237.5, 114), (237.5, 157))),
            right(two, broker, dotted=True),
            down(broker, workers, dotted=True),
            Arrow(((87.5, 207), (87.5, 264))), Arrow(((237.5, 207), (237.5, 264))),
            left(workers, database),
        ],
    )  # fmt: skip


def trust() -> Picture:
    """Who is trusted with what."""
    keyed = Box(20, 20, 135, 47, "User or agent", ("with a key",))
    stranger = Box(172, 20, 135, 47, "Anybody else")
    texts = Box(325, 20, 135, 64, "Texts", ("said, read, imported,", "answered by models"))
    service = Box(90, 158, 230, 47, "ricordo serve, worker", ("acts for one user at a time",))
    database = Box(
        40, 253, 165, 64, "Database", ("row-level security,", "or an encrypted file"), "store"
    )
    files = Box(
        225, 253, 165, 64, "Home folder", ("secret.key, files,", "for the operator alone"), "store"
    )
    models = Box(
        40, 382, 165, 64, "Models", ("embeddings and chat,", "by the operator's key"), "choice"
    )
    theirs = Box(
        225,
        382,
        185,
        64,
        "A user's endpoint",
        ("embeddings, by their key,", "public addresses only"),
        "choice",
    )
    return Picture(
        "trust",
        "Who is trusted with what",
        "A user or agent with a key reaches ricordo; anybody else is refused. Texts reach it as"
        " data and never as orders. On the operator's machines ricordo acts for one user at a time"
        " on a database with row-level security or an encrypted file, and uses the home folder."
        " Outside are the operator's models, and users' own endpoints at public addresses only.",
        WIDTH,
        466,
        [
            Group(20, 128, 400, 209, "the operator's machines"),
            keyed, stranger, texts, service, database, files, models, theirs,
            Arrow(((87.5, 67), (87.5, 110), (200, 110), (200, 155))),
            Arrow(((239.5, 67), (239.5, 122)), "refused", dotted=True),
            Arrow(
                ((392.5, 84), (392.5, 114), (300, 114), (300, 155)),
                "data, never orders", (372, 105),
            ),
            Arrow(((122.5, 205), (122.5, 250))), Arrow(((290, 205), (290, 250))),
            Arrow(((90, 181), (30, 181), (30, 414), (37, 414))),
            Arrow(((320, 181), (440, 181), (440, 414), (413, 414))),
        ],
    )  # fmt: skip


PICTURES: Final = (
    overview(),
    message_to_memory(),
    question_to_results(),
    write(),
    life(),
    jobs_and_upkeep(),
    who_sees_what(),
    what_reaches_the_prompt(),
    deployment(),
    trust(),
)

if __name__ == "__main__":
    sys.exit(main())
