import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { describe, expect, it } from "vitest";
import { graphDot } from "./dot.ts";

const node = (name: string, zone: string | null): object => ({ name, zone, ready: true });
const link = (source: string, target: string, costMs: number | null, lossRatio = 0): object => ({
  source,
  target,
  costMs,
  lossRatio,
  origin: "measured",
});
const cluster = {
  nodes: [node('a"1', "west"), node("b\\", null)],
  links: [link('a"1', "b\\", null), link("b\\", 'a"1', 12.34)],
} as unknown as ClusterGraphSnapshot;
const workflow = {
  namespace: "shop",
  name: "web",
  workloads: [
    { name: "cart", pods: [{ name: "p", node: 'a"1' }] },
    { name: "db", pods: [{ name: "q", node: null }] },
  ],
  channels: [{ source: "cart", target: "db", bytesPerSecond: 2_000 }],
} as unknown as WorkflowGraphSnapshot;

describe("the drawing", () => {
  const dot = graphDot(cluster, [workflow]);

  it("escapes what names may hold", () => {
    expect(dot).toContain(String.raw`"node a\"1" [label="a\"1"`);
    expect(dot).toContain(String.raw`"node b\\" [label="b\\"`);
  });

  it("keeps a statement in its line, whatever a name holds", () => {
    const evil = { ...workflow, name: 'x"];\n\u001b]0;t\u0007 evil [label="' };
    const lines = graphDot(null, [evil]).split("\n");
    expect(lines.filter((line) => /^\s*evil/.test(line))).toEqual([]);
    expect(lines.join("")).toContain(String.raw`x\"];\\u{a}\\u{1b}]0;t\\u{7} evil [label=\"`);
  });

  it("draws a pair once, by the direction and method whose cost is known", () => {
    expect(dot.match(/dir=none/g)).toHaveLength(1);
    expect(dot).toContain('label="12.3 ms"');
  });

  it("draws channels, and where pods are", () => {
    expect(dot).toContain('"workload shop/web/cart" -> "workload shop/web/db" [label="2000 B/s"');
    expect(dot).toContain(String.raw`"workload shop/web/cart" -> "node a\"1" [style=dotted`);
    expect(dot).not.toContain('"workload shop/web/db" -> "node');
  });

  it("draws a workflow alone without nodes", () => {
    expect(graphDot(null, [workflow])).not.toContain('"node ');
  });

  it("keeps braces in balance", () => {
    expect(dot.match(/\{$/gm)).toHaveLength(dot.match(/^\s*\}$/gm)!.length);
  });
});
