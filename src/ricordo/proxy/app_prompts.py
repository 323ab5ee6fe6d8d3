"""Prompts that chat applications write themselves: tasks beside a chat, and templates around what
the user says.

Applications ask the same model for titles, tags, follow-up questions and search queries, as if the
user had said so, and some put documents around a message. Their texts change with every release and
can be edited, so what is looked for is what all of them need: the order to make something *of the
conversation*, the form in which a program wants it, and the conversation itself.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from ricordo.proxy.wire import USER, ChatMessage, JsonObject, last_of_user, objects, text_of

_HEAD_CHARS: Final = 4_000
_TAIL_CHARS: Final = 1_000
_MOST_SYSTEM_CHARS: Final = 4_000  # a system prompt of a task says nothing else
_SHORT_SYSTEM_CHARS: Final = 700
_SMALL_ANSWER_TOKENS: Final = 64
_BEFORE_CHARS: Final = 200
_BEGINS_CHARS: Final = 250
_CUE_CHARS: Final = 120
_NEAR_CHARS: Final = 400
_INSTRUCTION_CHARS: Final = 2_000
_ENOUGH: Final = 3
_ENOUGH_ALONE: Final = 4  # a person, too, asks for a title of five words
_ENOUGH_FOR_A_PROGRAM: Final = 2


def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | flags)


# Tasks beside a chat.

_TASKS_OF_METADATA = re.compile(r"\w+_generation|function_calling")
_SYSTEM_ROLES: Final = ("system", "developer")

_TO_MAKE = (
    r"\b(?:analy[sz]\w+|craft\w*|creat\w+|determin\w+|extract\w*|find|formulat\w+|generat\w+"
    r"|giv(?:e|ing)|mak(?:e|ing)|output\w*|produc\w+|provid\w+|reformulat\w+|rephras\w+|repl(?:y|ies)"
    r"|respond\w*|return\w*|rewrit\w+|suggest\w*|summari\w+|titl(?:e|ing)|writ\w+)\b[^.!?\n]{0,80}?"
)
_STANDALONE = r"\bstandalone (?:question|query|message)\b"
_MADE = (
    rf"(?:{_TO_MAKE}\b"
    r"(?:titles?|tags|follow[- ]?ups?|quick[- ]repl(?:y|ies)|search quer(?:y|ies))\b"
    r"|\b(?:brief|concise|pithy|short)\b[^.!?\n]{0,20}\b(?:titles?|chat name)\b"
    r"|\b(?:thread title|title generator)\b"
    rf"|{_STANDALONE}|标题|主题|标签)"
)
_OF_WHAT = (
    r"(?:\b(?:conversations?|chat|chatbot|dialog(?:ue)?|session"
    r"|(?:user'?s?|first|last|latest|following|assistant) (?:message|question|query|request)"
    r"|follow[- ]?up (?:question|message|input))\b|对话|会话|聊天|这句话)"
)
_ORDER = _compiled(
    rf"{_MADE}.{{0,160}}?{_OF_WHAT}|{_OF_WHAT}.{{0,160}}?{_MADE}"
    rf"|{_TO_MAKE}{_OF_WHAT}[^.!?\n]{{0,20}}\b(?:titles?|name)\b",
    re.DOTALL,
)
_FOR_A_PROGRAM = _compiled(_STANDALONE)
_BY_A_PERSON = re.compile(
    r"\b(?:I|I'm|I've|I'd|my|me|mine|we|us)\b|\b(?i:(?:can|could|would|will) you)\b"
    r"|\b(?i:(?:this|system) (?:prompt|template))\b"
)

_NO: Final = (
    r"\b(?:no|not|non|don'?t|never|without|omit\w*|remov\w+|avoid\w*|exclud\w+|any|outside)\b"
    r"[^.!?\n]{0,90}?\b"
)
_NUMBER: Final = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_FORM: Final = tuple(
    _compiled(pattern)
    for pattern in (
        rf"\b{_NUMBER}[- ](?:words?|char(?:acter)?s?)\b|[\d一二三四五六七八九十]+\s*个?字",
        r"\b(?:only|just|exclusively|solely)\b[^.!?\n]{0,40}\b(?:titles?|name|tags?|topic|json"
        r"|quer(?:y|ies)|question|return|respond|emoji|fields)\b|\b(?:titles?|name|tags?) only\b"
        r"|\bnothing else\b|\bother than the\b|\bstraight to the\b|直接返回|[只仅](?:返回|输出)",
        rf"{_NO}(?:additional|extra|other|conversational) (?:text|context|commentary|information)"
        rf"|{_NO}(?:explanations?|explain|commentary|prose)\b|不要(?:解释|多余)|多余文本",
        rf"{_NO}(?:preamble|lead-?in|intro(?:duction)?|prefix(?:es)?)\b",
        rf"{_NO}quot(?:es?|ation|ations)\b|引号",
        rf"{_NO}(?:punctuation|periods|colons|symbols)\b|标点",
        rf"{_NO}(?:formatting|markdown|bold|code fences|xml)\b|加粗",
        r"\bJSON (?:format|object|output|array)\b|\b(?:in|valid|raw|outside the) JSON\b",
        r"\b(?:same|user'?s?|chat'?s|conversation'?s|detected|original|its|primary) (?:\w+ )?"
        r"language\b|\blanguage (?:specified|code)\b|语言",
        r"\bdo(?: not|n't) (?:answer|respond to|reply to)\b|\breturn it as[- ]is\b",
        r"\b(?:title|sentence|lower) ?case\b|\bcapitali[sz]\w+\b|\bfirst letters\b",
    )
)
_TAGGED = _compiled(
    r"<(chat_?history|conversation|messages|transcript|dialogue|chat)>.*</\1>",
    re.DOTALL,
)
_SAID_BY = tuple(
    _compiled(rf"^\W{{0,4}}(?:{who})\W{{0,3}}:", re.MULTILINE)
    for who in ("user|human", "assistant|ai|response|model")
)
_LABEL = _compiled(
    r"^\W{0,4}(chat history|conversation|follow[- ]?up (?:input|question|message)|first message"
    r"|user message|message|last assistant message|current summary|here'?s the conversation)"
    r"\W{0,4}:",
    re.MULTILINE,
)
_SECTION = _compiled(
    r"^#{1,4} \W*(task|guidelines|instructions|rules|output|examples?|chat history|context)\b",
    re.MULTILINE,
)
_CUE = _compiled(
    r"\b(?:title|name|topic|tags|summary|standalone (?:question|query)|queries|output)\b"
    r"[^\n:]{0,30}:\W*$",
)
_WHOLE_TASKS: Final = tuple(
    _compiled(pattern, re.DOTALL)
    for pattern in (
        # an emoji of a message
        r"\Ayour task is to (?:reflect|select|pick|choose)\b.{0,160}\bemoji\b"
        r"|\Ayou are an emoji \w+",
        # one answer made of those of several models
        r"\A.{0,60}\bresponses from (?:various|multiple|several) models\b.{0,80}\bquery\b",
        # which tool to call, in words
        r"\Aavailable tools:.*\breturn the correct tool",
        # a summary that stands for the conversation from now on
        r"\b(?:summar\w+|condense)\b.{0,300}?\bas (?:a )?(?:prompt|context) for (?:the )?"
        r"(?:future|subsequent|next|later)\b",
        r"\bprogressively summari[sz]e the\b.{0,200}\bsummary\b",
    )
)
_FENCED = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)


def is_task(request: JsonObject, messages: Sequence[ChatMessage]) -> bool:
    """Whether an application asks for something of its own, and the user says nothing.

    ``messages`` are those without system prompts, as the application wrote them.
    """
    metadata = request.value("metadata")
    named = metadata.get("task") if isinstance(metadata, dict) else None
    if isinstance(named, str) and _TASKS_OF_METADATA.fullmatch(named):
        return True
    systems = [_Prompt(text) for text in _system_texts(request)]
    said = _Prompt(last_of_user(messages))
    if said.is_a_known_task or any(one.is_a_known_task for one in systems):
        return True
    points = said.points + _wants_little(request)
    if said.order is not None and points >= said.points_needed:
        return True
    if said.is_a_form and points > _ENOUGH:
        return True
    is_first = sum(one.role == USER for one in messages) <= 1
    return any(_is_task_of(one, said, points, is_first=is_first) for one in systems)


def _is_task_of(system: "_Prompt", said: "_Prompt", points: int, *, is_first: bool) -> bool:
    """Whether a system prompt says that what follows is a task.

    Where this is wrong, a whole assistant has no memory. So the prompt has to begin with the order,
    and what follows has to be the first message, or to show a conversation.
    """
    order = system.order
    if order is None or order.start() > _BEGINS_CHARS or len(system.text) > _MOST_SYSTEM_CHARS:
        return False
    points += system.points + (said.order is not None) + (len(system.text) <= _SHORT_SYSTEM_CHARS)
    if system.is_for_a_program:
        return points >= _ENOUGH_FOR_A_PROGRAM
    return (is_first or said.shows_conversation) and points >= _ENOUGH_ALONE


class _Prompt:
    """What speaks for a task in one text."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        ends = self.text
        if len(ends) > _HEAD_CHARS + _TAIL_CHARS:
            ends = f"{ends[:_HEAD_CHARS]}\n\n{ends[-_TAIL_CHARS:]}"
        self._ends = ends
        self._frame = _FENCED.sub("", ends)  # what is in a fence is shown, not said

    @cached_property
    def order(self) -> re.Match[str] | None:
        """Where it says to make something of the conversation, and no person says so."""
        for found in _ORDER.finditer(self._frame):
            said = self._frame[max(0, found.start() - _BEFORE_CHARS) : found.end()]
            if _BY_A_PERSON.search(said) is None:
                return found
        return None

    @cached_property
    def is_for_a_program(self) -> bool:
        """Whether it orders what no person has a use for."""
        return self.order is not None and _FOR_A_PROGRAM.search(self.order.group()) is not None

    @property
    def points_needed(self) -> int:
        if self.is_for_a_program:
            return _ENOUGH_FOR_A_PROGRAM
        return _ENOUGH if self.shows_conversation else _ENOUGH_ALONE

    @cached_property
    def is_a_form(self) -> bool:
        """Whether it begins with a heading, as texts do that a program fills in."""
        return _SECTION.match(self._frame) is not None and self.shows_conversation

    @cached_property
    def is_a_known_task(self) -> bool:
        return any(one.search(self._ends) for one in _WHOLE_TASKS)

    @cached_property
    def shows_conversation(self) -> bool:
        return bool(
            _TAGGED.search(self._ends)
            or all(who.search(self._ends) for who in _SAID_BY)
            or _LABEL.search(self._ends)
        )

    @cached_property
    def points(self) -> int:
        """How much speaks for it, beside the order."""
        form = sum(one.search(self._frame) is not None for one in _FORM)
        shown = 2 * (_TAGGED.search(self._ends) is not None)
        shown += 2 * all(who.search(self._ends) for who in _SAID_BY)
        labels = {one.group(1).lower() for one in _LABEL.finditer(self._ends)}
        sections = {one.group(1).lower() for one in _SECTION.finditer(self._frame)}
        cue = _CUE.search(self._ends[-_CUE_CHARS:]) is not None
        return form + shown + min(len(labels), 2) + (len(sections) > 1) + cue


