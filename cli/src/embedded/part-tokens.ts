// Any web page on this machine can reach loopback ports, so parts must authenticate their reports.
import type { Bus } from "@isochrone/bus";
import type { Fetch } from "@isochrone/runtime";
import type { GateAnswer, GateRequest, Principal, RequestGate } from "@isochrone/runtime/http";
import { HEADERS } from "@isochrone/telemetry";
import { hash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;
const BEARER = /^Bearer +([\x21-\x7e]{1,200})$/i;
/** Routes reserved to parts; any local user may read graphs. */
const OF_PARTS: ReadonlySet<string> = new Set([
  "/v1/flow-plan",
  "/v1/metrics",
  "/v1/probe-plan",
  "/api/v1/bandwidth-leases",
  "/api/v1/bandwidth-leases/*",
]);

interface Part {
  readonly fetch: Fetch;
  readonly bus: Bus;
}

/** One token per part, created at the start, kept in memory and never shown. */
export class PartTokens {
  readonly #principals = new Map<string, Principal>();

  readonly gate: RequestGate = { check: (request) => this.#check(request) };

  partOf(name: string, node: string, bus: Bus): Part {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    this.#principals.set(idOf(token), { user: `${name}/${node}`, node, pod: null });
    return { fetch: fetchWith(token), bus: busOf(node, bus) };
  }

  #check({ path, authorization }: GateRequest): GateAnswer {
    if (path === null || !OF_PARTS.has(path)) return null;
    const token = BEARER.exec(authorization ?? "")?.[1];
    const principal = token === undefined ? undefined : this.#principals.get(idOf(token));
    if (principal !== undefined) return { principal };
    return {
      status: 401,
      code: "unauthenticated",
      detail: "only parts of this cluster may ask for that, each by a token of its own",
      headers: { "www-authenticate": 'Bearer realm="isochrone"' },
    };
  }
}

/** Looks tokens up by hash, so that timing reveals nothing. */
function idOf(token: string): string {
  return hash("sha256", token, "base64url");
}

function fetchWith(token: string): Fetch {
  return (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(url, { ...init, headers });
  };
}

/** The bus is in-process, so the header is as trustworthy as a token. */
function busOf(node: string, bus: Bus): Bus {
  const speaker = { [HEADERS.speaker]: `node/${node}` };
  return {
    publish: (topic, records, options) =>
      bus.publish(
        topic,
        records.map((record) => ({ ...record, headers: { ...record.headers, ...speaker } })),
        options,
      ),
    partitionCount: (topic) => bus.partitionCount(topic),
    subscribe: (options) => bus.subscribe(options),
    close: () => bus.close(),
  };
}
