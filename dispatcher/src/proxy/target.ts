// Resolves a request to a Service and its terms, or to a refusal.
import { readAbsolute, readAuthority } from "../domain/authority.ts";
import { deadlineLeft, type DeadlineLeft } from "../domain/deadline-left.ts";
import { HOPS_HEADER, isGrpc, passedOn, passedOnTe, withHop, type HeaderValues } from "../domain/headers.ts";
import type { RefusalReason } from "../ports/ports.ts";
import type { ServicePort } from "../services/endpoint.ts";
import type { ServiceEntry, ServiceTable } from "../services/service-table.ts";
import type { Outbound } from "./attempt.ts";

export interface RequestHead {
  readonly method: string;
  readonly url: string;
  /** From the pseudo-header or Host; empty if absent. */
  readonly authority: string;
  readonly headers: HeaderValues;
  readonly hasBody: boolean;
  readonly wantsWebSocket: boolean;
}

export interface Target {
  readonly entry: ServiceEntry;
  readonly port: ServicePort;
  readonly speaksHttp2: boolean;
  /** HTTP/2 was inferred from the content type, so failures may be the client's fault. */
  readonly isGuessed: boolean;
  readonly deadline: DeadlineLeft;
  readonly outbound: Outbound;
}

export interface Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;
}

export function noEndpoints({ refused }: ServiceEntry): Refusal {
  const counts = Object.entries(refused).map(([reason, count]) => `${reason} ${count}`);
  const others = counts.length === 0 ? "" : `, got endpoints that are not its pods: ${counts.join(", ")}`;
  return { reason: "no_endpoints", detail: `the Service must have a ready endpoint${others}` };
}

export function targetOf(head: RequestHead, table: ServiceTable): Target | Refusal {
  const { method, headers: received, hasBody, wantsWebSocket } = head;
  if (method === "CONNECT")
    return { reason: "method", detail: "CONNECT must not be used: the dispatcher chooses for each request" };
  const absolute = head.url.startsWith("/") || head.url === "*" ? null : readAbsolute(head.url);
  const { path, authority } = absolute ?? { path: head.url, authority: head.authority };
  if (!path.startsWith("/") && path !== "*")
    return { reason: "bad_request", detail: "the target must be a path or an http address" };
  const found = serviceOf(authority, table);
  if ("reason" in found) return found;
  const { entry, port } = found;
  if (port.speaks === "tls")
    return { reason: "tls", detail: "the port speaks TLS, which the dispatcher doesn't: appProtocol" };
  if (wantsWebSocket && port.speaks === "http2")
    return { reason: "upgrade", detail: "a WebSocket needs a port that speaks HTTP/1.1: appProtocol" };
  const hops = withHop(received[HOPS_HEADER], entry.name);
  if (hops === null)
    return {
      reason: "loop",
      detail: `the request has been here already: ${HOPS_HEADER} has ${entry.name}`,
    };
  // The server has already answered `Expect`.
  const { expect: _expect, ...headers } = passedOn(received);
  return {
    entry,
    port,
    speaksHttp2: port.speaks === "http2" || isGrpc(received),
    isGuessed: port.speaks !== "http2" && isGrpc(received),
    deadline: deadlineLeft(received, entry.order.deadlineMs),
    outbound: {
      method,
      path,
      authority,
      headers: { ...headers, ...passedOnTe(received), [HOPS_HEADER]: hops },
      hasBody,
      wantsWebSocket,
    },
  };
}

function serviceOf(
  authority: string,
  table: ServiceTable,
): { readonly entry: ServiceEntry; readonly port: ServicePort } | Refusal {
  const reason = "unknown_service";
  const named = readAuthority(authority);
  if (named === null) return { reason, detail: "the host must be service.namespace, with a port if need be" };
  const entry = table.get(named.service);
  if (entry === null && !table.isSynced)
    return { reason: "starting", detail: "Services have not been listed yet" };
  if (entry === null)
    return { reason, detail: `${named.service} must be a Service with isochrone.dev/dispatch=dispatcher` };
  const port = portOf(entry, named.port);
  return port === null
    ? { reason, detail: `${named.service} must have the port ${named.port ?? 80}` }
    : { entry, port };
}

function portOf({ ports }: ServiceEntry, number: number | null): ServicePort | null {
  if (number !== null) return ports.get(number) ?? null;
  const [only, ...others] = ports.values();
  return ports.get(80) ?? (others.length === 0 ? (only ?? null) : null);
}
