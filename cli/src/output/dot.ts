import { visible } from "@isochrone/runtime/basics";
import type { ClusterGraphSnapshot, Link, WorkflowGraphSnapshot } from "@isochrone/topology";

/** Without a cluster graph only workflows are drawn. */
export function graphDot(
  cluster: ClusterGraphSnapshot | null,
  workflows: readonly WorkflowGraphSnapshot[],
): string {
  const lines = [
    "digraph isochrone {",
    "  rankdir=LR;",
    '  node [fontname="sans-serif", fontsize=10];',
    '  edge [fontname="sans-serif", fontsize=8];',
    ...(cluster === null ? [] : clusterLines(cluster)),
    ...workflows.flatMap((workflow) => workflowLines(workflow, cluster !== null)),
    "}",
  ];
  return lines.join("\n");
}

function clusterLines({ nodes, links }: ClusterGraphSnapshot): string[] {
  const zones = Map.groupBy(nodes, ({ zone }) => zone);
  const boxes = [...zones].flatMap(([zone, members]) => [
    `  subgraph ${quoted(`cluster zone ${zone ?? ""}`)} {`,
    `    label=${quoted(zone ?? "no zone")}; style=rounded; color=gray;`,
    ...members.map(
      ({ name, ready }) =>
        `    ${nodeId(name)} [label=${quoted(name)}, shape=box, style=filled, fillcolor=${ready ? "lightblue" : "lightgray"}];`,
    ),
    "  }",
  ]);
  return [...boxes, ...pairsOf(links).map(pairLine)];
}

/** One edge per pair by the cheaper method: separate directions are unreadable. */
function pairsOf(links: readonly Link[]): Link[] {
  const best = new Map<string, Link>();
  for (const link of links) {
    const key = JSON.stringify([link.source, link.target].sort());
    const known = best.get(key);
    if (known === undefined || (known.costMs === null && link.costMs !== null)) best.set(key, link);
  }
  return [...best.values()];
}

function pairLine({ source, target, costMs, lossRatio, origin }: Link): string {
  const lost = lossRatio === 1;
  const label = lost ? "lost" : costMs === null ? "?" : `${costMs.toFixed(1)} ms`;
  const style = origin === "measured" ? "solid" : "dashed";
  return `  ${nodeId(source)} -> ${nodeId(target)} [dir=none, constraint=false, color=${lost ? "red" : "gray"}, style=${style}, label=${quoted(label)}];`;
}

function workflowLines(
  { namespace, name, workloads, channels }: WorkflowGraphSnapshot,
  hasNodes: boolean,
): string[] {
  const id = (workload: string): string => quoted(`workload ${namespace}/${name}/${workload}`);
  const placements = workloads.flatMap((workload) =>
    [...new Set(workload.pods.map(({ node }) => node))]
      .filter((node) => node !== null)
      .map((node) => `  ${id(workload.name)} -> ${nodeId(node)} [style=dotted, arrowhead=none, color=gray];`),
  );
  return [
    `  subgraph ${quoted(`cluster workflow ${namespace}/${name}`)} {`,
    `    label=${quoted(`workflow ${namespace}/${name}`)}; color=orange;`,
    ...workloads.map(
      (workload) => `    ${id(workload.name)} [label=${quoted(workload.name)}, shape=ellipse];`,
    ),
    "  }",
    ...channels.map(
      ({ source, target, bytesPerSecond }) =>
        `  ${id(source)} -> ${id(target)} [label=${quoted(bytesPerSecond === null ? "?" : rateText(bytesPerSecond))}, color=orange];`,
    ),
    ...(hasNodes ? placements : []),
  ];
}

function rateText(bytesPerSecond: number): string {
  return bytesPerSecond < 10_000
    ? `${Math.round(bytesPerSecond)} B/s`
    : `${(bytesPerSecond / 1000).toFixed(0)} kB/s`;
}

const nodeId = (name: string): string => quoted(`node ${name}`);

function quoted(text: string): string {
  return `"${visible(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
