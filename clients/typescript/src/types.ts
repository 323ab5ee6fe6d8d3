import type { operations } from "./generated/types.js";

/** An operation of the service: where it is, and where its arguments go. Those that are neither in
 * the path nor headers go into the query of GET and DELETE, and into the body of the others. */
export interface Operation {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  /** The arguments that have a place of their own, in order. */
  positions: readonly string[];
  /** The argument that is the whole body. */
  body?: string;
  /** The arguments that are headers. */
  headers?: Readonly<Record<string, string>>;
  /** It answers pages. */
  paged?: boolean;
  /** Its answer gets the `etag` of the state. */
  tagged?: boolean;
  /** The field that is the answer. */
  answers?: string;
  /** It may take minutes. */
  lengthy?: boolean;
  /** It changes something, and must not do so twice. */
  once?: boolean;
}

type Id = keyof operations;
type Defined<T> = [NonNullable<T>] extends [never] ? unknown : NonNullable<T>;
type Content<R> = R extends { content: { "application/json": infer A } } ? A : void;
type Responses<K extends Id> = operations[K]["responses"];

/** The body of a request. */
export type Body<K extends Id> =
  NonNullable<operations[K]["requestBody"]> extends { content: { "application/json": infer B } }
    ? B
    : unknown;

/** All arguments of a request, by name. */
export type Given<K extends Id> = Defined<operations[K]["parameters"]["path"]> &
  Defined<operations[K]["parameters"]["query"]> &
  Body<K>;

/** What a request answers. */
export type Answer<K extends Id> = Content<Responses<K>[keyof Responses<K>]>;
