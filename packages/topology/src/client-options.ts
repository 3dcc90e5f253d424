export type GraphFetch = (
  url: string,
  init: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
) => Promise<GraphAnswer>;

export interface GraphAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  readonly body: (AsyncIterable<Uint8Array> & { cancel(): Promise<void> }) | null;
}

export interface GraphClientOptions {
  readonly baseUrl: string;
  /** Custom fetch, for example one that sends a token. @default the platform's fetch */
  readonly fetch?: GraphFetch;
  readonly timeoutMs: number;
  /** Maximum bytes of an answer. @default 64 MiB */
  readonly maxBodyBytes?: number;
  /** Maximum pages of a graph. @default 10,000 */
  readonly maxPages?: number;
  readonly headers?: Readonly<Record<string, string>>;
}
