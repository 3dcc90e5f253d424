import { effect } from "@preact/signals";
import { LEASE_EVERY_MS, StreamHub, type HubMessage, type TabMessage } from "../model/stream-hub.ts";
import { token } from "./session.ts";

/** Failures after which the worker is not retried: its script may be blocked. */
const MAX_FAULTS = 2;

interface StreamListener {
  onEvent(type: string): void;
  onState(isOpen: boolean | null): void;
}

interface Link {
  send(message: TabMessage): void;
  close(): void;
}

/** This tab's connection to the worker, or its own stream without SharedWorker. */
class TabStream {
  readonly #url: string;
  readonly #listener: StreamListener;
  #link: Link | null = null;
  #isAnswered = true;
  /** Between `pagehide` and `pageshow`; `visibilitychange` follows `pagehide`. */
  #isGone = false;
  #faults = typeof SharedWorker === "undefined" ? MAX_FAULTS : 0;

  constructor(url: string, listener: StreamListener) {
    this.#url = url;
    this.#listener = listener;
  }

  /** Also renews the lease. Reconnects to a worker that did not answer the previous one. */
  follow(): void {
    if (this.#isGone) return;
    // Without a worker each tab holds one of the browser's six connections.
    if (this.#isAlone && document.hidden) return this.leave();
    if (!this.#isAnswered) {
      this.leave();
      this.#listener.onState(null);
    }
    this.#isAnswered = false;
    this.#link ??= this.#isAlone ? this.#ownLink() : this.#sharedLink();
    this.#link.send({ kind: "follow", url: this.#url, token: token.peek() });
  }

  hide(): void {
    this.#isGone = true;
    this.leave();
    this.#listener.onState(null);
  }

  show(): void {
    this.#isGone = false;
    this.follow();
  }

  leave(): void {
    this.#link?.send({ kind: "leave" });
    this.#link?.close();
    this.#link = null;
    this.#isAnswered = true;
  }

  get #isAlone(): boolean {
    return this.#faults >= MAX_FAULTS;
  }

  #receive(message: HubMessage): void {
    this.#isAnswered = true;
    if (message.kind === "event") this.#listener.onEvent(message.type);
    else this.#listener.onState(message.isOpen);
  }

  #sharedLink(): Link {
    const worker = new SharedWorker(new URL("./stream-worker.ts", import.meta.url), { type: "module" });
    const { port } = worker;
    port.addEventListener("message", ({ data }: MessageEvent<HubMessage>) => this.#receive(data));
    port.start();
    worker.addEventListener("error", () => {
      this.#faults++;
      this.leave();
      this.#listener.onState(false);
      this.follow();
    });
    return { send: (message) => port.postMessage(message, []), close: () => port.close() };
  }

  #ownLink(): Link {
    const hub = new StreamHub({ open: (url, init) => fetch(url, init), nowMs: () => performance.now() });
    const tab = { tell: (message: HubMessage) => this.#receive(message) };
    return { send: (message) => hub.receive(tab, message), close: () => undefined };
  }
}

/** Follows the stream at a path below the page's until the tab closes. */
export function followStream(path: string, listener: StreamListener): void {
  const stream = new TabStream(new URL(path, document.baseURI).href, listener);
  effect(() => {
    void token.value;
    stream.follow();
  });
  setInterval(() => stream.follow(), LEASE_EVERY_MS);
  document.addEventListener("visibilitychange", () => stream.follow());
  // A page in the back-forward cache runs no script and must hold no connection.
  addEventListener("pagehide", () => stream.hide());
  addEventListener("pageshow", () => stream.show());
}
