// What makes zone weights do less than they say.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";

/** With fewer, random choice among the endpoints of a zone is lumpy. */
const ENOUGH_ENDPOINTS = 3;

/** Zones with endpoints, but few; a text for each. */
export function fewEndpoints(endpoints: ReadonlyMap<string, number>): string[] {
  return [...endpoints]
    .filter(([, count]) => count > 0 && count < ENOUGH_ENDPOINTS)
    .map(
      ([zone, count]) =>
        `zone ${zone} has ${count} of at least ${ENOUGH_ENDPOINTS} endpoints: its shares are coarse`,
    );
}

/**
 * Ports whose protocol keeps a connection for many requests: it stays with the endpoint that it was made to,
 * whatever hints say later.
 */
export function longConnections({ spec }: KubernetesObject): string[] {
  return looseList<{ name: string; appProtocol: string; port: number }>(
    looseFields<{ ports: object[] }>(spec).ports,
  ).flatMap(({ name, appProtocol, port }) => {
    const isLong =
      /^(grpc|http2|h2c)(-|$)/.test(looseText(name)) ||
      /(^|\/)(grpc|http2|h2c|wss?)$/.test(looseText(appProtocol));
    return isLong
      ? [`port ${String(port)} (${looseText(appProtocol) || looseText(name)}) keeps its connections`]
      : [];
  });
}
