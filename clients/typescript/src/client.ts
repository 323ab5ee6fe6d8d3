import { FeedRestarted, RicordoError } from "./errors.js";
import { OPERATIONS, type UserOperations } from "./generated/operations.js";
import type { Change } from "./generated/types.js";
import { Pages } from "./pages.js";
import { base, bytes, call, identity, lost, query, send, sleep, type Options } from "./requests.js";
import type { Answer, Given, Operation } from "./types.js";

const POLL_MS = 2000;
const FEED_LIMIT = 1000;

/** How clients of a chat API reach their model through the service. */
export interface ChatEndpoint {
  baseURL: string;
  apiKey: string;
  headers: Record<string, string>;
}

export interface Ricordo extends UserOperations {}

/**
 * One user's memory in a ricordo service.
 *
 * Each operation is a method, with the arguments that must be given in their places and the others
 * in an object, named as in the API.
 */
export class Ricordo {
  readonly #options: Options;

  constructor(options: Options = {}) {
    this.#options = options;
  }

  static {
    for (const [name, one] of Object.entries<Operation>(OPERATIONS)) {
      const value = function (this: Ricordo, ...given: unknown[]): unknown {
        const placed = one.positions.map((argument, at) => [argument, given[at]] as const);
        const named = given[one.positions.length] as object | undefined;
        const all = Object.fromEntries(
          [...placed, ...Object.entries(named ?? {})].filter(([, value]) => value !== undefined),
        );
        const options = this.#options;
        if (!one.paged) return call(options, one, all);
        return new Pages<any>((cursor) => call(options, one, cursor ? { ...all, cursor } : all));
      };
      Object.defineProperty(Ricordo.prototype, name, { value, configurable: true, writable: true });
    }
  }

  /** The same service for another user, project …, or with other patience. */
  with(changes: Options): Ricordo {
    return new Ricordo({ ...this.#options, ...changes });
  }

  /** What happens to the memories after a revision, as it happens, until `signal` ends it. */
  async *follow(
    since = 0,
    { everyMs = POLL_MS }: { everyMs?: number } = {},
  ): AsyncGenerator<Change, never, undefined> {
    let seen = since;
    for (;;) {
      const found = await this.changes(seen, { limit: FEED_LIMIT });
      if (found.revision < seen) {
        throw new FeedRestarted(`the feed is at ${found.revision}, and was read up to ${seen}`);
      }
      for (const change of found.changes) {
        yield change;
        seen = change.revision;
      }
      if (!found.more) await sleep(everyMs, this.#options.signal);
    }
  }

  /** Everything of the user's as JSON Lines, which `importFile` takes back; the last line says how
   * many came before it. */
  async *exportLines(): AsyncGenerator<string, void, undefined> {
    const sent = { method: "GET", path: "/v1/export", streams: true, lengthy: true };
    const { response } = await send(this.#options, sent);
    if (response.body === null) throw new RicordoError("the answer has no body");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop() ?? "";
        yield* lines;
      }
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      throw lost(error);
    } finally {
      await reader.cancel().catch(() => undefined);
    }
    if (rest) yield rest;
  }

  /** Bring in an export of ricordo, or what another system exported. Doing it again changes
   * nothing. */
  async importFile(
    file: string | Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
    more: Given<"import_user"> = {},
  ): Promise<Answer<"import_user">> {
    const path = `/v1/import${query(more)}`;
    const headers = { "Content-Type": "application/octet-stream" };
    const sent = { method: "POST", path, headers, body: file, lengthy: true };
    const { text } = await send(this.#options, sent);
    return JSON.parse(text) as Answer<"import_user">;
  }

  /** The address and the headers of the chat proxy, for clients of chat APIs. */
  chat(thread?: string): ChatEndpoint {
    const { Authorization: _, ...headers } = identity(this.#options);
    if (thread !== undefined) headers["X-Ricordo-Thread"] = bytes(thread);
    return { baseURL: `${base(this.#options)}/v1`, apiKey: this.#options.key ?? "none", headers };
  }
}
