// The part of `fetch` that our clients use, on Node's own client: undici, which is behind the platform's
// `fetch`, takes five megabytes.
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";

/** What of `fetch` our clients use. */
export interface FetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** What of an answer of `fetch` our clients use: the platform's is one too. */
export interface FetchAnswer {
  readonly status: number;
  /** Whether the status is 200 to 299. */
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  /** Null: there can be none. Leaving a loop over it cancels the rest. */
  readonly body: (AsyncIterable<Uint8Array> & { cancel(): Promise<void> }) | null;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

const WITHOUT_BODY = new Set([204, 205, 304]);

/** Connections without TLS, which are closed when they have been idle for so long. */
export function plainAgent(idleMs: number): Agent {
  return new Agent({ keepAlive: true, timeout: idleMs });
}

/**
 * `fetch` over an agent, which says how it connects. Redirects aren't followed: they are answers like others.
 */
export function agentFetch(agent: Agent, url: string, init: FetchInit): Promise<FetchAnswer> {
  const { method = "GET", headers = {}, body, signal } = init;
  return new Promise((resolve, reject) => {
    const failed = (cause: unknown): void => reject(new TypeError("fetch failed", { cause }));
    const options = { method, headers, agent, ...(signal === undefined ? {} : { signal }) };
    try {
      const request = httpRequest(url, options, (message) => resolve(new Answer(message, method)));
      request.on("error", failed);
      request.end(body);
    } catch (error) {
      // E.g. an address that is none.
      failed(error);
    }
  });
}

class Answer implements FetchAnswer {
  readonly status: number;
  readonly headers: FetchAnswer["headers"];
  readonly body: FetchAnswer["body"];

  constructor(message: IncomingMessage, method: string) {
    this.status = message.statusCode ?? 0;
    this.headers = {
      get: (name) => message.headersDistinct[name.toLowerCase()]?.join(", ") ?? null,
    };
    if (method !== "HEAD" && !WITHOUT_BODY.has(this.status)) this.body = new Body(message);
    else {
      this.body = null;
      message.resume();
    }
  }

  get ok(): boolean {
    return this.status >= 200 && this.status <= 299;
  }

  async text(): Promise<string> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.body ?? []) chunks.push(chunk);
    return new TextDecoder().decode(Buffer.concat(chunks));
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

class Body implements AsyncIterable<Uint8Array> {
  readonly #message: IncomingMessage;

  constructor(message: IncomingMessage) {
    this.#message = message;
    // Whoever reads hears of it; who doesn't has no use for it.
    message.on("error", () => undefined);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#message[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  }

  async cancel(): Promise<void> {
    this.#message.destroy();
  }
}
