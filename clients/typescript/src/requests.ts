import { ConnectionFailed, RicordoError, TimedOut } from "./errors.js";
import { ERRORS, InvalidValue } from "./generated/errors.js";
import type { Operation } from "./types.js";

/** Where the service is, who asks, and how patiently. */
export interface Options {
  /** Where the service is. Default: `http://127.0.0.1:8377`. */
  url?: string;
  /** A key of the service (`rk_…`). */
  key?: string;
  /** Whom the memory is of; not needed with a key of one user. */
  user?: string;
  /** The agent that asks, if one does. */
  agent?: string;
  /** The group whose memories it is about. */
  group?: string;
  /** The project that requests are kept to. */
  project?: string;
  /** How long one attempt may take. Default: 60,000, and 300,000 for what is lengthy. */
  timeoutMs?: number;
  /** How often a request that may work later is sent again. Default: 2. */
  maxRetries?: number;
  /** Ends requests under way, and the pauses between them. */
  signal?: AbortSignal;
  /** For one write that is repeated by the program itself; otherwise each has a key of its own. */
  idempotencyKey?: string;
  /** Instead of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface Sent {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: BodyInit;
  /** The answer is read by whoever asked for it, and may take its time. */
  streams?: boolean;
  lengthy?: boolean;
}

type Arguments = Record<string, unknown>;

const BASE = "http://127.0.0.1:8377";
const TIMEOUT_MS = 60_000;
const LENGTHY_MS = 300_000; // no fetch of Node waits longer
const RETRIES = 2;
const PAUSE_MS = 250;
const LONGEST_PAUSE_S = 30;
const GATEWAY = new Set([429, 502, 503, 504]);

/** The address of the service without a slash at its end. */
export function base(options: Options): string {
  return (options.url ?? BASE).replace(/\/+$/, "");
}

/** The headers that say who asks. */
export function identity(options: Options): Record<string, string> {
  const { key, user, agent, group, project } = options;
  const named = { User: user, Agent: agent, Group: group, Project: project };
  const headers: Record<string, string> = key ? { Authorization: `Bearer ${key}` } : {};
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined) headers[`X-Ricordo-${name}`] = bytes(value);
  }
  return headers;
}

/** A text for a header, which takes bytes: those of UTF-8. */
export function bytes(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** Call an operation with its arguments by name. */
export async function call(options: Options, one: Operation, given: Arguments): Promise<unknown> {
  const left = { ...given };
  const take = (name: string) => {
    const value = left[name];
    delete left[name];
    return value;
  };
  const headers: Record<string, string> = {};
  for (const [name, header] of Object.entries(one.headers ?? {})) {
    const value = take(name);
    if (value !== undefined) headers[header] = String(value);
  }
  const body = one.body === undefined ? undefined : take(one.body);
  let path = one.path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, take(name)));
  const sent: Sent = { method: one.method, path, headers, lengthy: one.lengthy === true };
  if (one.method === "GET" || one.method === "DELETE") {
    sent.path += query(left);
  } else if (one.body !== undefined || Object.keys(left).length > 0) {
    headers["Content-Type"] = "application/json";
    sent.body = JSON.stringify(one.body === undefined ? left : (body ?? null));
  }
  if (one.once) headers["Idempotency-Key"] = bytes(options.idempotencyKey ?? crypto.randomUUID());
  const { response, text } = await send(options, sent);
  if (!text) return undefined;
  const answer = JSON.parse(text) as Arguments;
  if (one.answers !== undefined) return answer[one.answers];
  return one.tagged ? { ...answer, etag: response.headers.get("etag") } : answer;
}

export function query(given: Arguments): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === undefined || one === null) continue;
      found.append(name, one instanceof Date ? one.toISOString() : String(one));
    }
  }
  const text = found.toString();
  return text && `?${text}`;
}

