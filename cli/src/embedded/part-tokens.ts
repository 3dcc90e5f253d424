// Whoever opens a page on this machine reaches its loopback ports: what parts say of themselves must not be
// said by others.
import type { Bus } from "@isochrone/bus";
import type { Fetch } from "@isochrone/runtime";
import type { GateAnswer, GateRequest, Principal, RequestGate } from "@isochrone/runtime/http";
import { HEADERS } from "@isochrone/telemetry";
import { hash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;
const BEARER = /^Bearer +([\x21-\x7e]{1,200})$/i;
/** What only a part may ask of the aggregator; reading the graphs is everybody's on this machine. */
const OF_PARTS: ReadonlySet<string> = new Set([
  "/v1/flow-plan",
  "/v1/metrics",
  "/v1/probe-plan",
  "/api/v1/bandwidth-leases",
  "/api/v1/bandwidth-leases/*",
]);

/** A part of the embedded cluster that reports of one node. */
interface Part {
  /** Asks as this part. */
  readonly fetch: Fetch;
  /** Publishes as this part. */
  readonly bus: Bus;
}

/** A token for each part, made at the start, held in memory alone and never shown. */
export class PartTokens {
  readonly #principals = new Map<string, Principal>();

  /** Lets parts in by their tokens, and everybody to what is not of parts. */
  readonly gate: RequestGate = { check: (request) => this.#check(request) };

  /** @param name what the part is, such as probe */
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

/** Looked up by its hash: how long that takes says nothing of the tokens that there are. */
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

/** The bus is in this process: nobody else writes to it, and the header is as good as a token. */
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
