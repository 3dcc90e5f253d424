import { KINDS, StoreError, type KubernetesObject } from "@isochrone/kubernetes";
import { ANNOTATED_BY } from "@isochrone/topology";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { graphNode, measuredLink, WriterTestbed } from "../testing/writers.ts";

const MINUTE = 60_000;
const PREFIX = "isochrone.dev/";
let ground: WriterTestbed;

beforeEach(() => {
  ground = new WriterTestbed();
});
afterEach(() => ground.stop());

/** Without the writer's mark, which rivals.test.ts covers. */
const names = (annotations: Record<string, string>): string[] =>
  Object.keys(annotations)
    .filter((key) => key !== ANNOTATED_BY)
    .map((key) => key.replace(PREFIX, ""))
    .toSorted();

describe("node annotations", () => {
  test("say what is available and what was measured, and nothing of what was not", async () => {
    await ground.addNodes("a", "b", "c");
    ground.links = [
      measuredLink("a", "b", 12.3456),
      measuredLink("a", "c", 5, { lossRatio: 1, costMs: null }),
      measuredLink("b", "a", 7, { ageSeconds: 1000 }),
    ];
    await ground.start();
    await ground.pass(6000);
    expect(await ground.annotations("a")).toMatchObject({
      "isochrone.dev/available-cpu": "2000m",
      "isochrone.dev/available-memory": "4194304Ki",
      "isochrone.dev/network-cost-b": "12.346",
    });
    expect(names(await ground.annotations("a"))).not.toContain("network-cost-c");
    expect(names(await ground.annotations("b"))).toEqual([
      "available-cpu",
      "available-memory",
      "observed-at",
    ]);
  });

  test("are not written again for jitter, only for their refresh", async () => {
    await ground.addNodes("a", "b");
    await ground.start();
    await ground.pass(10_000);
    ground.sent.length = 0;
    for (let second = 0; second < 8 * 60; second++) {
      const jitter = 1 + 0.045 * Math.sin(second);
      ground.nodes = ["a", "b"].map((name) => graphNode(name, { availableCpuMillicores: 2000 * jitter }));
      ground.links = [measuredLink("a", "b", 10 * jitter), measuredLink("b", "a", 0.3 * jitter)];
      await ground.pass(1000);
      // The links are new at first.
      if (second === 60) ground.sent.length = 0;
    }
    expect(ground.sent).toEqual([]);
    await ground.pass(2 * MINUTE);
    expect(ground.sent.map(({ name }) => name).toSorted()).toEqual(["a", "b"]);
  });

  test("are written soon after a change that matters, but no sooner than half a minute after the last", async () => {
    await ground.addNodes("a", "b");
    ground.links = [measuredLink("a", "b", 10)];
    await ground.start();
    await ground.pass(5000);
    ground.links = [measuredLink("a", "b", 80)];
    await ground.pass(20_000);
    expect((await ground.annotations("a"))["isochrone.dev/network-cost-b"]).toBe("10.000");
    await ground.pass(20_000);
    expect((await ground.annotations("a"))["isochrone.dev/network-cost-b"]).toBe("80.000");
  });

  test("lose the costs when the cluster outgrows them, and those to a node that left", async () => {
    await ground.addNodes("a", "b", "c");
    ground.links = [measuredLink("a", "b", 10), measuredLink("a", "c", 20)];
    await ground.start();
    await ground.pass(5000);
    await ground.store.delete({ ...KINDS.node, name: "c" });
    ground.nodes = ground.nodes.filter(({ name }) => name !== "c");
    await ground.pass(40_000);
    expect(names(await ground.annotations("a"))).toContain("network-cost-b");
    expect(names(await ground.annotations("a"))).not.toContain("network-cost-c");
    await ground.addNodes(...Array.from({ length: 63 }, (_, index) => `n${index}`));
    await ground.pass(60_000);
    expect(names(await ground.annotations("a"))).toEqual([
      "available-cpu",
      "available-memory",
      "observed-at",
    ]);
  });

  test("lose the cost of a pair that is cut as soon as another cost would be written", async () => {
    await ground.addNodes("a", "b", "c");
    ground.links = [measuredLink("a", "b", 10), measuredLink("a", "c", 20)];
    await ground.start();
    await ground.pass(40_000);
    ground.links = [measuredLink("a", "b", 10, { lossRatio: 1, costMs: null }), measuredLink("a", "c", 20)];
    await ground.pass(6000);
    expect(names(await ground.annotations("a"))).not.toContain("network-cost-b");
    expect(names(await ground.annotations("a"))).toContain("network-cost-c");
  });

  test("keep what is no longer measured until the refresh: its age tells", async () => {
    await ground.addNodes("a", "b");
    ground.links = [measuredLink("a", "b", 10)];
    await ground.start();
    await ground.pass(5000);
    ground.links = [];
    await ground.pass(5 * MINUTE);
    expect(names(await ground.annotations("a"))).toContain("network-cost-b");
    await ground.pass(5 * MINUTE);
    expect(names(await ground.annotations("a"))).not.toContain("network-cost-b");
  });

  test("move to a new prefix, and go when they are switched off; others' stay", async () => {
    await ground.addNodes("a");
    await ground.store.patch({ ...KINDS.node, name: "a" }, { metadata: { annotations: { mine: "1" } } });
    await ground.start();
    await ground.pass(5000);
    await ground.stopWriters();
    await ground.start({ prefix: "acme.example/" });
    await ground.pass(6000);
    expect(names(await ground.annotations("a"))).toEqual([
      "acme.example/available-cpu",
      "acme.example/available-memory",
      "acme.example/observed-at",
      "mine",
    ]);
    await ground.stopWriters();
    await ground.start({ prefix: "acme.example/", nodes: false });
    await ground.pass(6000);
    expect(await ground.annotations("a")).toEqual({ mine: "1" });
  });

  test("have bare names when there is no prefix", async () => {
    await ground.addNodes("a", "b");
    ground.links = [measuredLink("a", "b", 3)];
    await ground.start({ prefix: "" });
    await ground.pass(6000);
    expect(names(await ground.annotations("a"))).toEqual([
      "available-cpu",
      "available-memory",
      "network-cost-b",
      "observed-at",
    ]);
  });

  test("are not written any more when no graphs are built", async () => {
    await ground.addNodes("a");
    await ground.start();
    await ground.pass(10_000);
    ground.lastBuildMs = ground.clock.now();
    ground.sent.length = 0;
    await ground.pass(20 * MINUTE);
    expect(ground.sent).toEqual([]);
    ground.lastBuildMs = null;
    await ground.pass(10_000);
    expect(ground.sent.length).toBe(1);
  });

  test("wait until the windows have filled", async () => {
    await ground.addNodes("a");
    await ground.start({ warmUpMs: 20_000 });
    await ground.pass(18_000);
    expect(ground.sent).toEqual([]);
    await ground.pass(10_000);
    expect(ground.sent.length).toBe(1);
  });
});

