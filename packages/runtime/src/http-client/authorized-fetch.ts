import type { Clock } from "../clock.ts";
import type { FetchAnswer, FetchInit } from "./agent-fetch.ts";

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
  const { agentFetch, plainAgent } = await import("./agent-fetch.ts");
  const agent = plainAgent(IDLE_MS);
  return (url, init) => agentFetch(agent, url, init);
}

async function tlsFetch(options: AuthorizedFetchOptions): Promise<AgentFetch> {
  const [{ agentFetch }, { TlsAgent }] = await Promise.all([
    import("./agent-fetch.ts"),
    import("./tls-agent.ts"),
  ]);
  const tls = new TlsAgent({ ...options, idleMs: IDLE_MS });
  return async (url, init) => agentFetch(await tls.agent(), url, init);
}
