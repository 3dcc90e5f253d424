import type { LinkOrder } from "../compare.ts";
import type { ClusterGraphSnapshot, GraphEvent, Link, WorkflowGraphSnapshot } from "@isochrone/topology";

export interface Graphs {
  readonly cluster: ClusterGraphSnapshot;
  readonly workflows: readonly WorkflowGraphSnapshot[];
}

/**
 * Lists what changed for a consumer of the previous version. Ages, headroom and external traffic do not count
 * as changes. `order` is the link order of both graphs.
 */
export function diffGraphs(before: Graphs | null, after: Graphs, order: LinkOrder): GraphEvent {
  return {
    version: after.cluster.version,
    observedAt: after.cluster.observedAt,
    changed: {
      nodes: changedNames(before?.cluster.nodes ?? [], after.cluster.nodes, (node) => node.name, {
        usageAgeSeconds: 0,
      }),
      links: changedLinks(before?.cluster.links ?? [], after.cluster.links, order),
      workflows: changedWorkflows(before?.workflows ?? [], after.workflows),
    },
  };
}

function changedNames<T extends object>(
  before: readonly T[],
  after: readonly T[],
  name: (item: T) => string,
  without: object,
): string[] {
  const known = new Map(before.map((item) => [name(item), JSON.stringify({ ...item, ...without })]));
  const changed: string[] = [];
  for (const item of after) {
    if (known.get(name(item)) !== JSON.stringify({ ...item, ...without })) changed.push(name(item));
    known.delete(name(item));
  }
  return [...changed, ...known.keys()];
}

type LinkChange = GraphEvent["changed"]["links"][number];

function changedLinks(before: readonly Link[], after: readonly Link[], order: LinkOrder): LinkChange[] {
  const changed: LinkChange[] = [];
  let old = 0;
  for (const link of after) {
    while (old < before.length && order(before[old]!, link) < 0) changed.push(gone(before[old++]!));
    const previous = old < before.length && order(before[old]!, link) === 0 ? before[old++]! : null;
    const { source, target, costMs, lossRatio } = link;
    if (previous === null || hasChanged(previous, link)) {
      changed.push({ source, target, costMs, lossRatio });
    }
  }
  return [...changed, ...before.slice(old).map(gone)];
}

function hasChanged(previous: Link, link: Link): boolean {
  const { capacity, achieved } = link.bandwidthBitsPerSecond;
  return (
    previous.costMs !== link.costMs ||
    previous.lossRatio !== link.lossRatio ||
    previous.bandwidthBitsPerSecond.capacity !== capacity ||
    previous.bandwidthBitsPerSecond.achieved !== achieved
  );
}

function gone({ source, target }: Link): LinkChange {
  return { source, target, costMs: null, lossRatio: null };
}

/** Cache, because each graph is compared twice: as the newer and as the older one. */
const comparableTexts = new WeakMap<WorkflowGraphSnapshot, string>();

function comparable(graph: WorkflowGraphSnapshot): string {
  let text = comparableTexts.get(graph);
  if (text === undefined) {
    text = JSON.stringify([
      graph.workloads,
      graph.channels.map((channel) => ({ ...channel, ageSeconds: 0 })),
    ]);
    comparableTexts.set(graph, text);
  }
  return text;
}

function changedWorkflows(
  before: readonly WorkflowGraphSnapshot[],
  after: readonly WorkflowGraphSnapshot[],
): GraphEvent["changed"]["workflows"] {
  const key = (graph: WorkflowGraphSnapshot): string => `${graph.namespace}/${graph.name}`;
  const known = new Map(before.map((graph) => [key(graph), graph]));
  const changed: WorkflowGraphSnapshot[] = [];
  for (const graph of after) {
    const previous = known.get(key(graph));
    if (previous === undefined || comparable(previous) !== comparable(graph)) changed.push(graph);
    // The graph may be retained for an hour; free its text, which is as large.
    if (previous !== undefined && previous !== graph) comparableTexts.delete(previous);
    known.delete(key(graph));
  }
  return [...changed, ...known.values()].map(({ namespace, name }) => ({ namespace, name }));
}
