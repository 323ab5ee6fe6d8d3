interface Page {
  items: unknown[];
  next_cursor?: string | null;
}

/** The first page when it is awaited; the entries of all pages when it is iterated. */
export class Pages<P extends Page> implements PromiseLike<P>, AsyncIterable<P["items"][number]> {
  readonly #read: (cursor?: string) => Promise<P>;
  #first: Promise<P> | undefined;

  constructor(read: (cursor?: string) => Promise<P>) {
    this.#read = read;
  }

  then<A = P, B = never>(
    done?: ((page: P) => A | PromiseLike<A>) | null,
    failed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#first ??= this.#read();
    return this.#first.then(done, failed);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<P["items"][number], void, undefined> {
    let page: Page = await (this.#first ??= this.#read());
    for (;;) {
      yield* page.items as Awaited<P["items"][number]>[];
      if (!page.next_cursor) return;
      page = await this.#read(page.next_cursor);
    }
  }
}
