/** What the client asks of `fetch`. */
export type GraphFetch = (
  url: string,
  init: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
) => Promise<GraphAnswer>;

/** What the client reads of an answer; one of `fetch` has it. */
export interface GraphAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  readonly body: (AsyncIterable<Uint8Array> & { cancel(): Promise<void> }) | null;
}

export interface GraphClientOptions {
  /** Where the API is, e.g. `http://127.0.0.1:8080`. */
  readonly baseUrl: string;
  /** E.g. one that sends a token. @default the platform's fetch */
  readonly fetch?: GraphFetch;
  /** Limit of one request, body included, milliseconds. */
  readonly timeoutMs: number;
  /** Limit of one answer's body. @default 64 MiB */
  readonly maxBodyBytes?: number;
  /** Limit of the pages of one graph. @default 10,000 */
  readonly maxPages?: number;
  /** Sent with every request, e.g. an authorization. */
  readonly headers?: Readonly<Record<string, string>>;
}
