// Every client has a token, which determines its rights, as with the chart's defaults.
import type { Principal, RequestGate } from "@isochrone/runtime/http";

/** Tokens are plain words, because the test starts after authentication. */
export const READER_TOKEN = "reader";
/** Token of a compromised node: may send that node's telemetry and read. */
export const ATTACKER_TOKEN = "attacker";
export const ATTACKER_NODE = "evil";

export function probeToken(node: string): string {
  return `probe-${node}`;
}

export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** Accepts every token as the account of the node it names. */
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
