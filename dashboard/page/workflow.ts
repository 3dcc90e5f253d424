import type { Channel, ClusterGraphSnapshot, WorkflowGraphSnapshot, Workload } from "@isochrone/topology";
import { bytes, element, figure, show, svg, table } from "./dom.ts";
import { shorten, shortNames } from "./names.ts";
import { zoneColours } from "./scale.ts";

const BOX = { width: 140, height: 40, gapX: 22, gapY: 54 };
/** What fits into a box, in the widest of the usual fonts. */
const MAX_CHARACTERS = 15;
/** Narrower than this a wide graph can't be read; it scrolls instead. */
const LEAST_WIDTH = 540;

/** Draws the DAG in layers, callers above callees, a box per workload in its zone's colour, edges as wide as their traffic. */
export function drawWorkflow(workflow: WorkflowGraphSnapshot, cluster: ClusterGraphSnapshot): void {
  if (workflow.workloads.length === 0)
    return show("workflow", element("p", { class: "empty" }, "This workflow has no workloads."));
  const zoneOf = new Map(cluster.nodes.map(({ name, zone }) => [name, zone]));
  const colours = zoneColours(cluster.nodes.map(({ zone }) => zone));
  const layers = layersOf(workflow);
  const widest = Math.max(...layers.map((layer) => layer.length));
  const width = widest * (BOX.width + BOX.gapX);
  const height = layers.length * (BOX.height + BOX.gapY) - BOX.gapY + 10;
  const centres = new Map<string, { x: number; y: number }>();
  for (const [row, layer] of layers.entries())
    for (const [column, name] of layer.entries())
      centres.set(name, {
        x: ((column + 0.5) / layer.length) * width,
        y: row * (BOX.height + BOX.gapY) + BOX.height / 2 + 4,
      });
  const busiest = Math.max(1, ...workflow.channels.map(({ bytesPerSecond }) => bytesPerSecond ?? 0));
  const edges = workflow.channels.map((channel) => edge(channel, centres, busiest));
  const nodeNames = shortNames(
    cluster.nodes.map(({ name }) => name),
    MAX_CHARACTERS,
  );
  const boxes = workflow.workloads.map((workload) =>
    box(workload, centres.get(workload.name)!, { zoneOf, colours, nodeNames }),
  );
  const drawing = svg(
    "svg",
    {
      class: "graph",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": workflow.name,
    },
    ...edges.flat(),
    ...boxes,
  );
  drawing.style.minWidth = `${Math.min(width, LEAST_WIDTH)}px`;
  show("workflow", drawing);
}

/** Longest path from a workload nobody calls; cycles are cut where they close. */
function layersOf({ workloads, channels }: WorkflowGraphSnapshot): string[][] {
  const callees = new Map<string, string[]>(workloads.map(({ name }) => [name, []]));
  const called = new Set<string>();
  for (const { source, target } of channels) {
    if (!callees.has(source) || !callees.has(target) || source === target) continue;
    callees.get(source)!.push(target);
    called.add(target);
  }
  const depth = new Map<string, number>();
  const visit = (name: string, at: number, path: ReadonlySet<string>): void => {
    if (path.has(name) || (depth.get(name) ?? -1) >= at) return;
    depth.set(name, at);
    for (const next of callees.get(name)!) visit(next, at + 1, new Set([...path, name]));
  };
  for (const { name } of workloads) if (!called.has(name)) visit(name, 0, new Set());
  for (const { name } of workloads) if (!depth.has(name)) visit(name, 0, new Set());
  const layers: string[][] = [];
  for (const { name } of workloads) (layers[depth.get(name)!] ??= []).push(name);
  return Array.from(layers, (layer) => layer ?? []);
}

