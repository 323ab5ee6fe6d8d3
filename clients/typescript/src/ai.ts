import { dynamicTool, jsonSchema, type LanguageModelMiddleware, type ToolSet } from "ai";

import type { Ricordo } from "./client.js";
import { InvalidValue } from "./generated/errors.js";
import type { Given } from "./types.js";

type Transform = NonNullable<LanguageModelMiddleware["transformParams"]>;
type WrapStream = NonNullable<LanguageModelMiddleware["wrapStream"]>;
type Params = Parameters<Transform>[0]["params"];
type Message = Params["prompt"][number];
type Part = Awaited<ReturnType<WrapStream>>["stream"] extends ReadableStream<infer P> ? P : never;
type Context = Given<"build_context">;

/** How a model gets memory. */
export interface MemoryOptions {
  /** The conversation. A call names another one in `providerOptions.ricordo.thread`. */
  thread?: string;
  /** What of memory the model is shown. Default: `recall` and `summary`. */
  modes?: Context["modes"];
  /** How long what it is shown may be, with the message. Default: what the service is set to. */
  budgetTokens?: number;
  /** How sure a memory must be to be shown. */
  threshold?: Context["threshold"];
  /** Whether what is said is recorded. Default: yes, which needs a thread. */
  record?: boolean;
  /** How long memory may take before an answer, and to record it. Default: 5,000. */
  timeoutMs?: number;
  /** Told when memory fails: the chat goes on without it. Default: `console.warn`. */
  onError?: (error: unknown) => void;
}

/** One call of a model: whose, where, what was asked, and what it was shown. */
interface Asked {
  memory: Ricordo;
  thread: string | undefined;
  question: string;
  id: string;
  recalled: number[];
}

const PATIENCE_MS = 5000;
const LONGEST_QUESTION = 4000;
const LONGEST_TEXT = 1_000_000;

/**
 * The memory tools as tools of the AI SDK: `tools: await ricordoTools(memory)`.
 *
 * `sets` are those of the service: `standard` (the default), `single`, `query`, `profile`, several
 * with commas. What a model does wrong is an answer for it; where memory itself fails, the SDK tells
 * it the error.
 */
export async function ricordoTools(memory: Ricordo, sets = "standard"): Promise<ToolSet> {
  const { tools } = await memory.listTools({ sets, form: "anthropic" });
  const offered = sets.split(",").map((name) => name.trim());
  return Object.fromEntries(
    (tools as { name: string; description: string; input_schema: object }[]).map((one) => [
      one.name,
      dynamicTool({
        description: one.description,
        inputSchema: jsonSchema(one.input_schema),
        execute: async (input, { abortSignal }) => {
          const asking = abortSignal ? memory.with({ signal: abortSignal }) : memory;
          const given = { arguments: input as Record<string, unknown>, sets: offered };
          return (await asking.callTool(one.name, given)).result;
        },
      }),
    ]),
  );
}

/**
 * Memory for any model of the AI SDK: `wrapLanguageModel({ model, middleware:
 * ricordoMemory(memory, { thread }) })`.
 *
 * Each call is shown what matters for the last message of the user; what the user said and the
 * answer are recorded, streamed or not, and become memories. For many users and conversations a call
 * names its own: `providerOptions: { ricordo: { user, thread } }`.
 */
