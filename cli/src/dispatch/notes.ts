// Reasons for zone weights to have less effect than stated.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";

/** With fewer endpoints per zone, random choice is uneven. */
const ENOUGH_ENDPOINTS = 3;

export function fewEndpoints(endpoints: ReadonlyMap<string, number>): string[] {
  return [...endpoints]
    .filter(([, count]) => count > 0 && count < ENOUGH_ENDPOINTS)
    .map(
      ([zone, count]) =>
        `zone ${zone} has ${count} of at least ${ENOUGH_ENDPOINTS} endpoints: its shares are coarse`,
    );
}

/** Ports whose protocol reuses connections: requests stay with an endpoint whatever hints change. */
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
