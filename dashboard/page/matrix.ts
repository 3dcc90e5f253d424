import type { ClusterGraphSnapshot, ClusterNode, Link } from "@isochrone/topology";
import { byId, element, figure, show } from "./dom.ts";
import { shortNames } from "./names.ts";
import { latencyColour, latencyLegend, lossColour } from "./scale.ts";

export type Quantity = "p50" | "p90" | "p99" | "loss";

/** Of a node's name in the heads. */
const MAX_NAME_CHARACTERS = 24;
const METHOD_ORDER = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"];

/** Draws the matrix: nodes grouped by region and zone, one cell per ordered pair. */
export function drawMatrix(graph: ClusterGraphSnapshot, quantity: Quantity): void {
  if (graph.nodes.length === 0) {
    show("legend");
    return show("matrix", element("p", { class: "empty" }, "No node is known yet."));
  }
  drawLegend(quantity);
  const nodes = [...graph.nodes].sort((a, b) => place(a).localeCompare(place(b)));
  const links = bestLinks(graph.links);
  const short = shortNames(
    nodes.map(({ name }) => name),
    MAX_NAME_CHARACTERS,
  );
  const title = (node: ClusterNode, scope: string): HTMLElement =>
    element("th", { scope, title: place(node) }, short.get(node.name)!);
  const head = element("tr", {}, element("td"), ...nodes.map((node) => title(node, "col")));
  const rows = nodes.map((source, index) => {
    const first = index > 0 && nodes[index - 1]!.zone !== source.zone;
    const cells = nodes.map((target) =>
      cell(source, target, links.get(`${source.name} ${target.name}`), quantity),
    );
    return element("tr", first ? { class: "first-of-zone" } : {}, title(source, "row"), ...cells);
  });
  show(
    "matrix",
    element("table", { class: "matrix" }, element("thead", {}, head), element("tbody", {}, ...rows)),
  );
}

function place({ region, zone, name }: ClusterNode): string {
  return `${region ?? "no region"} / ${zone ?? "no zone"} / ${name}`;
}

/** One link per pair: methods are never merged, the first of the order that has data is shown. */
function bestLinks(links: readonly Link[]): ReadonlyMap<string, Link> {
  const best = new Map<string, Link>();
  const rank = (link: Link): number => (link.rttMs.p50 === null ? 10 : 0) + METHOD_ORDER.indexOf(link.method);
  for (const link of links) {
    const key = `${link.source} ${link.target}`;
    const other = best.get(key);
    if (other === undefined || rank(link) < rank(other)) best.set(key, link);
  }
  return best;
}

function cell(
  source: ClusterNode,
  target: ClusterNode,
  link: Link | undefined,
  quantity: Quantity,
): HTMLElement {
  const pair = `${source.name} → ${target.name}`;
  if (source.name === target.name) return element("td", { class: "self" }, "");
  if (link === undefined) return element("td", { class: "unknown", title: `${pair}: not measured` }, "–");
  const title = `${pair} by ${link.method}: p50 ${figure(link.rttMs.p50)} p90 ${figure(link.rttMs.p90)} p99 ${figure(link.rttMs.p99)} ms, loss ${
    link.lossRatio === null ? "–" : `${(link.lossRatio * 100).toFixed(1)} %`
  }, jitter ${figure(link.jitterMs, 2)} ms, ${link.rttMs.count} samples, ${figure(link.ageSeconds, 0)} s old`;
  if (link.lossRatio === 1) return element("td", { class: "dead", title }, "✕");
  const value = quantity === "loss" ? link.lossRatio : link.rttMs[quantity];
  if (value === null) return element("td", { class: "unknown", title }, "–");
  const node = element("td", { title }, quantity === "loss" ? (value * 100).toFixed(1) : figure(value));
  // By the style object, which a strict content security policy allows where a style attribute is refused.
  node.style.backgroundColor = quantity === "loss" ? lossColour(value) : latencyColour(value);
  if ((link.lossRatio ?? 0) > 0.001 && quantity !== "loss") node.classList.add("lossy");
  if (link.provisional) node.classList.add("provisional");
  return node;
}

function drawLegend(quantity: Quantity): void {
  if (quantity === "loss") return show("legend");
  const steps = latencyLegend().flatMap(({ colour, uptoMs }) => {
    const swatch = element("i");
    swatch.style.backgroundColor = colour;
    return [swatch, element("span", {}, uptoMs < 10 ? uptoMs.toFixed(1) : uptoMs.toFixed(0))];
  });
  show("legend", ...steps, " ms");
  byId("legend").setAttribute("role", "img");
}
