import { Graph, layout } from "@dagrejs/dagre";
import type { Channel, WorkflowGraphSnapshot } from "@isochrone/topology";

export const BOX = { width: 168, height: 58 } as const;
export const LABEL = { width: 52, height: 18 } as const;

interface PlacedBox {
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

export interface PlacedLine {
  readonly channel: Channel;
  readonly path: string;
  readonly label: Point;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly PlacedBox[];
  readonly lines: readonly PlacedLine[];
}

/** Callers left of or above callees. Omits channels of a workload to itself or to an unlisted one. */
export function layoutOf(
  { workloads, channels }: Pick<WorkflowGraphSnapshot, "workloads" | "channels">,
  direction: "LR" | "TB",
): Drawing {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({
    rankdir: direction,
    nodesep: 18,
    ranksep: direction === "LR" ? 30 : 40,
    marginx: 12,
    marginy: 12,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  // Numeric ids: the library uses ids as keys of plain objects, where a workload named __proto__ does harm.
  const ids = new Map(workloads.map(({ name }, index) => [name, `n${index}`]));
  for (const id of ids.values()) graph.setNode(id, { width: BOX.width, height: BOX.height });
  const drawn = channels.filter(
    ({ source, target }) => source !== target && ids.has(source) && ids.has(target),
  );
  const ends = drawn.map(({ source, target }) => [ids.get(source)!, ids.get(target)!] as const);
  for (const [index, [from, to]] of ends.entries())
    graph.setEdge(from, to, { ...LABEL, labelpos: "c" }, `e${index}`);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { readonly width?: number; readonly height?: number };
  return {
    width: Number.isFinite(width) ? width : 0,
    height: Number.isFinite(height) ? height : 0,
    boxes: workloads.map(({ name }) => {
      const { x, y } = graph.node(ids.get(name)!) as Point;
      return { name, x, y };
    }),
    lines: drawn.map((channel, index) => {
      const { points, x, y } = graph.edge(...ends[index]!, `e${index}`) as Point & {
        readonly points: readonly Point[];
      };
      return { channel, path: curveOf(points, direction), label: { x, y } };
    }),
  };
}

function curveOf(points: readonly Point[], direction: "LR" | "TB"): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M ${round(first.x)} ${round(first.y)}`;
  let from = first;
  for (const to of rest) {
    const [a, b] =
      direction === "LR"
        ? [
            { x: (from.x + to.x) / 2, y: from.y },
            { x: (from.x + to.x) / 2, y: to.y },
          ]
        : [
            { x: from.x, y: (from.y + to.y) / 2 },
            { x: to.x, y: (from.y + to.y) / 2 },
          ];
    path += ` C ${round(a.x)} ${round(a.y)}, ${round(b.x)} ${round(b.y)}, ${round(to.x)} ${round(to.y)}`;
    from = to;
  }
  return path;
}

const round = (value: number): number => Math.round(value * 10) / 10;
