import assert from "node:assert/strict";
import { test } from "node:test";

import { MemoryNotFound, NotFound, Ricordo } from "ricordo";

const { RICORDO_SERVICE: url } = process.env;

test("what is added is found, listed and gone", async () => {
  const ana = new Ricordo({ url, user: "ana" });
  const tea = await ana.add("Prefers tea to coffee", { theme: "drinks" });
  await ana.add("Lives in Turin", { key: "home" });

  const { results } = await ana.search("tea or coffee?", { limit: 1 });
  assert.equal(results[0].id, tea.id);
  const texts = [];
  for await (const item of ana.list({ limit: 1, order: "asc" })) texts.push(item.content);
  assert.deepEqual(texts, ["Prefers tea to coffee", "Lives in Turin"]);
  assert.equal(await ana.revision(), 2);

  await ana.forget(tea.id);
  await assert.rejects(ana.get(tea.id), (error) => {
    assert.ok(error instanceof MemoryNotFound && error instanceof NotFound);
    assert.deepEqual([error.type, error.status], ["MemoryNotFound", 404]);
    assert.match(error.requestId, /\w+/);
    return true;
  });
  assert.deepEqual((await ana.with({ user: "ben" }).list()).items, []);
});
