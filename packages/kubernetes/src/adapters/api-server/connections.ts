import { createHash } from "node:crypto";
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

import { currentFence } from "../../leases/write-fence.ts";
import type { Login } from "./credentials.ts";

/** Below the API server's limit (90 s), so that no request meets a connection being closed. */
const IDLE_CONNECTION_MS = 30_000;
const KEEP_ALIVE_DELAY_MS = 30_000;

interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string;
  /** True for a long-lived request, which gets its own connection. */
  readonly isStream?: boolean;
  readonly signal: AbortSignal;
}

/** Keep-alive connections to one API server, replaced when TLS material changes. */
export class Connections {
  readonly #maxSockets: number;
  #agent: HttpAgent | null = null;
  #material = "";
  /** The login that the agent was last checked for: credentials return the same object until they change. */
  #login: Login | null = null;

  /** @param maxConnections concurrent requests; others queue. Streams don't count */
  constructor(maxConnections: number) {
    this.#maxSockets = maxConnections;
  }

  async send(login: Login, request: WireRequest): Promise<IncomingMessage> {
    const { method, signal, isStream = false } = request;
    const { protocol, hostname, port, pathname } = login.server;
    const isTls = protocol === "https:";
    const options: RequestOptions = {
      method,
      hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
      ...(port === "" ? {} : { port }),
      path: `${pathname.replace(/\/$/, "")}${request.path}`,
      headers: { ...request.headers, ...login.headers },
      agent: login.agent ?? (isStream ? false : this.#agentFor(login)),
      signal,
      ...(isStream ? login.tls : {}),
    };
    return await new Promise((resolve, reject) => {
      const sent = (isTls ? httpsRequest : httpRequest)(options, resolve);
      sent.on("error", reject);
      sent.on("socket", (socket) => socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS));
      const fence = currentFence();
      if (fence === null) sent.end(request.body);
      else sent.once("socket", (socket) => onceConnected(socket, () => endBehind(fence, sent, request.body)));
    });
  }

  close(): void {
    this.#agent?.destroy();
    this.#agent = null;
  }

  #agentFor(login: Login): HttpAgent {
    if (this.#agent && login === this.#login) return this.#agent;
    const material = materialOf(login);
    this.#login = login;
    if (this.#agent && material === this.#material) return this.#agent;
    // Running requests on the old agent finish; its idle connections time out.
    const options = {
      keepAlive: true,
      keepAliveMsecs: KEEP_ALIVE_DELAY_MS,
      maxSockets: this.#maxSockets,
      timeout: IDLE_CONNECTION_MS,
    };
    this.#agent =
      login.server.protocol === "https:"
        ? new HttpsAgent({ ...options, ...login.tls })
        : new HttpAgent(options);
    this.#material = material;
    return this.#agent;
  }
}

/** Waits for the connection, so that the fence is checked in the same turn in which the bytes leave. */
function onceConnected(socket: Socket, act: () => void): void {
  const isTls = socket instanceof TLSSocket;
  const isReady = !socket.connecting && !(isTls && Reflect.get(socket, "secureConnecting") === true);
  if (isReady) act();
  else socket.once(isTls ? "secureConnect" : "connect", act);
}

function endBehind(fence: () => void, sent: ClientRequest, body: string | undefined): void {
  try {
    fence();
    sent.end(body);
  } catch (error) {
    sent.destroy(error as Error);
  }
}

function materialOf({ server, tls }: Login): string {
  const hash = createHash("sha256");
  for (const part of [server.origin, tls.ca, tls.cert, tls.key, tls.servername, tls.rejectUnauthorized]) {
    hash.update(part === undefined ? "-" : typeof part === "boolean" ? String(part) : part).update("\0");
  }
  return hash.digest("base64");
}
