"""A model with a script for coding agents, in the wire formats of all of them.

Agents ask besides what they are asked: for a title, for a suggestion, whether the key is good. Such
requests carry no tools that change files, and never use up the script.
"""

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from ricordo.frozen import replace
from ricordo.testing import (
    Format,
    Json,
    ModelServer,
    Reply,
    Response,
    error_response,
    json_response,
    pieces,
)

_GEMINI: Final = re.compile(r"/v1(?:beta)?/models/[^:]+:(?P<verb>\w+)")
_SIDE_REPLY: Final = Reply("{}")


def _responses(reply: Reply, body: Json, model: str) -> tuple[Json, list[Json]]:
    """OpenAI's Responses. A tool that takes no JSON is called with its plain text."""
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    items: list[Json] = []
    events: list[Json] = []
    if reply.text is not None:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": "msg_test", "status": "completed"}
        items.append({**item, "content": content})
        events.append(
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {**item, "status": "in_progress", "content": []},
            }
        )
        events += [
            {
                "type": "response.output_text.delta",
                "item_id": "msg_test",
                "output_index": 0,
                "content_index": 0,
                "delta": piece,
            }
            for piece in pieces(reply.text)
        ]
        events.append({"type": "response.output_item.done", "output_index": 0, "item": items[-1]})
    if reply.tool is not None:
        call: Json = {"call_id": reply.call_id, "name": reply.tool, "id": f"fc_{reply.call_id}"}
        plain = {one["name"] for one in body.get("tools", ()) if one.get("type") == "custom"}
        if reply.tool in plain:
            call |= {"type": "custom_tool_call", "input": json.loads(reply.arguments)["input"]}
        else:
            call |= {"type": "function_call", "arguments": reply.arguments}
        items.append({**call, "status": "completed"})
        place = {"output_index": len(items) - 1}
        events.append({"type": "response.output_item.added", **place, "item": items[-1]})
        events.append({"type": "response.output_item.done", **place, "item": items[-1]})
    frame: Json = {"id": "resp_test", "object": "response", "model": model}
    whole = {**frame, "status": "completed", "output": items, "usage": usage}
    started = {"type": "response.created", "response": {**frame, "status": "in_progress"}}
    return whole, [started, *events, {"type": "response.completed", "response": whole}]


def _gemini(reply: Reply, model: str) -> tuple[Json, list[Json]]:
    parts: list[Json] = [] if reply.text is None else [{"text": reply.text}]
    if reply.tool is not None:
        called = {"name": reply.tool, "args": json.loads(reply.arguments), "id": reply.call_id}
        parts.append({"functionCall": called, "thoughtSignature": "c2tpcA=="})
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    frame: Json = {"modelVersion": model, "responseId": "test", "usageMetadata": usage}

    def of(some: list[Json], ended: Json) -> Json:
        content = {"role": "model", "parts": some}
        return {**frame, "candidates": [{"index": 0, "content": content, **ended}]}

    whole = of(parts, {"finishReason": "STOP"})
    return whole, [of([part], {}) for part in parts[:-1]] + [
        of(parts[-1:], {"finishReason": "STOP"})
    ]


class AgentModelServer(ModelServer):
    """Scripted for requests that offer tools; others are answered at once with next to nothing."""

    formats: ClassVar[Mapping[str, Format]] = {
        **ModelServer.formats,
        "/v1/responses": _responses,
    }

    @property
    def asked(self) -> list[Json]:
        """The bodies of the requests that the script answered."""
        return [
            one.body
            for one in self.requests
            if one.method == "POST" and isinstance(one.body, dict) and _offers_tools(one.body)
        ]

    def next_reply(self, body: Json) -> Reply | None:
        """The next one, with an id of its own for its call: agents join what has the same."""
        if not _offers_tools(body):
            return _SIDE_REPLY
        reply = super().next_reply(body)
        return reply and replace(reply, call_id=f"call_{secrets.token_hex(8)}")

    def render(self, reply: Reply, path: str, body: Json) -> Response:
        response = super().render(reply, path, body)
        mine = f"_{secrets.token_hex(8)}".encode()
        parts = response.parts and [part.replace(b"_test", mine) for part in response.parts]
        content = response.content.replace(b"_test", mine)
        return replace(response, content=content, parts=parts)

    def on_post(self, path: str, body: Any) -> Response:
        if path == "/v1/messages/count_tokens":
            return json_response(200, {"input_tokens": 1})
        asked = _GEMINI.fullmatch(path)
        if asked is None or not isinstance(body, dict):
            return super().on_post(path, body)
        if asked["verb"] == "countTokens":
            return json_response(200, {"totalTokens": 1})
        reply = self.next_reply(body)
        if reply is None:
            return error_response(500, "no answer is scripted")
        whole, events = _gemini(reply, self.model)
        if asked["verb"] == "generateContent":
            return json_response(200, whole)
        lines = [f"data: {json.dumps(one)}\r\n\r\n".encode() for one in events]
        return Response(200, headers={"Content-Type": "text/event-stream"}, parts=lines)


def _offers_tools(body: Json) -> bool:
    tools = body.get("tools") or ()
    return any(
        "functionDeclarations" in tool or tool.get("name") or tool.get("function")
        for tool in tools
        if isinstance(tool, dict)
    )
