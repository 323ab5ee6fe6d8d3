// Compiled, and never run: what TypeScript says of programs that use the package.
import { InvalidValue, Ricordo, RicordoError, type Item, type MemoryHit } from "ricordo";

const ana = new Ricordo({ url: "http://127.0.0.1:8377", user: "ana" });

const added = await ana.add("Likes tea", { theme: "drinks", importance: 3, tags: ["tea"] });
// @ts-expect-error: it may have been proposed
added.id;
if ("proposal_id" in added) added.fields satisfies string[];
else added.id satisfies number;

// @ts-expect-error: there is no such argument
ana.add("Likes tea", { them: "drinks" });
// @ts-expect-error: not one of the types
ana.add("Likes tea", { type: "taste" });
// @ts-expect-error: what to remember must be given
ana.add();
// @ts-expect-error: and where it was said
ana.observe([{ role: "user", content: "Hi" }]);
// @ts-expect-error: of an endpoint of its own
ana.listKeys();

(await ana.revision()) satisfies number;
(await ana.search("tea")).results satisfies MemoryHit[];
for await (const item of ana.list({ status: ["active", "archived"] })) item satisfies Item;
(await ana.list()).next_cursor satisfies string | null | undefined;
(await ana.deleteCheckpoint("t")) satisfies void;
(await ana.loadCheckpoint("t")).etag satisfies string;
(await ana.summary())?.content;

try {
  await ana.pin(1, false, { expected_updated_at: "2026-05-01T09:30:00Z" });
} catch (error) {
  if (error instanceof InvalidValue) error.status satisfies number;
  if (error instanceof RicordoError) error.retryAfter satisfies number | undefined;
}