/** A value as a part of a path. Dots would be read as a way up, however they are written. */
function segment(name: string, value: unknown): string {
  if (value === undefined || value === null) throw new InvalidValue(`${name}: is missing`);
  const text = String(value);
  if (["", ".", ".."].includes(text)) {
    throw new InvalidValue(`${name}: ${JSON.stringify(text)} cannot be part of an address`);
  }
  return encodeURIComponent(text);
}

/** Send a request until it is answered, refused for good, or was sent too often. */
export async function send(
  options: Options,
  sent: Sent,
): Promise<{ response: Response; text: string }> {
  const most = sent.body instanceof ReadableStream ? 0 : (options.maxRetries ?? RETRIES);
  for (let attempt = 0; ; attempt += 1) {
    let failure: RicordoError;
    try {
      const answered = await once(options, sent);
      if (answered.response.ok) return answered;
      failure = refusal(answered.response, answered.text);
    } catch (error) {
      if (!(error instanceof ConnectionFailed)) throw error;
      failure = error;
    }
    if (attempt >= most || !mayPass(failure, attempt)) throw failure;
    const pause = PAUSE_MS * 2 ** attempt * (0.5 + Math.random() / 2);
    await sleep(Math.max(pause, 1000 * (failure.retryAfter ?? 0)), options.signal);
  }
}

async function once(options: Options, sent: Sent): Promise<{ response: Response; text: string }> {
  const { signal, timeoutMs = sent.lengthy ? LENGTHY_MS : TIMEOUT_MS } = options;
  signal?.throwIfAborted();
  const late = new AbortController();
  const timer = setTimeout(
    () => late.abort(new TimedOut(`${sent.method} ${sent.path}: no answer in ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    const response = await (options.fetch ?? fetch)(base(options) + sent.path, {
      method: sent.method,
      headers: { Accept: "application/json", ...identity(options), ...sent.headers },
      signal: signal ? AbortSignal.any([late.signal, signal]) : late.signal,
      ...(sent.body === undefined ? {} : { body: sent.body }),
      ...(sent.body instanceof ReadableStream ? { duplex: "half" } : {}),
    } as RequestInit);
    return { response, text: sent.streams && response.ok ? "" : await response.text() };
  } catch (error) {
    signal?.throwIfAborted();
    throw late.signal.aborted ? late.signal.reason : lost(error);
  } finally {
    clearTimeout(timer);
  }
}

/** An error of `fetch`, whose reason is in its cause. */
export function lost(error: unknown): ConnectionFailed {
  const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  const why = cause?.code ?? cause?.message;
  const said = why ? `${message}: ${why}` : message;
  return new ConnectionFailed(`the service did not answer: ${said}`, {}, { cause: error });
}

/** What an answer says that is none. */
function refusal(response: Response, text: string): RicordoError {
  const after = Number(response.headers.get("retry-after") ?? Number.NaN);
  const about = { status: response.status, ...(after >= 0 ? { retryAfter: after } : {}) };
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("application/problem+json")) {
    const said = response.statusText || "an answer of another server";
    return new RicordoError(`${response.status}: ${said}`, { ...about, type: "RicordoError" });
  }
  const { detail, request_id, ...problem } = JSON.parse(text) as Record<string, string>;
  const known = Object.hasOwn(ERRORS, problem["type"] ?? "");
  const Kind = known ? ERRORS[problem["type"] as keyof typeof ERRORS] : RicordoError;
  return new Kind(detail ?? "", { ...problem, ...about, requestId: request_id ?? null });
}

/** Whether it may work later: the service says when; a gateway, and a lost connection, do not. */
function mayPass(failure: RicordoError, attempt: number): boolean {
  if (failure instanceof ConnectionFailed) return true;
  if (failure.retryAfter !== undefined) return failure.retryAfter <= LONGEST_PAUSE_S;
  // What was sent before is still being done.
  if (failure.type === "Conflict") return attempt > 0;
  return failure.type === "RicordoError" && GATEWAY.has(failure.status);
}

/** Wait, unless the signal ends it. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const ended = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      resolve();
    }, ms);
    signal?.addEventListener("abort", ended, { once: true });
  });
}
