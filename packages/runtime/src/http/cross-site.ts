// Protects against requests of web pages through the browser of a user with access, often the only protection
// on loopback. With DNS rebinding a foreign page counts as same-origin; its Host header reveals it.
import type { FastifyInstance } from "fastify";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { list } from "../settings/texts.ts";
import { isLoopback } from "./addresses.ts";
import type { HttpMetrics } from "./http-metrics.ts";
import { problem, sendProblem, type Problem } from "./problem.ts";
import { socketOf } from "./request-socket.ts";

export interface AllowedHosts {
  /** `name`, with any port, or `name:port`. */
  readonly hosts: readonly string[];
  readonly setting: string;
}

const HOST_PATTERN = /(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?/;

export const ALLOWED_HOSTS_SETTING = list({
  default: [],
  maxItems: 100,
  pattern: HOST_PATTERN,
  patternRule: "must hold only host names or addresses, each with or without a port",
  description:
    "Further names, or name:port, by which browsers may reach this server, such as those of a proxy in front of it. On a loopback address requests by other names than localhost or a loopback address are refused; on any address, requests of foreign web pages that would change something.",
});

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const MAX_CHARACTERS = 300;

export const NO_HOSTS: AllowedHosts = {
  hosts: [],
  setting: "a setting of allowed hosts, which this server has none of",
};

interface Asked {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

interface Place {
  readonly isLoopbackOnly: boolean;
  readonly port: number;
}

/** Refuses foreign host names and pages before anything else. */
export function installCrossSiteGuard(
  app: FastifyInstance,
  allowed: AllowedHosts,
  metrics: Pick<HttpMetrics, "refused">,
): void {
  const guard = new CrossSiteGuard(allowed);
  app.addHook("onRequest", (request, reply, done) => {
    void reply.header("x-content-type-options", "nosniff");
    // A request that is made inside of this process comes over no socket.
    if (socketOf(request.raw) === null) return done();
    const refusal = guard.check(request, () => placeOf(app.server.address()));
    if (refusal === null) return done();
    metrics.refused(refusal.code === "foreign_host" ? "foreign_host" : "foreign_origin");
    return void sendProblem(reply, refusal);
  });
}

export function placeOf(address: AddressInfo | string | null): Place | null {
  return address === null || typeof address === "string"
    ? null
    : { isLoopbackOnly: isLoopback(address.address), port: address.port };
}

export class CrossSiteGuard {
  readonly #names: ReadonlySet<string>;
  readonly #setting: string;
  #place: Place | null = null;
  #lastOurs: string | null = null;

  constructor({ hosts, setting }: AllowedHosts) {
    this.#names = new Set(hosts.map((host) => host.toLowerCase()));
    this.#setting = setting;
  }

  check(request: Asked, where: () => Place | null): Problem | null {
    const place = (this.#place ??= where());
    const onLoopback = place?.isLoopbackOnly === true;
    if (!onLoopback && SAFE_METHODS.has(request.method)) return null;
    const host = request.headers.host?.toLowerCase();
    if (onLoopback && host !== this.#lastOurs) {
      if (!this.#isOurs(host, place.port)) return this.#foreignHost(host, place.port);
      this.#lastOurs = host;
    }
    return this.#isFromHere(request, host) ? null : this.#foreignOrigin(request);
  }

  #isOurs(host: string | undefined, port: number): host is string {
    if (host === undefined || host.length > MAX_CHARACTERS) return false;
    const split = splitHost(host);
    if (split === null) return false;
    const isPort = split.port === undefined ? port === 80 || port === 443 : Number(split.port) === port;
    if (isLoopback(split.name) && isPort) return true;
    return this.#isNamed(host, split.name);
  }

  #isNamed(host: string, name: string): boolean {
    return this.#names.has(host) || this.#names.has(name) || this.#names.has(`[${name}]`);
  }

  /** Uses the browser's Sec-Fetch-* headers, else Origin; programs send neither. */
  #isFromHere({ headers, method }: Asked, host: string | undefined): boolean {
    const site = headers["sec-fetch-site"];
    // On navigation the linking page learns nothing of the content.
    const isVisit = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
    if (site === "same-origin" || site === "none") return true;
    if (isVisit && SAFE_METHODS.has(method)) return true;
    const { origin } = headers;
    if (origin === undefined) return site === undefined;
    const url = origin.length <= MAX_CHARACTERS && URL.canParse(origin) ? new URL(origin) : null;
    if (url === null || url.host === "") return false;
    return (site === undefined && url.host === host) || this.#isNamed(url.host, url.hostname);
  }

  #foreignHost(host: string | undefined, port: number): Problem {
    const got = host === undefined ? "none" : JSON.stringify(host.slice(0, 100));
    return problem(403, {
      code: "foreign_host",
      detail: `Host must be localhost or a loopback address with port ${port}, as this server listens on a loopback address, got ${got}; ${this.#remedy}`,
    });
  }

  #foreignOrigin({ headers }: Asked): Problem {
    const got = headers.origin ?? `Sec-Fetch-Site ${String(headers["sec-fetch-site"])}`;
    return problem(403, {
      code: "foreign_origin",
      detail: `requests of web pages must come from this server's own pages, got ${JSON.stringify(got.slice(0, 100))}; ${this.#remedy}`,
    });
  }

  get #remedy(): string {
    return `allow a name with ${this.#setting}`;
  }
}

function splitHost(host: string): { readonly name: string; readonly port: string | undefined } | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:\s[\]]+))(?::(\d{1,5}))?$/.exec(host);
  const name = match?.[1] ?? match?.[2];
  return name === undefined ? null : { name, port: match?.[3] };
}
