export { Ricordo, type ChatEndpoint } from "./client.js";
export { ConnectionFailed, FeedRestarted, RicordoError, TimedOut } from "./errors.js";
export * from "./generated/errors.js";
export type { UserOperations } from "./generated/operations.js";
export type * from "./generated/types.js";
export type { Pages } from "./pages.js";
export type { Options } from "./requests.js";
export type { Answer, Given } from "./types.js";