describe("another field manager", () => {
  const byHand = { fieldManager: "kubectl-annotate" };
  const set = (value: string | null): Promise<KubernetesObject> =>
    ground.store.patch(
      { ...KINDS.node, name: "a" },
      { metadata: { annotations: { "isochrone.dev/available-cpu": value } } },
      byHand,
    );

  test("keeps its field; the others are written, and it is told once by log, metric and Event", async () => {
    await ground.addNodes("a");
    await set("1");
    await ground.start();
    await ground.pass(5 * MINUTE);
    const annotations = await ground.annotations("a");
    expect(annotations["isochrone.dev/available-cpu"]).toBe("1");
    expect(annotations["isochrone.dev/available-memory"]).toBe("4194304Ki");
    expect(ground.events.map(({ name, event }) => [name, event.reason])).toEqual([
      ["a", "AnnotationConflict"],
    ]);
    expect(ground.logger.events("warn")).toEqual(["annotations are left to another field manager"]);
    expect(await ground.metric("isochrone_aggregator_annotation_conflicts_total", { kind: "node" })).toBe(1);
    expect(await ground.metric("isochrone_aggregator_annotations_disputed", { kind: "node" })).toBe(1);
    // The refused one and the next.
    expect(ground.sent.length).toBe(2);
    await ground.pass(20 * MINUTE);
    expect((await ground.annotations("a"))["isochrone.dev/available-cpu"]).toBe("1");
  });

  test("gives a field back by removing it", async () => {
    await ground.addNodes("a");
    await set("1");
    await ground.start();
    await ground.pass(10_000);
    await set(null);
    await ground.pass(MINUTE);
    expect((await ground.annotations("a"))["isochrone.dev/available-cpu"]).toBe("2000m");
  });

  test("that takes a field over later is not fought", async () => {
    await ground.addNodes("a");
    await ground.start();
    await ground.pass(10_000);
    await set("77");
    await ground.pass(25 * MINUTE);
    expect((await ground.annotations("a"))["isochrone.dev/available-cpu"]).toBe("77");
    expect(ground.events.length).toBe(1);
  });
});

