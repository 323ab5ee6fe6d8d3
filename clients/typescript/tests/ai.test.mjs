import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { InvalidValue, Ricordo } from "ricordo";
import { ricordoMemory, ricordoTools } from "ricordo/ai";

const { RICORDO_SERVICE: url, RICORDO_MODEL: baseURL } = process.env;
const service = new Ricordo({ url });
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

const stop = { unified: "stop", raw: "stop" };
const calls = { unified: "tool-calls", raw: "tool_calls" };
const text = (said) => ({ content: [{ type: "text", text: said }], finishReason: stop, usage, warnings: [] });
const toolCall = (toolName, input) => ({
  content: [{ type: "tool-call", toolCallId: "1", toolName, input: JSON.stringify(input) }],
  finishReason: calls,
  usage,
  warnings: [],
});

function streamed(...said) {
  const deltas = said.map((delta) => ({ type: "text-delta", id: "0", delta }));
  const chunks = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "0" },
    ...deltas,
    { type: "text-end", id: "0" },
    { type: "finish", finishReason: stop, usage },
  ];
  return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null, initialDelayInMs: null }) };
}

function remembering(memory, answers, options) {
  const queue = [...answers];
  const next = async () => {
    const answer = queue.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const model = new MockLanguageModelV4({ doGenerate: next, doStream: next });
  return [wrapLanguageModel({ model, middleware: ricordoMemory(memory, options) }), model];
}

const systemOf = (call) => call.prompt.filter(({ role }) => role === "system").map(({ content }) => content);
const said = async (memory, thread) =>
  (await memory.turns(thread)).items.map(({ role, content }) => `${role}: ${content}`);

test("what matters is shown, after the program's own words, and what is said is recorded", async () => {
  const feedback = [];
  const spy = (address, request) => {
    if (address.endsWith("/v1/feedback")) feedback.push(JSON.parse(request.body));
    return fetch(address, request);
  };
  const ana = service.with({ user: "ana", fetch: spy });
  const tea = await ana.add("The user drinks green tea", { theme: "drinks" });
  const [model, mock] = remembering(ana, [text("The user drinks green tea.")], { thread: "kitchen" });
  const { text: answer } = await generateText({
    model,
    instructions: "You are brief.",
    messages: [{ role: "user", content: "What does the user drink?" }],
  });
  assert.equal(answer, "The user drinks green tea.");
  const [own, memory, ...more] = systemOf(mock.doGenerateCalls[0]);
  assert.equal(own, "You are brief.");
  assert.match(memory, /The user drinks green tea/);
  assert.deepEqual(more, []);
  assert.deepEqual(await said(ana, "kitchen"), [
    "user: What does the user drink?",
    "assistant: The user drinks green tea.",
  ]);
  assert.deepEqual(feedback, [{ recalled: [tea.id], answer }]); // the answer used it
});

test("a stream passes as it is, and is recorded before it ends", async () => {
  const ana = service.with({ user: "streaming" });
  const [model] = remembering(ana, [streamed("Good ", "morning.")], { thread: "hall" });
  const pieces = [];
  for await (const piece of streamText({ model, prompt: "Good day." }).textStream) pieces.push(piece);
  assert.deepEqual(pieces, ["Good ", "morning."]);
  assert.deepEqual(await said(ana, "hall"), ["user: Good day.", "assistant: Good morning."]);
});

test("what came of a stream that nobody reads on is recorded", async () => {
  const ana = service.with({ user: "leaving" });
  const [model] = remembering(ana, [streamed("Once ", "upon ", "a time")], { thread: "hall" });
  const { stream } = await model.doStream({ prompt: [{ role: "user", content: [{ type: "text", text: "Tell me." }] }] });
  const reader = stream.getReader();
  for (let read = 0; read < 3; read += 1) await reader.read();
  await reader.cancel();
  assert.match((await said(ana, "hall"))[1], /^assistant: Once/);
});

test("the same request again is not recorded again, and a conversation goes on", async () => {
  const ana = service.with({ user: "again" });
  const [model] = remembering(ana, [text("Hello."), text("Hello."), text("Bye.")], { thread: "door" });
  const first = { role: "user", content: "Hello?" };
  await generateText({ model, messages: [first] });
  await generateText({ model, messages: [first] });
  const answer = { role: "assistant", content: "Hello." };
  await generateText({ model, messages: [first, answer, { role: "user", content: "Hello?" }] });
  assert.deepEqual(await said(ana, "door"), [
    "user: Hello?",
    "assistant: Hello.",
    "user: Hello?",
    "assistant: Bye.",
  ]);
});

test("a call names its user and its conversation, and no provider sees that", async () => {
  const [model, mock] = remembering(service, [text("Yes."), text("No.")]);
  const messages = [{ role: "user", content: "Is it late?" }];
  for (const user of ["cleo", "dan"]) {
    await generateText({ model, messages, providerOptions: { ricordo: { user, thread: "t" }, other: { a: 1 } } });
  }
  assert.deepEqual(await said(service.with({ user: "cleo" }), "t"), ["user: Is it late?", "assistant: Yes."]);
  assert.deepEqual(await said(service.with({ user: "dan" }), "t"), ["user: Is it late?", "assistant: No."]);
  assert.deepEqual(mock.doGenerateCalls[0].providerOptions, { other: { a: 1 } });
  await assert.rejects(generateText({ model, messages, maxRetries: 0 }), InvalidValue);
});

test("a model uses the tools, and what it says on the way is no answer", async () => {
  const ana = service.with({ user: "working" });
  const tools = await ricordoTools(ana);
  const wrong = toolCall("memory_add", { contents: "no such argument" });
  const right = toolCall("memory_add", { content: "Plays chess on Fridays", theme: "games" });
  const [model, mock] = remembering(ana, [wrong, right, text("Noted.")], { thread: "club" });
  const result = await generateText({ model, tools, prompt: "I play chess on Fridays.", stopWhen: stepCountIs(5) });
  assert.equal(result.text, "Noted.");
  const [mistake, done] = result.steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output));
  assert.equal(mistake.error.type, "UnknownField");
  assert.ok(done.id > 0);
  assert.deepEqual((await ana.list()).items.map(({ content }) => content), ["Plays chess on Fridays"]);
  assert.deepEqual(await said(ana, "club"), ["user: I play chess on Fridays.", "assistant: Noted."]);
  const [one, , three] = mock.doGenerateCalls.map(systemOf);
  assert.deepEqual(one, three); // the same in each step
  assert.equal(mock.doGenerateCalls[0].tools.length, Object.keys(tools).length);
});

