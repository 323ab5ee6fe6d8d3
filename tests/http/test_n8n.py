"""The workflow for n8n in examples/: its requests are made to a service, as n8n would make them.

n8n itself is not run: Node evaluates the expressions, and the nodes do here what n8n documents.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.endpoints import FaultyModel
from tests.support.service import Service

WORKFLOW = json.loads((Path(__file__).parents[2] / "examples/n8n_chat.json").read_text("utf-8"))

# Text after "=" with {{ JavaScript }} in it; where that is all, its value keeps its type.
EVALUATE = r"""
const { text, outputs, input } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const $ = (name) => ({ item: { json: outputs[name] } });
const value = (code) => new Function("$", "$json", `return (${code});`)($, input);
const resolved = (text) => {
  if (typeof text !== "string" || !text.startsWith("=")) return text;
  const parts = text.slice(1).split(/\{\{([\s\S]*?)\}\}/);
  if (parts.length === 3 && !parts[0] && !parts[2]) return value(parts[1]);
  return parts.map((part, index) => (index % 2 ? String(value(part)) : part)).join("");
};
const all = (one) =>
  Array.isArray(one) ? one.map(all)
  : one && typeof one === "object"
    ? Object.fromEntries(Object.entries(one).map(([name, part]) => [name, all(part)]))
    : resolved(one);
console.log(JSON.stringify(all(text)));
"""


class Run:
    """One execution of the workflow, for a message that was sent to it."""

    def __init__(self, credentials: dict[str, dict[str, str]], settings: dict[str, str]) -> None:
        self._credentials = credentials
        self._settings = settings
        self._outputs: dict[str, Any] = {}
        self._node = shutil.which("node")  # scripts/services.sh installs it
        assert self._node is not None

    def answer(self, body: dict[str, str]) -> dict[str, Any]:
        nodes = {node["name"]: node for node in WORKFLOW["nodes"]}
        name, output = "Message", {"body": body}
        while True:
            self._outputs[name] = output
            following = WORKFLOW["connections"].get(name)
            if following is None:
                return output
            (((to,),),) = following.values()
            name = to["node"]
            output = self._do(nodes[name], output)

    def _do(self, node: dict[str, Any], given: Any) -> Any:
        parameters = self._evaluated(node["parameters"], given)
        kind = node["type"].removeprefix("n8n-nodes-base.")
        if kind == "set":
            wanted = parameters["assignments"]["assignments"]
            return {one["name"]: self._settings.get(one["name"], one["value"]) for one in wanted}
        if kind == "respondToWebhook":
            return json.loads(parameters["responseBody"])
        assert kind == "httpRequest"
        assert parameters["specifyBody"] == "json"
        named = parameters.get("headerParameters", {"parameters": []})["parameters"]
        done = httpx2.request(
            parameters["method"],
            parameters["url"],
            json=json.loads(parameters["jsonBody"]),
            headers={
                **self._credentials[parameters["genericAuthType"]],
                **{one["name"]: one["value"] for one in named},
            },
        )
        assert done.is_success, done.text
        return done.json()

    def _evaluated(self, text: Any, given: Any) -> Any:
        asked = {"text": text, "outputs": self._outputs, "input": given}
        done = subprocess.run(
            [str(self._node), "-e", EVALUATE],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.requirement("integrations.n8n")
def test_the_workflow_remembers_for_each_user(keyed: Service) -> None:
    memory = keyed.memory
    key = memory.create_key("n8n")
    with FaultyModel() as model:
        for text in ("How lovely.", "Tromsø.", "I do not know you yet."):
            model.answer(text)
        run = Run(
            {
                "httpHeaderAuth": {"Authorization": f"Bearer {key.secret}"},
                "httpBearerAuth": {"Authorization": "Bearer sk-none"},
            },
            {"ricordo": keyed.url, "model_url": model.base_url, "model": model.model},
        )
        first = {"user": "ana", "conversation": "mon/day", "text": "I want to see northern lights."}
        again = {
            "user": "ana",
            "conversation": "tuesday",
            "text": "Where are northern lights?",
        }
        assert run.answer(first)["answer"] == "How lovely."
        assert run.answer(again)["answer"] == "Tromsø."
        assert run.answer({**again, "user": "ben"}) == {
            "answer": "I do not know you yet.",
            "recalled": 0,
        }
        told = [json.dumps(prompt, ensure_ascii=False) for prompt in model.prompts]
    assert "I want to see northern lights." in told[1]
    assert "I want to see" not in told[2]
    assert [turn.content for turn in memory.user("ana").turns("mon/day")] == [
        "I want to see northern lights.",
        "How lovely.",
    ]
    assert len(memory.user("ben").threads()) == 1


@pytest.mark.requirement("integrations.n8n")
def test_the_workflow_is_one_chain_of_known_nodes() -> None:
    names = [node["name"] for node in WORKFLOW["nodes"]]
    led_to = [one["node"] for out in WORKFLOW["connections"].values() for (one,) in out["main"]]
    assert [names[0], *led_to] == names
    assert len({node["id"] for node in WORKFLOW["nodes"]}) == len(names)
    assert "credentials" not in json.dumps(WORKFLOW)  # whoever imports it has their own