def _system_texts(request: JsonObject) -> list[str]:
    """The system prompts of a request in any wire format."""
    listed = (*objects(request.value("messages")), *objects(request.value("input")))
    contents = [one.get("content") for one in listed if one.get("role") in _SYSTEM_ROLES]
    given = (request.value("system"), request.value("instructions"), *contents)
    return [text for text in (text_of(one, "text") for one in given) if text]


def _wants_little(request: JsonObject) -> bool:
    given = map(request.value, ("max_tokens", "max_completion_tokens", "max_output_tokens"))
    return any(type(most) is int and most <= _SMALL_ANSWER_TOKENS for most in given)


# Templates around what the user says.

_USING = _compiled(
    r"\b(?:us(?:e|ing)|based (?:only |solely )?on|given|according to)\b[^.\n]{0,60}?\b(?:"
    r"(?:provided|following|given|retrieved|attached)\b[^.\n]{0,40}?"
    r"\b(?:context|sources?|documents?|passages?|information|excerpts?|search results)"
    r"|(?:context|citations|sources|documents|passages)(?: \w+)? (?:above|below|provided)"
    r"|reference materials|context information)\b"
)
_ANSWERING = _compiled(
    r"\b(?:answer|repl(?:y|ies)|respon[ds])\w*\b[^.\n]{0,80}\b(?:quer(?:y|ies)|questions?|user)\b"
    r"|\bquestion-answering\b"
)
_MATERIAL_TAGS: Final = (
    "context",
    "documents",
    "sources",
    "search_results",
    "document",
    "source",
    "retrieved_chunks",
)
_QUESTION_TAGS: Final = ("raw_query", "user_query", "user_question", "user_input")
_AT_THE_END = _compiled(r"\b(?:question|query) at the end\b")
_ASKED = _compiled(
    r"^[#* \t]{0,6}(?:(?:my|the|user(?:'s)?|current) )?(?:query|question|input)(?: to answer| is)?"
    r"[* \t]{0,4}:\**",
    re.MULTILINE,
)
_MATERIAL = _compiled(
    r"^[#* \t]{0,6}(?:retrieved |provided )?"
    r"(?:context|sources?|documents?|search results|reference materials?)[* \t]{0,4}:\**",
    re.MULTILINE,
)
_ANSWER_CUE = _compiled(
    r"^[#* \t]{0,6}(?:(?:helpful|final|your) )?answer\b[* \t]{0,4}:\W*\Z", re.MULTILINE
)
_ADDED: Final = ("<!-- SYSTEM CONTEXT (NOT PART OF USER QUERY) -->", "<!-- END SYSTEM CONTEXT -->")


