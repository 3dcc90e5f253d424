import type { LabCluster } from "@isochrone/lab";

const SUM = /^istio_(?:request|response)_bytes_sum\{(.*)\} (\S+)$/;

export interface PairBytes {
  /** Keyed by "zone zone" of caller and callee. */
  readonly bytes: ReadonlyMap<string, number>;
  /** Requests received from users, cumulative. */
  readonly requests: number;
}

/** Cumulative over existing pods. */
export async function pairBytes(
  cluster: Pick<LabCluster, "pods" | "receiverCounts">,
  zoneOf: (node: string | null) => string,
): Promise<PairBytes> {
  const pods = cluster.pods().filter(({ deleting, ready }) => ready && !deleting);
  const zonesOf = (workload: string): string[] => [
    ...new Set(pods.filter((pod) => pod.workload === workload).map(({ node }) => zoneOf(node))),
  ];
  const bytes = new Map<string, number>();
  for (const { node, metricsUrl } of pods) {
    const zone = zoneOf(node);
    const page = await (await fetch(metricsUrl!)).text();
    for (const line of page.split("\n")) {
      const [, labels, value] = SUM.exec(line) ?? [];
      if (labels === undefined) continue;
      const { reporter, source_workload: source, destination_workload: target } = labelsOf(labels);
      const [callers, callees] = [zonesOf(source!), zonesOf(target!)];
      const isSaid = reporter === "destination" ? callers.length === 1 : callers.length > 1;
      if (!isSaid || (reporter === "source" && callees.length > 1)) continue;
      const pair = reporter === "destination" ? `${callers[0]!} ${zone}` : `${zone} ${callees[0]!}`;
      bytes.set(pair, (bytes.get(pair) ?? 0) + Number(value));
    }
  }
  const counts = await cluster.receiverCounts();
  const requests = counts
    .filter(({ source }) => source === "unknown")
    .reduce((sum, { count }) => sum + count, 0);
  return { bytes, requests };
}

function labelsOf(text: string): Partial<Record<string, string>> {
  return Object.fromEntries(
    Array.from(text.matchAll(/(\w+)="([^"]*)"/g), ([, name, value]) => [name, value]),
  );
}