test("only the tools of the chosen sets can be called", async () => {
  const ana = service.with({ user: "working" });
  const tools = await ricordoTools(ana, "query");
  assert.deepEqual(Object.keys(tools), ["memory_query"]);
  const { result, is_error } = await ana.callTool("memory_add", { arguments: {}, sets: ["query"] });
  assert.ok(is_error);
  assert.match(result.error.message, /memory_add/);
});

test("a chat goes on where memory fails, and where the model does what was said is kept", async () => {
  const ana = service.with({ user: "failing" });
  const problems = [];
  const onError = (error) => problems.push(error.type);
  const nowhere = ana.with({ url: "http://127.0.0.1:9", maxRetries: 0 });
  const [deaf] = remembering(nowhere, [text("Hello.")], { thread: "t", onError });
  assert.equal((await generateText({ model: deaf, prompt: "Hello?" })).text, "Hello.");
  assert.deepEqual(problems, ["ConnectionFailed", "ConnectionFailed"]);

  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const slow = ana.with({ url: `http://127.0.0.1:${silent.address().port}` });
  const [patient] = remembering(slow, [text("Hello.")], { thread: "t", onError, timeoutMs: 20 });
  assert.equal((await generateText({ model: patient, prompt: "Hello?" })).text, "Hello.");
  assert.deepEqual(problems.slice(2), ["TimedOut", "TimedOut"]);
  silent.closeAllConnections();
  silent.close();

  const [broken] = remembering(ana, [new Error("no model")], { thread: "t", onError });
  await assert.rejects(generateText({ model: broken, prompt: "I moved to Lisbon.", maxRetries: 0 }), /no model/);
  assert.deepEqual(await said(ana, "t"), ["user: I moved to Lisbon."]);
});

test("nothing is recorded where that is not wanted", async () => {
  const ana = service.with({ user: "quiet" });
  const [model] = remembering(ana, [text("Hello.")], { record: false });
  await generateText({ model, prompt: "Hello?" });
  assert.deepEqual((await ana.threads()).items, []);
});

test("a model behind an endpoint of the wire format of OpenAI has memory, too", async () => {
  const ana = service.with({ user: "ana" });
  const provider = createOpenAICompatible({ name: "scripted", baseURL });
  const middleware = ricordoMemory(ana, { thread: "lounge" });
  const model = wrapLanguageModel({ model: provider("test-model"), middleware });
  const tools = await ricordoTools(ana);
  const result = streamText({ model, tools, prompt: "What do I drink?", stopWhen: stepCountIs(3) });
  assert.equal(await result.text, "Green tea, as always.");
  assert.deepEqual(await said(ana, "lounge"), ["user: What do I drink?", "assistant: Green tea, as always."]);
});