def own_words(text: str) -> str:
    """What the user said in a message, without the template and the documents that an application
    has put around it; the whole message where it has not.

    Nothing inside the documents counts as the user's words, whatever it calls itself.
    """
    own, marked, added = text.partition(_ADDED[0])
    if marked:
        _, ended, rest = added.rpartition(_ADDED[1])
        return f"{own.strip()}\n{rest.strip()}".strip() if ended else own.strip()
    for tag in _MATERIAL_TAGS:
        before, opened, rest = text.partition(f"<{tag}")
        _, closed, after = rest.rpartition(f"</{tag}>")
        if opened and closed:
            return _beside_material(text, before, after)
    return _beside_labelled(text)


def _beside_material(text: str, before: str, after: str) -> str:
    """The words after documents in a tag; those that a tag or a label calls the question."""
    for tag in _QUESTION_TAGS:
        _, opened, rest = after.partition(f"<{tag}>")
        asked, closed, _ = rest.rpartition(f"</{tag}>")
        if opened and closed:
            return asked.strip() or text
    if not _is_template(before, after[:_INSTRUCTION_CHARS]):
        return text
    label = _ASKED.search(after)
    own = (after if label is None else after[label.end() :]).strip()
    return own if own or _SECTION.match(before) else text


def _beside_labelled(text: str) -> str:
    """The words that a label calls the question, where the instruction stands right before it."""
    labels = list(_ASKED.finditer(text))
    if not labels:
        return text
    first, last = labels[0], labels[-1]
    head = text[: first.start()]
    is_at_end = _AT_THE_END.search(head) is not None
    if not is_at_end and len(head) <= _INSTRUCTION_CHARS and _is_template(head):
        material = _MATERIAL.search(text, first.end())
        if material is not None:
            return text[first.end() : material.start()].strip() or text
    near = text[: last.start()][-_NEAR_CHARS:]
    if not (_is_template(head) if is_at_end else _is_template(near, begins=False)):
        return text
    own = text[last.end() :]
    cue = _ANSWER_CUE.search(own)
    return (own if cue is None else own[: cue.start()]).strip() or text


def _is_template(before: str, after: str = "", *, begins: bool = True) -> bool:
    """Whether the words beside documents say to answer with them, and no person says so.

    With ``begins`` they are those that the message begins with.
    """
    head = before[:_INSTRUCTION_CHARS]
    text = f"{head}\n{before[-_BEFORE_CHARS:]}\n{after}"
    using, answering = _USING.search(text), _ANSWERING.search(text)
    if using is None or answering is None:
        return False
    start = min(using.start(), answering.start())
    if not begins or start > _BEFORE_CHARS:
        sentence = max(text.rfind("\n", 0, start), text.rfind(". ", 0, start)) + 1
    else:
        sentence = 0
    said = text[sentence : max(using.end(), answering.end())][: 2 * _BEFORE_CHARS]
    return _BY_A_PERSON.search(said) is None