describe("the API server", () => {
  test("that is away holds nothing up for good", async () => {
    await ground.addNodes("a", "b", "c");
    ground.fault = () => new StoreError("unavailable", "connection refused");
    await ground.start();
    await ground.pass(3 * MINUTE);
    // With growing pauses.
    expect(ground.sent.length).toBeLessThan(40);
    ground.fault = null;
    await ground.pass(90_000);
    expect(names(await ground.annotations("c"))).toContain("available-cpu");
  });

  test("that forbids it is told so once, with the verb and the resource", async () => {
    await ground.addNodes("a", "b", "c");
    ground.fault = () => new StoreError("forbidden", "nodes is forbidden");
    await ground.start();
    await ground.pass(4 * MINUTE);
    const warnings = ground.logger.lines.filter(({ level }) => level === "warn");
    expect(warnings.map(({ fields }) => [fields["verb"], fields["resource"]])).toEqual([["patch", "nodes"]]);
    expect(ground.sent.length).toBeLessThanOrEqual(3);
  });

  test("does not bring a deleted node back, nor write onto its successor what was meant for it", async () => {
    await ground.addNodes("a", "b");
    // Deletes the object during the write.
    ground.before = async (name) => {
      if (name !== "a") return;
      ground.before = null;
      await ground.store.delete({ ...KINDS.node, name });
    };
    await ground.start();
    await ground.pass(10_000);
    expect(
      await ground.metric("isochrone_aggregator_annotation_writes_total", { kind: "node", result: "gone" }),
    ).toBe(1);
    expect(await ground.store.get({ ...KINDS.node, name: "a" })).toBeNull();
    expect(names(await ground.annotations("b"))).toContain("available-cpu");
  });
});

describe("several replicas", () => {
  const owning = (own: string[], isLeader: boolean): Parameters<WriterTestbed["start"]>[1] => ({
    owns: (object) => own.includes(object),
    isLeader: () => isLeader,
    replicas: () => 2,
  });
  const nodes = Array.from({ length: 70 }, (_, index) => `n${index}`);

  test("write what is their own, within their share of the budget", async () => {
    await ground.addNodes(...nodes);
    const mine = nodes.slice(0, 40).map((name) => `node/${name}`);
    await ground.start({}, owning(mine, true));
    await ground.pass(5000);
    expect(ground.sent.length).toBeLessThanOrEqual(26);
    await ground.pass(10_000);
    expect(new Set(ground.sent.map(({ name }) => `node/${name}`))).toEqual(new Set(mine));
  });

  test("leave all of a small cluster to the leader, so that its figures come from one graph", async () => {
    await ground.addNodes("a", "b");
    await ground.start({}, owning(["node/a", "node/b"], false));
    await ground.pass(10_000);
    expect(ground.sent).toEqual([]);
  });

  test("write coordinates in one frame, whoever's fit they are from", async () => {
    await ground.addNodes(...nodes);
    const place = (index: number): number[] => [index % 8, Math.floor(index / 8) * 3, 1];
    const at = (coordinate: (index: number) => number[]): void => {
      ground.nodes = nodes.map((name, index) => graphNode(name, { coordinate: coordinate(index) }));
    };
    at(place);
    await ground.start(
      {},
      owning(
        nodes.slice(0, 40).map((name) => `node/${name}`),
        true,
      ),
    );
    await ground.pass(15_000);
    await ground.stopWriters();
    // The other replica's fit is rotated by 90 degrees, mirrored and translated.
    at((index) => [place(index)[1]! + 100, place(index)[0]! - 7, 1]);
    await ground.start(
      {},
      owning(
        nodes.slice(40).map((name) => `node/${name}`),
        false,
      ),
    );
    await ground.pass(15_000);
    const written = await Promise.all(nodes.map((name) => ground.annotations(name)));
    const coordinates = written.map(
      (annotations) => JSON.parse(annotations["isochrone.dev/network-coordinate"]!) as number[],
    );
    for (const [index, coordinate] of coordinates.entries())
      for (const [axis, value] of place(index).entries()) expect(coordinate[axis]).toBeCloseTo(value, 2);
  });

  test("begin no frame of coordinates unless they lead", async () => {
    await ground.addNodes(...nodes);
    ground.nodes = nodes.map((name, index) => graphNode(name, { coordinate: [index, 1] }));
    await ground.start(
      {},
      owning(
        nodes.map((name) => `node/${name}`),
        false,
      ),
    );
    await ground.pass(30_000);
    const annotations = await ground.annotations("n0");
    expect(names(annotations)).toEqual(["available-cpu", "available-memory", "observed-at"]);
    expect(
      await ground.metric("isochrone_aggregator_annotation_skipped_total", { reason: "no_frame" }),
    ).toBeGreaterThan(0);
  });
});
