import type { Clock } from "../clock.ts";
import { tokenOf, WatchedFile } from "./credential-files.ts";
import type { FetchInit } from "./https-fetch.ts";

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
export type Fetch = (url: string, init?: FetchInit & { readonly redirect?: "error" }) => Promise<Response>;

/**
 * A `fetch` that sends the token, believes the authorities and shows the certificate of files. Rejects with
 * CredentialsError when one can't be used.
 */
export function authorizedFetch(options: AuthorizedFetchOptions): Fetch {
  const { tokenFile = null, caFile = null, ca = null, certFile = null, clock } = options;
  const token = tokenFile === null ? null : new WatchedFile(tokenFile, clock);
  const isTold = caFile !== null || ca !== null || certFile !== null;
  let tls: Promise<TlsFetch> | undefined;
  return async (url, init = {}) => {
    const headers = { ...init.headers };
    if (token !== null && headers["authorization"] === undefined)
      headers["authorization"] = `Bearer ${tokenOf(await token.content(), tokenFile!)}`;
    const response =
      isTold && url.startsWith("https:")
        ? await (
            await (tls ??= tlsFetch(options))
          )(url, { ...init, headers })
        : await fetch(url, { redirect: "error", ...init, headers });
    // Perhaps it has just been replaced.
    if (response.status === 401) token?.forget();
    return response;
  };
}

type TlsFetch = (url: string, init: FetchInit) => Promise<Response>;

/** Loaded at first use: a command that asks a server without TLS starts sooner. */
async function tlsFetch(options: AuthorizedFetchOptions): Promise<TlsFetch> {
  const [{ httpsFetch }, { TlsAgent }] = await Promise.all([
    import("./https-fetch.ts"),
    import("./tls-agent.ts"),
  ]);
  const tls = new TlsAgent(options);
  return async (url, init) => httpsFetch(await tls.agent(), url, init);
}
