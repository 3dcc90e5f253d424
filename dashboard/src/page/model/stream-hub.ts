// Shares event streams among tabs: one per address and token. Tabs without that token get nothing of its
// stream.
import { followEvents } from "./events.ts";

/** Sent by a tab. `follow` is a repeated, self-contained lease, so that a forgotten tab rejoins. */
export type TabMessage =
  | { readonly kind: "follow"; readonly url: string; readonly token: string }
  | { readonly kind: "leave" };

/** Sent to a tab. Every `follow` is answered with a state. */
export type HubMessage =
  | { readonly kind: "event"; readonly type: string }
  | { readonly kind: "state"; readonly isOpen: boolean | null };

export interface TabPort {
  tell(message: HubMessage): void;
}

/** Lease period. Browsers delay timers of hidden tabs by up to a minute. */
export const LEASE_EVERY_MS = 20_000;
/** Drops tabs silent for this long: ports do not report crashes. */
const LEASE_MS = 180_000;
/** Browsers open six HTTP/1.1 connections per server. Tabs with a fourth token poll instead. */
const MAX_STREAMS = 3;

interface Stream {
  readonly key: string;
  readonly tabs: Set<TabPort>;
  readonly stopped: AbortController;
  isOpen: boolean | null;
}

interface Lease {
  readonly stream: Stream;
  readonly seenMs: number;
}

interface HubOptions {
  readonly open: (url: string, init: RequestInit) => Promise<Response>;
  readonly nowMs: () => number;
  readonly retryMs?: number;
}

export class StreamHub {
  readonly #options: HubOptions;
  readonly #streams = new Map<string, Stream>();
  readonly #leases = new Map<TabPort, Lease>();

  constructor(options: HubOptions) {
    this.#options = options;
  }

  receive(tab: TabPort, message: TabMessage): void {
    this.#dropSilent();
    if (message.kind === "leave") return this.#drop(tab);
    const key = JSON.stringify([message.url, message.token]);
    if (this.#leases.get(tab)?.stream.key !== key) this.#drop(tab);
    const stream = this.#streams.get(key) ?? this.#open(key, message.url, message.token);
    stream?.tabs.add(tab);
    if (stream !== null) this.#leases.set(tab, { stream, seenMs: this.#options.nowMs() });
    tab.tell({ kind: "state", isOpen: stream === null ? false : stream.isOpen });
  }

  #drop(tab: TabPort): void {
    const stream = this.#leases.get(tab)?.stream;
    this.#leases.delete(tab);
    if (stream === undefined) return;
    stream.tabs.delete(tab);
    if (stream.tabs.size > 0) return;
    this.#streams.delete(stream.key);
    stream.stopped.abort();
  }

  #dropSilent(): void {
    const now = this.#options.nowMs();
    for (const [tab, { seenMs }] of this.#leases) if (now - seenMs > LEASE_MS) this.#drop(tab);
  }

  #open(key: string, url: string, token: string): Stream | null {
    if (this.#streams.size >= MAX_STREAMS) return null;
    const stream: Stream = { key, tabs: new Set(), stopped: new AbortController(), isOpen: null };
    this.#streams.set(key, stream);
    const tell = (message: HubMessage): void => {
      for (const tab of stream.tabs) tab.tell(message);
    };
    const { open, retryMs } = this.#options;
    void followEvents({
      open: (lastId, signal) => {
        const headers = new Headers();
        if (token !== "") headers.set("authorization", `Bearer ${token}`);
        if (lastId !== "") headers.set("last-event-id", lastId);
        return open(url, { headers, signal, cache: "no-store", redirect: "error" });
      },
      onEvent: ({ type }) => tell({ kind: "event", type }),
      onState: (isOpen) => {
        stream.isOpen = isOpen;
        tell({ kind: "state", isOpen });
      },
      signal: stream.stopped.signal,
      ...(retryMs === undefined ? {} : { retryMs }),
    });
    return stream;
  }
}
