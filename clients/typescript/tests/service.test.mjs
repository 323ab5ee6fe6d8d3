// Against the real service, which requires keys: one of ana, and one of a service.
import assert from "node:assert/strict";
import { test } from "node:test";

import * as ricordo from "ricordo";

const { Ricordo } = ricordo;
const { RICORDO_SERVICE: url, RICORDO_KEY_OF_ANA: key, RICORDO_KEY_OF_ALL: all } = process.env;
const ana = new Ricordo({ url, key });
const texts = ({ items }) => items.map(({ content }) => content);

test("a write whose answer is lost is done once", async () => {
  let lost = 1;
  const losing = async (...request) => {
    const response = await fetch(...request);
    if (lost-- > 0) throw new TypeError("lost");
    return response;
  };
  await ana.with({ fetch: losing }).observe([{ role: "user", content: "I like tea" }], { thread: "t" });
  assert.deepEqual(texts(await ana.turns("t")), ["I like tea"]);
});

test("memories are changed, and everything is typed as it comes", async () => {
  const [one, two] = await ana.addMany(["Lives in Turin", { content: "Has a cat", theme: "pets", tags: ["cat"] }]);
  assert.deepEqual((await ana.getMany([two.id, one.id])).map(({ content }) => content), ["Has a cat", "Lives in Turin"]);
  const pinned = await ana.pin(one.id);
  assert.equal(pinned.pinned, true);
  await assert.rejects(ana.archive(one.id, { expected_updated_at: "2020-01-01T00:00:00Z" }), ricordo.Changed);
  assert.equal((await ana.archive(one.id, { expected_updated_at: pinned.updated_at })).status, "archived");
  assert.equal((await ana.restore(one.id)).status, "active");
  await ana.add("Lives in Lisbon", { key: "home" });
  await ana.add("Lives in Porto", { key: "home" });
  const [home] = await ana.forget(null, { key: "home" });
  assert.equal(home.content, "Lives in Porto");
  assert.equal((await ana.restore(home.id)).content, "Lives in Porto");
  assert.equal((await ana.undo(home.id)).content, "Lives in Lisbon");
  await ana.forget(home.id);
  const merged = await ana.merge([one.id, two.id], "Lives in Turin with a cat", { theme: "home" });
  assert.deepEqual((await ana.history(merged.id)).at(-1).event, "ADD");
  assert.equal((await ana.get(one.id)).status, "superseded");
  assert.ok((await ana.themes()).some(({ display_name }) => display_name === "home" || display_name === "Home"));
  assert.equal((await ana.describeTheme("home", { display_name: "At home" })).display_name, "At home");
  await assert.rejects(ana.add("Likes jazz", { importance: 9 }), (error) => {
    assert.match(error.message, /importance: 9 is not a whole number from 1 to 5/);
    return error instanceof ricordo.InvalidValue;
  });
  assert.ok((await ana.purge({ before_time: true })) >= 1);
  assert.equal(await ana.purge({ before_time: true }), 0);
});

test("agents, prompts and conversations", async () => {
  await ana.add("Allergic to nothing, likes walnuts", { theme: "food" });
  const prompt = await ana.context("What can I cook?", { modes: ["recall"], thread: "t" });
  assert.match(prompt.system, /walnuts/);
  const { bullets } = await ana.query("walnuts", { categories: ["food"], budget_tokens: 200 });
  assert.equal(bullets.length, 1);
  assert.equal((await ana.searchTurns("tea", { thread: "t" })).results.length, 1);
  assert.equal((await ana.window("t")).turns.length, 1);
  assert.equal((await ana.thread("t")).turn_count, 1);
  assert.equal((await ana.form("t")).decisions[0].content, "User likes tea.");
  assert.equal((await ana.updateUserProfile({ city: "Turin" })).fields[0].key, "city");
});

test("states of programs, by their etag", async () => {
  const first = await ana.saveCheckpoint("a/b", { step: 1 }, { if_none_match: "*" });
  await assert.rejects(ana.saveCheckpoint("a/b", 0, { if_none_match: "*" }), ricordo.PreconditionFailed);
  const second = await ana.saveCheckpoint("a/b", { step: 2 }, { if_match: first.etag });
  assert.deepEqual((await ana.loadCheckpoint("a/b")).state, { step: 2 });
  await assert.rejects(ana.deleteCheckpoint("a/b", { if_match: first.etag }), ricordo.PreconditionFailed);
  assert.equal(await ana.deleteCheckpoint("a/b", { if_match: second.etag }), undefined);
  await assert.rejects(ana.loadCheckpoint("a/b"), ricordo.CheckpointNotFound);
});

test("the feed is followed over its pages, and goes on", async () => {
  const zoe = new Ricordo({ url, key: all, user: "zoë" });
  await zoe.addMany(Array.from({ length: 1001 }, (_, at) => `Statement ${at}`).slice(0, 500));
  await zoe.addMany(Array.from({ length: 1001 }, (_, at) => `Statement ${at}`).slice(500));
  const stop = new AbortController();
  const feed = zoe.with({ signal: stop.signal }).follow(0, { everyMs: 10 });
  let seen = 0;
  for await (const change of feed) {
    seen += 1;
    assert.equal(change.revision, seen);
    if (seen === 1001) await zoe.add("One more");
    if (seen === 1002) break;
  }
  const rest = zoe.with({ signal: stop.signal }).follow(seen, { everyMs: 10 }).next();
  stop.abort();
  await assert.rejects(rest, { name: "AbortError" });
  let listed = 0;
  for await (const item of zoe.list({ limit: 400 })) listed += item.id > 0;
  assert.equal(listed, 1002);
});

test("everything of a user goes out as a stream, and in as text, bytes or a stream", async () => {
  const zoe = new Ricordo({ url, key: all, user: "zoë" });
  const lines = [];
  for await (const line of zoe.exportLines()) lines.push(line);
  const last = JSON.parse(lines.at(-1));
  assert.equal(last.kind, "end");
  assert.ok(lines.length > 1002);
  const file = `${lines.join("\n")}\n`;
  const forms = { text: file, bytes: new TextEncoder().encode(file), stream: new Blob([file]).stream() };
  for (const [name, form] of Object.entries(forms)) {
    const other = zoe.with({ user: name });
    assert.equal((await other.importFile(form, { format: "auto" })).format, "ricordo");
    assert.equal((await other.list({ limit: 1 })).items[0].content, "One more");
  }
  for await (const _ of zoe.exportLines()) break; // the slot is free again
  for await (const line of zoe.exportLines()) assert.ok(line.startsWith("{"));
});

test("groups and sharing, each user for themselves", async () => {
  const other = new Ricordo({ url, key: all, user: "ben" });
  const cat = await ana.add("The cat is called Miso");
  await ana.link(cat.id, "ben");
  await other.approve(cat.id);
  assert.equal((await other.get(cat.id)).content, "The cat is called Miso");
  assert.equal(await ana.unlink(cat.id, "ben"), undefined);
  await assert.rejects(other.get(cat.id), ricordo.MemoryNotFound);
  assert.deepEqual(await other.groups(), []);
});

test("keys decide who asks", async () => {
  await assert.rejects(new Ricordo({ url }).revision(), ricordo.NotAuthenticated);
  await assert.rejects(ana.with({ key: "rk_wrong" }).revision(), ricordo.NotAuthenticated);
  await assert.rejects(ana.with({ user: "ben" }).revision(), ricordo.PermissionMissing);
  await assert.rejects(new Ricordo({ url, key: all }).revision(), ricordo.NotAuthenticated);
});
