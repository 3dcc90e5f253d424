// Malformed AppGroups beside a valid one: each gets an order or one fault report, and the valid one stays
// maintained.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { A1, AppGroupRig, pod, specOf, workload } from "../testing/appgroup-rig.ts";
import { FAULTS_ANNOTATION } from "./group-status.ts";

/** For orders at 10,000 of each kind see packages/placement/src/order/hostile-spec.test.ts. */
const MANY = 1_000;
const CHAIN = 10_000;
/** Kubernetes' limit on the annotations of an object. */
const MAX_ANNOTATION_BYTES = 256 * 1024;
const MAX_NOTE_BYTES = 1024;

const edges = (count: number, dependsOn: (index: number) => string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`w${index}`, dependsOn(index)]));

describe("a hostile AppGroup", () => {
  let rig: AppGroupRig;

  beforeEach(() => {
    rig = new AppGroupRig();
  });
  afterEach(() => rig.stop());

  /** Writes the spec beside the valid group a1; returns the reported faults. */
  async function kept(spec: Record<string, unknown>): Promise<{ faults: string; events: string[] }> {
    await rig.group(spec, "hostile");
    await rig.group();
    await rig.store.create(pod("member", "a1"));
    await rig.start();
    const events = (await rig.reasons()).filter((text) => !text.startsWith("TopologyOrderCalculated"));
    expect(await rig.indices("a1")).toEqual({ P1: 1, P2: 2, P3: 3 });
    expect((await rig.read()).status?.["runningWorkloads"]).toBe(1);
    const faults = (await rig.read("hostile")).metadata.annotations?.[FAULTS_ANNOTATION] ?? "";
    expect(Buffer.byteLength(faults)).toBeLessThan(MAX_ANNOTATION_BYTES);
    for (const event of events)
      expect(Buffer.byteLength(event.slice(event.indexOf(": ") + 2))).toBeLessThanOrEqual(MAX_NOTE_BYTES);
    const { writes } = rig.watched;
    await rig.clock.advance(120_000);
    expect(rig.watched.writes).toBe(writes);
    return { faults, events };
  }

  it("of 10,000 workloads in one chain is ordered", async () => {
    expect(await kept(specOf(edges(CHAIN, (index) => (index + 1 < CHAIN ? `w${index + 1}` : ""))))).toEqual({
      faults: "",
      events: [],
    });
    const indices = await rig.indices("hostile");
    expect([indices["w0"], indices["w9999"]]).toEqual([1, CHAIN]);
  });

  it("of 1,000 workloads in one circle has the order of its spec, and the circle is named in short", async () => {
    const { faults, events } = await kept(specOf(edges(MANY, (index) => `w${(index + 1) % MANY}`)));
    expect(faults).toContain("w0 -> w1 -> w2 -> w3 -> w4 -> w5 -> (994 more) -> w0");
    expect(events).toHaveLength(1);
    expect((await rig.indices("hostile"))["w999"]).toBe(MANY);
  });

  it("of 1,000 workloads that each depend on themselves has a few faults and not 1,000", async () => {
    const { faults, events } = await kept(specOf(edges(MANY, (index) => `w${index}`)));
    expect(faults.split("\n")).toHaveLength(5);
    expect(events).toHaveLength(5);
  });

  it("with 1,000 dangling selectors is ordered without them; the first ones are named, the rest counted", async () => {
    const { faults, events } = await kept(specOf(edges(MANY, (index) => `ghost${index}`)));
    const lines = faults.split("\n");
    expect(lines).toHaveLength(21);
    expect(lines[20]).toBe("(980 more)");
    // Events are rate-limited, so there are fewer than faults.
    expect(events.length).toBeGreaterThan(0);
    expect(events.length).toBeLessThanOrEqual(20);
  });

  it("of an unknown algorithm a million characters long is sorted by KahnSort", async () => {
    const { faults, events } = await kept(specOf(A1, "Quantum".repeat(150_000)));
    expect(faults).toMatch(/^UnknownAlgorithm: spec\.topologySortingAlgorithm must be one of .*"Quantum/);
    expect(events).toHaveLength(1);
    expect(await rig.indices("hostile")).toEqual({ P1: 1, P2: 2, P3: 3 });
  });

  it("with a name of a million characters has a status all the same", async () => {
    const long = { ...workload("a"), name: "n".repeat(1_000_000) };
    const { faults } = await kept({
      topologySortingAlgorithm: "KahnSort",
      workloads: [
        { workload: long },
        { workload: workload("b"), dependencies: [{ workload: { ...long, selector: "other" } }] },
      ],
    });
    expect(faults).toMatch(/^SelectorMismatch: /);
    expect(await rig.indices("hostile")).toEqual({ a: 2, b: 1 });
  });

  it.each([
    ["a number", 7],
    ["text", "workloads"],
    ["null", null],
    ["a list of nothing", [null, null]],
    ["an object", { a: 1 }],
  ])("whose workloads are %s is told so", async (_, workloads) => {
    const { faults } = await kept({ topologySortingAlgorithm: "KahnSort", workloads });
    expect(faults).toContain("MalformedSpec: spec.workloads");
    expect(await rig.indices("hostile")).toEqual({});
  });
});
