// The part of `fetch` that our clients use, on Node's own client: undici, which is behind the platform's
// `fetch`, takes five megabytes.
import type { Agent, IncomingMessage, request as nodeRequest } from "node:http";
import type { Clock } from "../clock.ts";

/** How a service of ours is spoken to. */
interface AuthorizedFetchOptions {
  /** File with the bearer token; read again as it is replaced. @default none is sent */
  readonly tokenFile?: string | null;
  /**
   * PEM file of the authorities whose certificates are believed; read again as it changes.
   * @default the system's
   */
  readonly caFile?: string | null;
  /** The authorities themselves (PEM), asked for at each request, in the place of a caFile. @default none */
  readonly ca?: (() => string) | null;
  /** Name that the server's certificate must carry. @default the address's host; only with authorities */
  readonly serverName?: string | null;
  /**
   * PEM file of the certificate to show to a server that wants one; read again as it changes.
   * @default none is shown
   */
  readonly certFile?: string | null;
  /** PEM file of that certificate's key. */
  readonly keyFile?: string | null;
  /** Told when the certificate that is shown from now on ends, seconds since the epoch. @default nobody */
  readonly onCertificate?: (notAfterSeconds: number) => void;
  readonly clock: Clock;
}

/** What of `fetch` our clients use. */
interface FetchInit {
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

/** What of the platform's `fetch` our clients use; they take either. */
export type Fetch = (url: string, init?: FetchInit & { readonly redirect?: "error" }) => Promise<FetchAnswer>;

/** Idle connections are closed after this long; our servers keep them longer. Milliseconds. */
const IDLE_MS = 30_000;

/**
 * A `fetch` that sends the token, believes the authorities and shows the certificate of files. Rejects with
 * CredentialsError when one can't be used.
 */
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
    // Perhaps it has just been replaced.
    if (response.status === 401) (await token)?.forget();
    return response;
  };
}

type AgentFetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;

interface TokenFile {
  read(): Promise<string>;
  forget(): void;
}

// What they are of is loaded at first use: a command that asks nobody starts sooner.

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

/**
 * `fetch` over an agent, which says how it connects. Redirects aren't followed: they are answers like others.
 */
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
