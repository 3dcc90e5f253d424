import { WorkflowGraph } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { workflowSnapshot } from "../testing/graphs.ts";
import { Ledger } from "./ledger.ts";
import type { LedgerEntry } from "./ledger-entry.ts";

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
/** No usage is measured, so requests count. */
const unmeasured = (placed: Parameters<typeof workflowSnapshot>[0], use: object = {}): WorkflowGraph => {
  const snapshot = workflowSnapshot(placed);
  const workloads = snapshot.workloads.map((workload) => ({
    ...workload,
    cpuMillicores: null,
    memoryBytes: null,
    ...use,
  }));
  return new WorkflowGraph({ ...snapshot, workloads });
};
const empty = unmeasured({});
const shows = (pod: string, node: string): WorkflowGraph => unmeasured({ p: { [pod]: node } });

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

  test("uses what the newest graph knows of its workload, and what it requests while none is known", () => {
    const ledger = new Ledger(60_000);
    ledger.record(entry("p-1", "n1"), null, 0);
    ledger.observe(entry("p-2", "n1"), null, Infinity);
    expect(ledger.assumedUse().get("n1")).toMatchObject({ cpuMillicores: 1_000, memoryBytes: 2e8 });
    ledger.settle(() => unmeasured({}, { cpuMillicores: 120, memoryBytes: 3e7 }));
    expect(ledger.assumedUse().get("n1")).toMatchObject({ cpuMillicores: 240, memoryBytes: 6e7 });
    ledger.settle(() => unmeasured({}, { cpuMillicores: 130 }));
    expect(ledger.assumedUse().get("n1")).toMatchObject({ cpuMillicores: 260, memoryBytes: 2e8 });
    ledger.record(entry("p-3", "n1"), null, 0);
    expect(ledger.assumedUse().get("n1")).toMatchObject({ cpuMillicores: 390, memoryBytes: 3e8 });
    for (const pod of ["p-1", "p-2", "p-3"]) ledger.remove("shop", pod);
    expect(ledger.assumedUse().size).toBe(0);
  });

  test("is replaced by a later decision on the same pod", () => {
    const ledger = new Ledger(60_000);
    ledger.record(entry("p-1", "n1"), empty, 0);
    ledger.record(entry("p-1", "n2"), empty, 1);
    expect([...ledger.assumedUse().keys()]).toEqual(["n2"]);
  });
});

describe("what the cluster shows", () => {
  test("replaces what was decided here, and counts until its time", () => {
    const ledger = new Ledger(1_000);
    ledger.record(entry("p-1", "n1"), empty, 0);
    ledger.observe(entry("p-1", "n2"), empty, 5_000);
    ledger.expire(4_999);
    expect([...ledger.assumedUse().keys()]).toEqual(["n2"]);
    ledger.expire(5_000);
    expect(ledger.size).toBe(0);
  });

  test("is the same for two ledgers, in whatever order they heard of it", () => {
    const [first, second] = [new Ledger(1_000), new Ledger(1_000)];
    first.record(entry("p-2", "n3"), empty, 0);
    for (const [ledger, pods] of [
      [first, ["p-1", "p-2", "p-3"]],
      [second, ["p-3", "p-1", "p-2"]],
    ] as const)
      for (const pod of pods) ledger.observe(entry(pod, "n1"), empty, 9_000);
    expect(first.assumed("shop", "flow")).toEqual(second.assumed("shop", "flow"));
    expect(first.assumedUse()).toEqual(second.assumedUse());
  });

  test("doesn't count once the graph shows the pod there, and does while it shows a former pod of that name elsewhere", () => {
    const ledger = new Ledger(1_000);
    ledger.observe(entry("p-1", "n1"), shows("p-1", "n1"), 9_000);
    expect(ledger.size).toBe(0);
    ledger.observe(entry("p-1", "n1"), shows("p-1", "n3"), 9_000);
    ledger.settle(() => shows("p-1", "n2"));
    expect(ledger.size).toBe(1);
    ledger.settle(() => shows("p-1", "n1"));
    expect(ledger.size).toBe(0);
  });

  test("as a nomination isn't held against the pod itself, comes back when the decision expires, and ends when it is withdrawn", () => {
    const ledger = new Ledger(1_000);
    ledger.observe(entry("p-1", "n1"), empty, Infinity);
    ledger.without("shop", "p-1", () => expect(ledger.size).toBe(0));
    expect([...ledger.assumedUse().keys()]).toEqual(["n1"]);
    ledger.without("shop", "p-1", () => ledger.record(entry("p-1", "n2"), empty, 0));
    expect([...ledger.assumedUse().keys()]).toEqual(["n2"]);
    ledger.expire(1_000);
    expect([...ledger.assumedUse().keys()]).toEqual(["n1"]);
    ledger.withdraw("shop", "p-1");
    expect(ledger.size).toBe(0);
  });

  test("has the workload's name that the graph knows, also when the graph came later", () => {
    const ledger = new Ledger(1_000);
    ledger.observe(entry("x-1", "n1", { workload: "x-5d4f", alternatives: ["x-5d4f", "q"] }), null, 9_000);
    expect(ledger.assumed("shop", "flow")[0]!.workload).toBe("x-5d4f");
    ledger.settle(() => empty);
    expect(ledger.assumed("shop", "flow")[0]!.workload).toBe("q");
  });
});

describe("whatever amounts entries have", () => {
  test.each([Infinity, 1e308, Number.NaN, -1])(
    "%s leaves the sum of its node finite, also after it has gone",
    (amount) => {
      const ledger = new Ledger(60_000);
      ledger.record(entry("p-1", "n1"), empty, 0);
      for (const pod of ["x-1", "x-2"])
        ledger.record(entry(pod, "n1", { cpuMillicores: amount, memoryBytes: amount }), empty, 0);
      const { cpuMillicores, memoryBytes } = ledger.assumedUse().get("n1")!;
      for (const sum of [cpuMillicores, memoryBytes])
        expect(sum).toSatisfy((each: number) => Number.isFinite(each) && each >= 0);
      for (const pod of ["x-1", "x-2"]) ledger.remove("shop", pod);
      expect(ledger.assumedUse().get("n1")).toMatchObject({ cpuMillicores: 500, memoryBytes: 1e8 });
    },
  );
});

test("a tenant with 100,000 pods makes the ledger forget none of another namespace", () => {
  const ledger = new Ledger(60_000);
  ledger.record(entry("p-1", "n1"), empty, 0);
  ledger.observe(entry("p-2", "n1"), empty, Infinity);
  for (let index = 0; index < 100_000; index++) {
    const of = entry(`x-${index}`, "n2", { namespace: "evil", workload: `w-${index % 1_000}` });
    if (index % 2 === 0) ledger.record(of, null, 0);
    else ledger.observe(of, null, Infinity);
  }
  expect(ledger.assumed("shop", "flow").map(({ name }) => name)).toEqual(["p-1", "p-2"]);
  expect(ledger.size).toBe(40_000);
});
