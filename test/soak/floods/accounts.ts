// Who is who at a flooded aggregator: as with the chart's defaults, everybody has a token, and what a token
// says is what counts.
import type { Principal, RequestGate } from "@isochrone/runtime/http";

/** Tokens are words here: what is tested comes after they are judged. */
export const READER_TOKEN = "reader";
/** Of a node that somebody has taken over: it may send telemetry of that node, and read as the others do. */
export const ATTACKER_TOKEN = "attacker";
export const ATTACKER_NODE = "evil";

export function probeToken(node: string): string {
  return `probe-${node}`;
}

export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** Lets in whoever has a token, as the node's account that it names. */
export function tokenGate(nodes: readonly string[]): RequestGate {
  const account = (user: string, node: string | null): Principal => ({ user, node, pod: null });
  const principals = new Map([
    [READER_TOKEN, account("people", null)],
    [ATTACKER_TOKEN, account("system:serviceaccount:tenant:probe", ATTACKER_NODE)],
    ...nodes.map(
      (node) => [probeToken(node), account("system:serviceaccount:isochrone:isochrone-probe", node)] as const,
    ),
  ]);
  return {
    check({ authorization = "" }) {
      const principal = principals.get(authorization.replace(/^Bearer /, ""));
      return principal === undefined
        ? { status: 401, code: "unauthenticated", detail: "a bearer token is needed" }
        : { principal };
    },
  };
}
