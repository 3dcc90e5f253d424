// Reads the cluster of a point: nodes, and round trips from links, a matrix, a file or the generator.
import { dirname, resolve } from "node:path";
import { loadTable, rowsByName } from "@isochrone/lab";
import { seededRandom } from "@isochrone/runtime";
import { reasonOf } from "@isochrone/primitives";
import type { Field } from "./field.ts";
import { generateCluster } from "./generate/cluster.ts";
import type { PointCluster, PointNode } from "./model.ts";
import { partsOf, shortestPaths } from "./paths.ts";

/** Round trips by row and column; null: unspecified. */
type Known = (number | null)[][];

/** Processes on one node add no latency, but nodes in one room do. */
const LEAST_RTT_MS = 0;
const MAX_RTT_MS = 60_000;
const RTT = { min: LEAST_RTT_MS, max: MAX_RTT_MS };

/** @param file scenario file; data files are relative to it */
export function readCluster(field: Field, file: string): PointCluster {
  field.map("nodes", "links", "matrix", "generate");
  if (field.get("generate").isPresent) return generated(field);
  const nodes = readNodes(field.get("nodes"));
  const given = ["links", "matrix"].filter((key) => field.get(key).isPresent);
  if (given.length !== 1) {
    field.fail(`must have either links or matrix, got ${given.join(" and ") || "neither"}`);
    return { nodes, rttMs: nodes.map(() => nodes.map(() => 0)) };
  }
  const known =
    given[0] === "links"
      ? readLinks(field.get("links"), nodes)
      : readMatrix(field.get("matrix"), nodes, file);
  return { nodes, rttMs: complete(known, nodes, field.get(given[0]!)) };
}

function generated(field: Field): PointCluster {
  for (const key of ["nodes", "links", "matrix"])
    if (field.get(key).isPresent) field.get(key).fail("must not be given beside generate");
  const from = field
    .get("generate")
    .map("nodes", "regions", "seed", "cpu", "memory", "withinMs", "betweenMs");
  return generateCluster(
    {
      nodes: from.get("nodes").number({ min: 2, max: 500, whole: true }),
      regions: from.get("regions").number({ min: 1, max: 50, whole: true }),
      cpuMillicores: from.get("cpu").cpuMillicores(),
      memoryBytes: from.get("memory").memoryBytes(),
      withinMs: from.get("withinMs").number({ above: 0, max: MAX_RTT_MS }),
      betweenMs: from.get("betweenMs").number({ above: 0, max: MAX_RTT_MS }),
    },
    seededRandom(from.get("seed").number({ min: 0, whole: true })),
  );
}

function readNodes(field: Field): readonly PointNode[] {
  const nodes = field.someList().flatMap((item) => {
    item.map("name", "count", "zone", "region", "cpu", "memory");
    const name = item.get("name").text();
    const count = item.get("count").numberOr(null, { min: 1, max: 500, whole: true });
    const region = item.get("region").textOr("region");
    const node = {
      zone: item.get("zone").textOr(region),
      region,
      cpuMillicores: item.get("cpu").cpuMillicores(),
      memoryBytes: item.get("memory").memoryBytes(),
    };
    const names =
      count === null ? [name] : Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
    return names.map((each) => ({ name: each, ...node }));
  });
  const names = nodes.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) field.fail(`must have names of their own, got ${twice} twice`);
  return nodes;
}

/** Applies `all`, then regions and zones, then single pairs; later ones win. */
function readLinks(field: Field, nodes: readonly PointNode[]): Known {
  field.map("all", "withinZone", "withinRegion", "between");
  const known: Known = nodes.map(() => nodes.map(() => null));
  const set = (rttMs: number, covers: (a: PointNode, b: PointNode) => boolean): void => {
    for (const [row, a] of nodes.entries())
      for (const [column, b] of nodes.entries())
        if (row !== column && covers(a, b)) known[row]![column] = rttMs;
  };
  if (field.get("all").isPresent) set(field.get("all").number(RTT), () => true);
  if (field.get("withinRegion").isPresent)
    set(field.get("withinRegion").number(RTT), (a, b) => a.region === b.region);
  if (field.get("withinZone").isPresent)
    set(field.get("withinZone").number(RTT), (a, b) => a.region === b.region && a.zone === b.zone);
  for (const item of field.get("between").list()) {
    item.map("a", "b", "rttMs");
    const [a, b] = [place(item.get("a"), nodes), place(item.get("b"), nodes)];
    const rttMs = item.get("rttMs").number(RTT);
    set(rttMs, (one, other) => (isAt(one, a) && isAt(other, b)) || (isAt(one, b) && isAt(other, a)));
  }
  return known;
}

function place(field: Field, nodes: readonly PointNode[]): string {
  const name = field.text();
  if (!nodes.some((node) => isAt(node, name))) field.fail(`must be a node, zone or region, got ${name}`);
  return name;
}

function isAt(node: PointNode, name: string): boolean {
  return node.name === name || node.zone === name || node.region === name;
}

function readMatrix(field: Field, nodes: readonly PointNode[], file: string): Known {
  const rows = field.isMap ? readFile(field, nodes, file) : inline(field);
  const isSquare = rows.length === nodes.length && rows.every((row) => row.length === nodes.length);
  if (isSquare) return rows;
  const widths = [...new Set(rows.map((row) => row.length))].join(" or ");
  field.fail(
    `must have ${nodes.length} rows of ${nodes.length} values, one per node, got ${rows.length} of ${widths}`,
  );
  return nodes.map(() => nodes.map(() => 0));
}

function readFile(field: Field, nodes: readonly PointNode[], scenario: string): Known {
  field.map("file");
  const name = field.get("file").text();
  if (name === "") return [];
  try {
    const { names, rttMs } = loadTable(resolve(dirname(scenario), name));
    if (names === null) return rttMs.map((row) => [...row]);
    const rows = rowsByName(nodes, names).map(({ row }) => row);
    return rows.map((from) => rows.map((to) => rttMs[from]?.[to] ?? null));
  } catch (error) {
    field.get("file").fail(`must be a matrix: ${reasonOf(error)}`);
    return [];
  }
}

/** `-` means unknown, for matrices with missing links. */
function inline(field: Field): Known {
  return field.list().map((row, at) =>
    row.list().map((cell, column) => {
      if (at === column) return 0;
      return cell.isText("-") ? null : cell.number(RTT);
    }),
  );
}

/** Fills gaps by paths over other nodes. Averages a pair's two values: a round trip covers both ways. */
function complete(known: Known, nodes: readonly PointNode[], field: Field): number[][] {
  const rows = known.map((row, at) =>
    row.map((rttMs, column) => (at === column ? 0 : bothWays(rttMs, known[column]![at] ?? null))),
  );
  const parts = partsOf(rows);
  if (parts.length > 1) {
    const [one, other] = parts.map((part) => part.map((index) => nodes[index]!.name).join(", "));
    field.fail(
      `must connect all nodes, got ${parts.length} parts: {${one}} and {${other}}${parts.length > 2 ? ", ..." : ""}`,
    );
    return nodes.map(() => nodes.map(() => 0));
  }
  const shortest = shortestPaths(rows);
  return rows.map((row, at) => row.map((rttMs, column) => rttMs ?? shortest[at]![column]!));
}

function bothWays(rttMs: number | null, back: number | null): number | null {
  return rttMs === null || back === null ? (rttMs ?? back) : (rttMs + back) / 2;
}
