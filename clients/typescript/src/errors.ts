/** What an error says beside its text. */
export interface About {
  type?: string;
  title?: string;
  status?: number;
  requestId?: string | null;
  retryAfter?: number;
}

/** Anything that went wrong. What the service refuses is a subclass, named as its `type`. */
export class RicordoError extends Error {
  /** The kind of problem, e.g. `MemoryNotFound`. */
  readonly type: string;
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** The status in words. */
  readonly title: string;
  /** The request in the log of the service. */
  readonly requestId: string | null;
  /** In how many seconds it may be tried again, where the service says so. */
  readonly retryAfter: number | undefined;

  constructor(detail: string, about: About = {}, options?: ErrorOptions) {
    super(detail, options);
    this.type = about.type ?? new.target.name;
    this.name = this.type;
    this.status = about.status ?? 0;
    this.title = about.title ?? "";
    this.requestId = about.requestId ?? null;
    this.retryAfter = about.retryAfter;
  }
}

/** The service cannot be reached, or the connection ended before the answer did. */
export class ConnectionFailed extends RicordoError {}

/** The answer took longer than `timeoutMs`. */
export class TimedOut extends ConnectionFailed {}

/** The feed is behind what was read: the user was erased. A copy of it has to be discarded. */
export class FeedRestarted extends RicordoError {}