export function ricordoMemory(
  memory: Ricordo,
  options: MemoryOptions = {},
): LanguageModelMiddleware {
  const {
    modes = ["recall", "summary"],
    budgetTokens,
    threshold,
    record = true,
    timeoutMs = PATIENCE_MS,
    onError = (error) => console.warn("ricordo: a chat goes on without memory:", error),
  } = options;
  const calls = new WeakMap<Params, Asked>();
  let latest: { key: string; system: string; recalled: number[] } | undefined;

  async function recall(asked: Asked, key: string, params: Params): Promise<string> {
    const isLaterStep = params.prompt.at(-1)?.role === "tool";
    if (!isLaterStep || latest?.key !== key) {
      const { abortSignal: signal } = params;
      const hasty = asked.memory.with({ maxRetries: 0, ...(signal && { signal }) });
      const context = await hasty.context(excerpt(asked.question), {
        thread: asked.thread,
        modes,
        budget_tokens: budgetTokens,
        threshold,
        reply_tokens: 0,
        history: false,
        persona: false,
        user_file: false,
        tools: (params.tools ?? []).map(({ name }) => ({ name })),
      });
      latest = { key, system: context.system, recalled: context.memories.map(({ id }) => id) };
    }
    asked.recalled = latest.recalled;
    return latest.system;
  }

  async function remember(asked: Asked | undefined, answer: string): Promise<void> {
    if (asked === undefined) return;
    const { memory, thread, question, id, recalled } = asked;
    const text = answer.trim();
    try {
      if (record && thread !== undefined) {
        const messages = [turn("user", question, id)];
        if (text) messages.push(turn("assistant", text, await digest([id, text])));
        await memory.observe(messages, { thread });
      }
      if (text && recalled.length > 0) {
        await memory.feedback(recalled, { answer: text.slice(0, LONGEST_TEXT) });
      }
    } catch (error) {
      onError(error);
    }
  }

  return {
    specificationVersion: "v4",

    async transformParams({ params }) {
      const { ricordo, ...others } = params.providerOptions ?? {};
      const { thread = options.thread, user } = (ricordo ?? {}) as Record<string, string>;
      if (record && thread === undefined) {
        throw new InvalidValue("thread: is missing; name the conversation, or set record to false");
      }
      const kept: Params = { ...params, providerOptions: others };
      const said = params.prompt.filter(({ role }) => role === "user" || role === "assistant");
      const at = said.findLastIndex(({ role }) => role === "user");
      const question = textOf(said[at]).trim();
      if (!question) return kept;
      const id = await digest([at, textOf(said[at - 1]), question]);
      const own = memory.with({ ...(user === undefined ? {} : { user }), timeoutMs, maxRetries: 1 });
      const asked: Asked = { memory: own, thread, question, id, recalled: [] };
      try {
        const system = await recall(asked, JSON.stringify([user, thread, id]), params);
        if (system) kept.prompt = withSystem(params.prompt, system);
      } catch (error) {
        params.abortSignal?.throwIfAborted();
        onError(error);
      }
      calls.set(kept, asked);
      return kept;
    },

    async wrapGenerate({ doGenerate, params }) {
      let answer = "";
      try {
        const done = await doGenerate();
        const text = done.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
        if (!done.content.some(callsTool)) answer = text.join("");
        return done;
      } finally {
        await remember(calls.get(params), answer);
      }
    },

    async wrapStream({ doStream, params }) {
      const asked = calls.get(params);
      try {
        const { stream, ...others } = await doStream();
        return { ...others, stream: heard(stream, (answer) => remember(asked, answer)) };
      } catch (error) {
        await remember(asked, "");
        throw error;
      }
    },
  };
}

/** The same stream; at its end, however it comes, `tell` gets its text, unless tools are called. */
function heard(
  stream: ReadableStream<Part>,
  tell: (answer: string) => Promise<void>,
): ReadableStream<Part> {
  const reader = stream.getReader();
  let answer = "";
  let calling = false;
  let told: Promise<void> | undefined;
  const end = () => (told ??= tell(calling ? "" : answer));
  return new ReadableStream<Part>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          await end();
          controller.close();
          return;
        }
        if (value.type === "text-delta") answer += value.delta;
        calling ||= callsTool(value);
        if (value.type === "finish") await end();
        controller.enqueue(value);
      } catch (error) {
        await end();
        controller.error(error);
      }
    },
    async cancel(reason) {
      await Promise.all([reader.cancel(reason), end()]);
    },
  });
}

/** Whether the program has to call a tool, so that the answer is still to come. */
function callsTool(part: { type: string; providerExecuted?: boolean }): boolean {
  return part.type === "tool-call" && !part.providerExecuted;
}

/** The prompt with one more system message, after those that are there. */
function withSystem(prompt: Message[], content: string): Message[] {
  const at = prompt.findIndex(({ role }) => role !== "system");
  return [...prompt.slice(0, at), { role: "system", content }, ...prompt.slice(at)];
}

function textOf(message: Message | undefined): string {
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content;
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.join("\n").replaceAll("\0", "");
}

/** What a question says at its beginning and its end: between them is what was pasted. */
function excerpt(text: string): string {
  const half = LONGEST_QUESTION / 2;
  return text.length <= 2 * half ? text : `${text.slice(0, half)}\n…\n${text.slice(-half)}`;
}

function turn(role: "user" | "assistant", content: string, id: string) {
  return { role, content: content.slice(0, LONGEST_TEXT), id };
}

/** An id that is the same when the same is sent again, so that it is recorded once. */
async function digest(parts: unknown[]): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(parts));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  return `ai-${Array.from(hash.slice(0, 16), (one) => one.toString(16).padStart(2, "0")).join("")}`;
}
