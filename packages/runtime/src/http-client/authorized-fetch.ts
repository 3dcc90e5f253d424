// The used subset of `fetch` on Node's own client: the platform's uses undici, which takes 5 MB.
import type { Agent, IncomingMessage, request as nodeRequest } from "node:http";
import type { Clock } from "../clock.ts";

interface AuthorizedFetchOptions {
  readonly tokenFile?: string | null;
  readonly caFile?: string | null;
  /** Trusted authorities (PEM) instead of a caFile, called for each request. @default none */
  readonly ca?: (() => string) | null;
  /** Name required in the server's certificate; only with authorities. @default the address's host */
  readonly serverName?: string | null;
  readonly certFile?: string | null;
  readonly keyFile?: string | null;
  /** Called with the expiry of a newly used certificate, Unix seconds. @default none */
  readonly onCertificate?: (notAfterSeconds: number) => void;
  readonly clock: Clock;
}

interface FetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

export interface FetchAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  /** Null if there can be none. Leaving a loop over it cancels the rest. */
  readonly body: (AsyncIterable<Uint8Array> & { cancel(): Promise<void> }) | null;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

export type Fetch = (url: string, init?: FetchInit & { readonly redirect?: "error" }) => Promise<FetchAnswer>;

/** Idle timeout, shorter than our servers'. Milliseconds. */
const IDLE_MS = 30_000;

/** `fetch` with credentials from files. Rejects with CredentialsError if one is unusable. */
export function authorizedFetch(options: AuthorizedFetchOptions): Fetch {
  const { tokenFile = null, clock } = options;
  let token: Promise<TokenFile> | null = null;
  let plain: Promise<AgentFetch> | undefined;
  let tls: Promise<AgentFetch> | undefined;
  return async (url, init = {}) => {
    const headers = { ...init.headers };
    if (tokenFile !== null && headers.authorization === undefined) {
      token ??= openTokenFile(tokenFile, clock);
      headers.authorization = `Bearer ${await (await token).read()}`;
    }
    const send = url.startsWith("https:") ? (tls ??= tlsFetch(options)) : (plain ??= plainFetch());
    const response = await (await send)(url, { ...init, headers });
    if (response.status === 401) (await token)?.forget();
    return response;
  };
}

type AgentFetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;

interface TokenFile {
  read(): Promise<string>;
  forget(): void;
}

// Loaded at first use, so that commands start faster.

async function openTokenFile(path: string, clock: Clock): Promise<TokenFile> {
  const { tokenOf, WatchedFile } = await import("./credential-files.ts");
  const file = new WatchedFile(path, clock);
  return { read: async () => tokenOf(await file.content(), path), forget: () => file.forget() };
}

async function plainFetch(): Promise<AgentFetch> {
  const http = await import("node:http");
  const agent = new http.Agent({ keepAlive: true, timeout: IDLE_MS });
  return (url, init) => agentFetch(http, agent, url, init);
}

async function tlsFetch(options: AuthorizedFetchOptions): Promise<AgentFetch> {
  const [http, { TlsAgent }] = await Promise.all([import("node:http"), import("./tls-agent.ts")]);
  const tls = new TlsAgent({ ...options, idleMs: IDLE_MS });
  return async (url, init) => agentFetch(http, await tls.agent(), url, init);
}

const WITHOUT_BODY = new Set([204, 205, 304]);

/** `fetch` over an agent, without following redirects. */
function agentFetch(
  { request: httpRequest }: { readonly request: typeof nodeRequest },
  agent: Agent,
  url: string,
  init: FetchInit,
): Promise<FetchAnswer> {
  const { method = "GET", headers = {}, body, signal } = init;
  return new Promise((resolve, reject) => {
    const failed = (cause: unknown): void => reject(new TypeError("fetch failed", { cause }));
    const options = { method, headers, agent, ...(signal === undefined ? {} : { signal }) };
    try {
      const request = httpRequest(url, options, (message) => resolve(new Answer(message, method)));
      request.on("error", failed);
      request.end(body);
    } catch (error) {
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
    // A reader gets the error too; without one it doesn't matter.
    message.on("error", () => undefined);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#message[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  }

  async cancel(): Promise<void> {
    this.#message.destroy();
  }
}
