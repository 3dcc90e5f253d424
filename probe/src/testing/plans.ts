import type { PlanAnswer, PlanSource, ProbePeer, ProbePlan } from "../ports/ports.ts";

export function planFor(
  node: string,
  peers: readonly ProbePeer[],
  values: Partial<ProbePlan> = {},
): ProbePlan {
  const version = JSON.stringify(peers.map((peer) => [peer.node, peer.udpPort]));
  return {
    version: `v-${version.length}-${version.slice(0, 40)}`,
    node,
    identity: "127.0.0.1",
    zone: "z1",
    region: "r1",
    signingKeyId: null,
    peers,
    ...values,
  };
}

export class SettablePlanSource implements PlanSource {
  body: unknown;
  error: Error | null = null;
  asked = 0;

  constructor(body: unknown) {
    this.body = body;
  }

  async fetch(): Promise<PlanAnswer> {
    this.asked++;
    if (this.error !== null) throw this.error;
    return { kind: "plan", body: structuredClone(this.body), etag: null };
  }
}