function edge(
  channel: Channel,
  centres: ReadonlyMap<string, { x: number; y: number }>,
  busiest: number,
): SVGElement[] {
  const from = centres.get(channel.source);
  const to = centres.get(channel.target);
  if (from === undefined || to === undefined) return [];
  const [y1, y2] = [from.y + BOX.height / 2, to.y - BOX.height / 2];
  const path = svg("path", {
    class: channel.bytesPerSecond === null && channel.requestsPerSecond === null ? "edge silent" : "edge",
    d: `M ${from.x} ${y1} C ${from.x} ${(y1 + y2) / 2}, ${to.x} ${(y1 + y2) / 2}, ${to.x} ${y2}`,
    "stroke-width": 1 + 5 * Math.sqrt((channel.bytesPerSecond ?? 0) / busiest),
  });
  path.append(
    svg(
      "title",
      {},
      `${channel.source} → ${channel.target}: ${figure(channel.requestsPerSecond)} requests/s, ${bytes(channel.bytesPerSecond)}/s`,
    ),
  );
  return [path];
}

interface Look {
  readonly zoneOf: ReadonlyMap<string, string | null>;
  readonly colours: ReadonlyMap<string, string>;
  readonly nodeNames: ReadonlyMap<string, string>;
}

function box(
  workload: Workload,
  { x, y }: { x: number; y: number },
  { zoneOf, colours, nodeNames }: Look,
): SVGElement {
  const nodes = [...new Set(workload.pods.map(({ node }) => node ?? "not placed"))];
  const zone = zoneOf.get(nodes[0] ?? "") ?? "no zone";
  const [first = "no pod", ...others] = nodes;
  const room = others.length === 0 ? MAX_CHARACTERS : MAX_CHARACTERS - 4;
  const where = `${shorten(nodeNames.get(first) ?? first, room)}${others.length === 0 ? "" : ` +${others.length}`}`;
  const group = svg("g", { transform: `translate(${x - BOX.width / 2} ${y - BOX.height / 2})` });
  group.append(
    svg(
      "title",
      {},
      `${workload.name} (${workload.kind}): ${workload.pods.map(({ name, node }) => `${name} on ${node ?? "no node"}`).join(", ")}`,
    ),
    svg("rect", { width: BOX.width, height: BOX.height, rx: 5, fill: colours.get(zone) ?? "#dddddd" }),
    svg(
      "text",
      { x: BOX.width / 2, y: 16, "text-anchor": "middle", "font-weight": 600 },
      shorten(workload.name, MAX_CHARACTERS),
    ),
    svg("text", { x: BOX.width / 2, y: 32, "text-anchor": "middle" }, where),
  );
  return group;
}

/** The channels, the dearest first: traffic times the cost between where their ends are. */
export function drawChannels(workflow: WorkflowGraphSnapshot, cluster: ClusterGraphSnapshot): void {
  if (workflow.channels.length === 0)
    return show("channels", element("p", { class: "empty" }, "No traffic seen in the window."));
  const costs = new Map(
    cluster.links
      .filter(({ costMs }) => costMs !== null)
      .map((link) => [`${link.source} ${link.target}`, link.costMs!]),
  );
  const podsOf = new Map(workflow.workloads.map(({ name, pods }) => [name, pods]));
  const costOf = ({ source, target }: Channel): number | null => {
    const pairs = (podsOf.get(source) ?? []).flatMap((a) =>
      (podsOf.get(target) ?? []).map((b) =>
        a.node === b.node ? 0 : (costs.get(`${a.node} ${b.node}`) ?? null),
      ),
    );
    const known = pairs.filter((cost) => cost !== null);
    return known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0) / known.length;
  };
  const rows = workflow.channels
    .map((channel) => ({ channel, cost: costOf(channel) }))
    .sort(
      (a, b) =>
        (b.cost ?? 0) * (b.channel.bytesPerSecond ?? 0) - (a.cost ?? 0) * (a.channel.bytesPerSecond ?? 0),
    )
    .map(({ channel, cost }) => [
      `${channel.source} → ${channel.target}`,
      figure(channel.requestsPerSecond),
      bytes(channel.bytesPerSecond),
      channel.errorRatio === null ? "–" : `${(channel.errorRatio * 100).toFixed(1)} %`,
      figure(cost),
    ]);
  show(
    "channels",
    element("h3", {}, "Channels, the most expensive first"),
    table(["channel", "requests/s", "traffic/s", "errors", "cost, ms"], rows, [0]),
  );
}
