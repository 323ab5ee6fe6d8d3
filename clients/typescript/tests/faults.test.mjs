// Against servers of the test's own, which lose, delay and refuse what the real one would answer.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";

import * as ricordo from "ricordo";

const { ConnectionFailed, Conflict, InvalidValue, Ricordo, RicordoError, TimedOut } = ricordo;
const servers = [];
after(() => servers.forEach((one) => one.closeAllConnections() ?? one.close()));

/** A client of a server that answers with each of these in turn, and what it was sent. */
async function scripted(...answers) {
  const sent = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    sent.push({ method: request.method, url: request.url, headers: request.headers, body });
    await answers[Math.min(sent.length, answers.length) - 1](response);
  });
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return [new Ricordo({ url: `http://127.0.0.1:${server.address().port}/`, user: "ana" }), sent];
}

const ok = (value) => (response) => response.end(JSON.stringify(value));
const lost = (response) => response.destroy();
const never = () => undefined;
const problem = (status, type, headers = {}) => (response) => {
  response.writeHead(status, { "Content-Type": "application/problem+json", ...headers });
  response.end(JSON.stringify({ type, title: "T", status, detail: "why", request_id: "r1" }));
};
const gateway = (status) => (response) => {
  response.writeHead(status, { "Content-Type": "text/html" });
  response.end("<html>");
};

test("a write whose answer is lost is sent again with the same key", async () => {
  const [ana, sent] = await scripted(lost, gateway(502), ok({ id: 1 }));
  assert.deepEqual(await ana.add("Likes tea"), { id: 1 });
  const keys = sent.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  await ana.add("Likes jazz");
  assert.notEqual(sent[3].headers["idempotency-key"], keys[0]);
  await ana.with({ idempotencyKey: "mine" }).add("Likes cats");
  assert.equal(sent[4].headers["idempotency-key"], "mine");
});

test("what only reads has no key, also as POST", async () => {
  const [ana, sent] = await scripted(ok({ results: [] }));
  await ana.search("tea");
  await ana.get(1);
  assert.deepEqual(sent.map(({ headers }) => headers["idempotency-key"]), [undefined, undefined]);
});

test("what the first request is still doing is waited for", async () => {
  const [ana, sent] = await scripted(lost, problem(409, "Conflict"), ok({ id: 1 }));
  assert.deepEqual(await ana.add("Likes tea"), { id: 1 });
  assert.equal(sent.length, 3);
  const [ben] = await scripted(problem(409, "Conflict"));
  await assert.rejects(ben.add("Likes tea"), Conflict);
});

test("what the service may do later is asked again, and nothing else", async () => {
  for (const [status, type, headers, times] of [
    [503, "StorageBusy", { "Retry-After": "0" }, 3],
    [429, "TooManyRequests", { "Retry-After": "0" }, 3],
    [429, "TooManyRequests", { "Retry-After": "600" }, 1],
    [429, "BudgetExhausted", {}, 1],
    [503, "InvalidPolicy", {}, 1],
    [502, "ModelRefused", {}, 1],
    [422, "InvalidValue", {}, 1],
    [500, "RicordoError", {}, 1],
  ]) {
    const [ana, sent] = await scripted(problem(status, type, headers));
    await assert.rejects(ana.revision(), (error) => {
      assert.ok(error instanceof ricordo[type], type);
      assert.deepEqual(
        [error.name, error.type, error.status, error.message, error.requestId, error.retryAfter],
        [type, type, status, "why", "r1", headers["Retry-After"] && Number(headers["Retry-After"])],
      );
      return true;
    });
    assert.equal(sent.length, times, `${type} ${JSON.stringify(headers)}`);
  }
  const [ana, sent] = await scripted(gateway(503));
  await assert.rejects(ana.with({ maxRetries: 1 }).revision(), { status: 503, type: "RicordoError" });
  assert.equal(sent.length, 2);
  const [ben] = await scripted(problem(418, "NewerThanThisClient"));
  await assert.rejects(ben.revision(), { type: "NewerThanThisClient", status: 418 });
});

test("nobody there, nobody who answers, and nobody who waits", async () => {
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const url = `http://127.0.0.1:${closed.address().port}`;
  await new Promise((done) => closed.close(done));
  const nobody = new Ricordo({ url, maxRetries: 0 });
  await assert.rejects(nobody.revision(), (error) => {
    assert.ok(error instanceof ConnectionFailed && error instanceof RicordoError);
    assert.match(error.message, /ECONNREFUSED/);
    return error.status === 0;
  });
  const [ana, sent] = await scripted(never);
  await assert.rejects(ana.with({ timeoutMs: 50, maxRetries: 1 }).revision(), TimedOut);
  assert.equal(sent.length, 2);

  const stop = new AbortController();
  const waiting = ana.with({ signal: stop.signal }).revision();
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(ana.with({ signal: AbortSignal.abort() }).revision(), { name: "AbortError" });
  const [busy] = await scripted(problem(503, "StorageBusy", { "Retry-After": "20" }));
  const signal = AbortSignal.timeout(200);
  await assert.rejects(busy.with({ signal }).revision(), { name: "TimeoutError" });
});

test("arguments go where they belong, whatever is in them", async () => {
  const [ana, sent] = await scripted(ok({ revision: 7 }));
  assert.equal(await ana.revision(), 7);
  await ana.turns("a/b ?#é", { limit: 5 });
  await ana.list({ tags: ["a", "b"], pinned: false, contains: undefined });
  await ana.with({ user: "zoë", key: "rk_1", agent: "a", group: "g", project: "p" }).pin(7, false);
  await ana.saveCheckpoint("monday", null, { if_match: '"1"' });
  await ana.observe([{ role: "user", content: "Hi" }], { thread: "a" });
  assert.deepEqual(
    sent.map(({ method, url, body }) => [method, url, body]),
    [
      ["GET", "/v1/revision", ""],
      ["GET", "/v1/threads/a%2Fb%20%3F%23%C3%A9/turns?limit=5", ""],
      ["GET", "/v1/memories?tags=a&tags=b&pinned=false", ""],
      ["POST", "/v1/memories/7/pin", '{"pinned":false}'],
      ["PUT", "/v1/checkpoints/monday", "null"],
      ["POST", "/v1/threads/a/turns", '{"messages":[{"role":"user","content":"Hi"}]}'],
    ],
  );
  const { headers } = sent[3];
  assert.equal(Buffer.from(headers["x-ricordo-user"], "latin1").toString(), "zoë");
  assert.equal(headers["authorization"], "Bearer rk_1");
  assert.equal(`${headers["x-ricordo-agent"]}${headers["x-ricordo-group"]}${headers["x-ricordo-project"]}`, "agp");
  assert.equal(sent[4].headers["if-match"], '"1"');
  for (const thread of ["..", ".", "", undefined]) {
    await assert.rejects(ana.turns(thread).then(), InvalidValue);
  }
  assert.equal(sent.length, 6);
});

test("a feed that began again is no copy any more", async () => {
  const [ana] = await scripted(ok({ changes: [], revision: 2, more: false }));
  await assert.rejects(ana.follow(5).next(), ricordo.FeedRestarted);
});

test("a key is not shown where a client is printed", async () => {
  const { inspect } = await import("node:util");
  assert.doesNotMatch(inspect(new Ricordo({ key: "rk_secret" }), { depth: 9, showHidden: true }), /rk_secret/);
});
