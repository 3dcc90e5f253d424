import { WorkflowGraph } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { workflowSnapshot } from "../testing/graphs.ts";
import { Ledger } from "./ledger.ts";
import type { LedgerEntry } from "./ledger.ts";

const entry = (pod: string, node: string, fields: Partial<LedgerEntry> = {}): LedgerEntry => ({
  namespace: "shop",
  workflow: "flow",
  workload: "p",
  pod,
  node,
  cpuMillicores: 500,
  memoryBytes: 1e8,
  ...fields,
});
const empty = new WorkflowGraph(workflowSnapshot({}));
const shows = (pod: string, node: string): WorkflowGraph =>
  new WorkflowGraph(workflowSnapshot({ p: { [pod]: node } }));

describe("a ledger entry", () => {
  test("counts as placed and as used until it expires", () => {
    const ledger = new Ledger(1_000);
    ledger.record(entry("p-1", "n1"), empty, 0);
    ledger.record(entry("p-2", "n1"), empty, 500);
    expect(ledger.assumed("shop", "flow").map(({ name }) => name)).toEqual(["p-1", "p-2"]);
    expect(ledger.assumedUse().get("n1")).toMatchObject({ cpuMillicores: 1_000, memoryBytes: 2e8 });
    ledger.expire(1_000);
    expect(ledger.assumed("shop", "flow").map(({ name }) => name)).toEqual(["p-2"]);
    expect(ledger.assumedUse().get("n1")).toMatchObject({ cpuMillicores: 500, memoryBytes: 1e8 });
    ledger.expire(1_500);
    expect([ledger.size, ledger.assumedUse().size, ledger.assumed("shop", "flow").length]).toEqual([0, 0, 0]);
  });

  test("goes when a newer graph shows the pod, also on a node that wasn't our choice", () => {
    const ledger = new Ledger(60_000);
    ledger.record(entry("p-1", "n1"), empty, 0);
    ledger.record(entry("p-2", "n1"), empty, 0);
    ledger.settle(() => shows("p-1", "n3"));
    expect(ledger.assumed("shop", "flow")).toEqual([{ workload: "p", name: "p-2", node: "n1" }]);
    expect(ledger.assumedUse().get("n1")).toMatchObject({ cpuMillicores: 500 });
  });

  test("stays while the graph doesn't show the pod on a node", () => {
    const ledger = new Ledger(60_000);
    ledger.record(entry("p-1", "n1"), empty, 0);
    ledger.settle(() => new WorkflowGraph(workflowSnapshot({})));
    ledger.settle(() => null);
    expect(ledger.size).toBe(1);
  });

  test("stays when the graph that it was decided by shows a former pod of that name", () => {
    const ledger = new Ledger(60_000);
    const before = shows("p-0", "n2");
    ledger.record(entry("p-0", "n1"), before, 0);
    ledger.settle(() => before);
    expect(ledger.assumed("shop", "flow")).toHaveLength(1);
  });

  test("isn't settled by a pod of that name in another workflow", () => {
    const ledger = new Ledger(60_000);
    ledger.record(entry("p-1", "n1", { workflow: "other" }), null, 0);
    ledger.settle((_, workflow) => (workflow === "flow" ? shows("p-1", "n3") : null));
    expect(ledger.size).toBe(1);
  });

  test("is replaced by a later decision on the same pod", () => {
    const ledger = new Ledger(60_000);
    ledger.record(entry("p-1", "n1"), empty, 0);
    ledger.record(entry("p-1", "n2"), empty, 1);
    expect([...ledger.assumedUse().keys()]).toEqual(["n2"]);
  });
});
