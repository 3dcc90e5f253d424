import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ReplicaRig } from "../../testing/replica-rig.ts";

let rig: ReplicaRig;

beforeEach(() => {
  rig = new ReplicaRig();
});

afterEach(() => rig.stop());

const PROPOSAL = { "isochrone.dev/replicas": "proposal" };
const METRIC = { "isochrone.dev/replicas": "metric" };
const SCALE = { "isochrone.dev/replicas": "scale" };
/** Cool-down and surplus time, in frames. */
const COOL_DOWN = 5;
const SURPLUS = 11;

describe("a proposal", () => {
  test("says what each zone needs and why, and nothing is written", async () => {
    await rig.app(["w1", "e1"], PROPOSAL);
    rig.rates = { db: { west: 250, east: 20 } };
    await rig.start();
    await rig.frames(COOL_DOWN + SURPLUS);
    const row = await rig.row();
    expect(row).toMatchObject({ mode: "proposal", state: "changing", replicas: 2, refused: null });
    expect(row.workload).toEqual({ kind: "Deployment", name: "db" });
    const [east, west] = row.zones;
    expect(east).toMatchObject({ zone: "east", replicas: 1, wanted: 1, reason: null });
    expect(west!.wanted).toBeGreaterThanOrEqual(3);
    expect(west!.inTimeRatio).toBeLessThan(0.5);
    expect(west!.reason).toMatch(/requests\/s more in time, of 2\d\d expected/);
    expect(row.changes.every(({ kind, zone, isDone }) => kind === "add" && zone === "west" && !isDone)).toBe(
      true,
    );
    expect(rig.writes).toEqual([]);
    expect(await rig.events()).toEqual([]);
    expect((await rig.metric()).status).toBe(404);
  });

  test("is refused in the same words, and says so to nobody but who asks", async () => {
    await rig.app(["w1"], { ...PROPOSAL, "isochrone.dev/capacity": "0" });
    rig.rates = { db: { west: 250 } };
    await rig.start();
    await rig.frames(1);
    expect(await rig.row()).toMatchObject({
      state: "refused",
      refused: { reason: "annotation" },
      wanted: null,
    });
    expect([rig.writes, await rig.events()]).toEqual([[], []]);
  });
});

describe("an image", () => {
  test.each([
    // 19 more requests/s in time for five minutes are worth 57 GB.
    [1_000, 2],
    [1_000_000, 1],
  ])("of %d MB that no node of a zone has must be worth it: %d replicas there", async (mb, replicas) => {
    await rig.app(["w1", "e1"], PROPOSAL);
    rig.image = { on: ["e1", "e2"], mb };
    rig.rates = { db: { west: 90, east: 90 } };
    await rig.start();
    await rig.frames(1);
    expect((await rig.wanted()).west).toBe(replicas);
    expect((await rig.wanted()).east).toBe(2);
  });

  test("of that size costs nothing where one node with room has it", async () => {
    await rig.app(["w1", "e1"], PROPOSAL);
    rig.image = { on: ["w2"], mb: 1_000_000 };
    rig.rates = { db: { west: 90, east: 90 } };
    await rig.start();
    await rig.frames(1);
    expect(await rig.wanted()).toEqual({ east: 1, west: 2 });
  });
});

describe("the metric", () => {
  test("is the number that an autoscaler should have, and falls only when less would do for long", async () => {
    await rig.app(["w1", "e1", "n1"], METRIC);
    rig.rates = { db: { west: 250, east: 20, north: 20 } };
    await rig.start(["replicas"]);
    await rig.frames(2);
    const { status, wanted } = await rig.metric();
    expect(status).toBe(200);
    expect(wanted).toBe((await rig.row()).wanted);
    expect(Number(wanted)).toBeGreaterThan(4);
    expect(await rig.metrics()).toContain(
      `isochrone_orchestration_wanted_replicas{namespace="shop",service="db"} ${Number(wanted)}`,
    );
    for (const at of ["w1", "w2", "w1"]) await rig.addPod(at);
    rig.rates = { db: { west: 20, east: 20, north: 20 } };
    await rig.frames(SURPLUS);
    expect((await rig.metric()).wanted).toBe(6);
    await rig.frames(12 + SURPLUS);
    expect((await rig.metric()).wanted).toBeLessThan(6);
    expect(rig.writes).toEqual([]);
  });

  test("counts pods that have no node yet as those that are wanted, wherever they are going to be", async () => {
    await rig.app(["w1", "e1"], METRIC);
    rig.rates = { db: { west: 250, east: 20 } };
    await rig.start(["replicas"]);
    const { zones, wanted } = await rig.row();
    for (let more = 2; more < wanted!; more++) await rig.addPod(null);
    await rig.frames(1);
    const row = await rig.row();
    expect(row).toMatchObject({ replicas: wanted, wanted, changes: [] });
    expect(row.zones.map(({ zone, wanted: count }) => [zone, count])).toEqual(
      zones.map(({ zone, wanted: count }) => [zone, count]),
    );
    await rig.addPod(null);
    await rig.frames(1);
    expect((await rig.row()).wanted).toBe(wanted! + 1);
  });

  test("is known while a replica runs on a node that the graph doesn't show yet", async () => {
    await rig.app(["w1", "e1"], METRIC);
    rig.rates = { db: { west: 50, east: 20 } };
    await rig.start(["replicas"]);
    rig.graph = { ...rig.graph, nodes: rig.graph.nodes.filter(({ name }) => name !== "w2") };
    await rig.addPod("w2");
    await rig.frames(1);
    expect(await rig.row()).toMatchObject({ refused: null, replicas: 3, wanted: 3 });
  });

  test("marks the pods that should go, and takes the marks back when they should stay", async () => {
    await rig.app(["w1", "w1", "w2", "e1", "e1", "n1"], METRIC);
    rig.rates = { db: { west: 20, east: 90, north: 20 } };
    await rig.start(["replicas", "deletion-cost"]);
    await rig.frames(SURPLUS + 1);
    const marked = async () =>
      (await rig.pods())
        .filter(({ metadata }) => metadata.annotations?.["isochrone.dev/surplus"] === "true")
        .map(({ spec }) => String(spec?.nodeName));
    // One of two pods on a node goes before a pod that is alone.
    expect((await marked())[0]).toBe("w1");
    expect((await marked()).every((at) => at.startsWith("w"))).toBe(true);
    rig.rates = { db: { west: 290, east: 90, north: 20 } };
    await rig.frames(1);
    expect(await marked()).toEqual([]);
    expect(
      (await rig.pods()).every(({ metadata }) => Object.keys(metadata.annotations ?? {}).length === 0),
    ).toBe(true);
  });

  test("isn't told while the demand is stale, and nothing is changed", async () => {
    await rig.app(["w1", "e1"], METRIC);
    rig.rates = { db: { west: 250, east: 20 } };
    await rig.start(["replicas", "deletion-cost"]);
    await rig.frames(1);
    rig.isFresh = false;
    rig.writes = [];
    await rig.frames(6);
    expect((await rig.metric()).status).toBe(503);
    expect(await rig.metrics()).not.toContain("isochrone_orchestration_wanted_replicas{");
    expect(await rig.row()).toMatchObject({ state: "stale", changes: [] });
    expect(await rig.events()).toEqual(["ReplicasStale: the demand of zones is stale: nothing is changed"]);
    expect(rig.writes).toEqual([]);
    rig.isFresh = true;
    await rig.frames(1);
    expect((await rig.metric()).status).toBe(200);
  });
});

describe("scaling", () => {
  test("adds replicas, waits until they have had their time, and takes away what is too many", async () => {
    await rig.app(["w1", "e1", "n1"], SCALE);
    rig.rates = { db: { west: 250, east: 20, north: 20 } };
    await rig.start();
    expect(rig.writes).toEqual([]);
    expect((await rig.row()).state).toBe("waiting");
    await rig.frames(COOL_DOWN);
    const first = Number(await rig.replicas());
    expect(first).toBeGreaterThan(4);
    expect(rig.writes).toEqual([`scale to ${first} Deployment db`]);
    expect((await rig.events())[0]).toMatch(/^ReplicasScaled: Deployment db from 3 to \d+: add in west, /);
    await rig.follow("w1");
    await rig.frames(COOL_DOWN);
    expect(rig.writes).toHaveLength(1);
    expect((await rig.row()).state).toBe("steady");

    rig.rates = { db: { west: 1, east: 20, north: 20 } };
    for (let frame = 0; frame < 60 && (await rig.replicas()) === first; frame++) await rig.frames(1);
    expect(Number(await rig.replicas())).toBeLessThan(first);
    await rig.frames(2);
    const gone = await rig.follow("w1");
    expect(gone.every((at) => at.startsWith("w"))).toBe(true);
    expect(await rig.metrics()).toContain(
      `isochrone_orchestration_changes_total{kind="remove",result="done"} ${gone.length}`,
    );
  });

  test("changes no more in a frame than it may, of all Services together", async () => {
    await rig.app(["w1", "e1"], SCALE, "db");
    await rig.app(["w1", "e1"], SCALE, "web");
    rig.rates = { db: { west: 900 }, web: { west: 300 } };
    await rig.start();
    await rig.frames(COOL_DOWN);
    const more = Number(await rig.replicas("db")) + Number(await rig.replicas("web")) - 4;
    expect(more).toBe(10);
  });

  test("keeps two zones and two nodes, and the last replica", async () => {
    await rig.app(["w1", "e1", "e1"], SCALE);
    rig.rates = { db: { west: 0.5 } };
    await rig.start();
    for (let frame = 0; frame < 60 && (await rig.replicas()) === 3; frame++) await rig.frames(1);
    expect(await rig.replicas()).toBe(2);
    expect(await rig.follow("w1")).toEqual(["e1"]);
    await rig.frames(SURPLUS + COOL_DOWN + 6);
    expect(await rig.replicas()).toBe(2);
  });

  test("takes no replica away where Kubernetes or somebody else would say which", async () => {
    await rig.app(["w1", "w2", "w2", "e1"], SCALE);
    rig.rates = { db: { west: 1, east: 1 } };
    await rig.start(["replicas", "scale"]);
    await rig.frames(SURPLUS + COOL_DOWN);
    expect((await rig.row()).state).toBe("waiting");
    expect(rig.writes).toEqual([]);
    await rig.stop();
    rig = new ReplicaRig();
    await rig.app(["w1", "w2", "w2", "e1"], SCALE);
    const [theirs] = await rig.pods();
    await rig.store.patch(
      { apiVersion: "v1", kind: "Pod", namespace: "shop", name: theirs!.metadata.name },
      { metadata: { annotations: { "controller.kubernetes.io/pod-deletion-cost": "7" } } },
    );
    rig.rates = { db: { west: 1, east: 1 } };
    await rig.start();
    await rig.frames(SURPLUS + COOL_DOWN);
    expect(rig.writes).toEqual([]);
    expect((await rig.events()).at(-1)).toContain("somebody else sets pod-deletion-cost of");
  });

  test("stops beside an HPA, beside another Service, and where somebody sets its number back", async () => {
    await rig.app(["w1", "e1"], SCALE);
    await rig.store.create({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { namespace: "shop", name: "db-hpa" },
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "db" } },
    });
    rig.rates = { db: { west: 250, east: 20 } };
    await rig.start();
    await rig.frames(COOL_DOWN);
    expect(rig.writes).toEqual([]);
    expect((await rig.row()).refused).toMatchObject({ reason: "other_controller" });
    expect(await rig.events()).toEqual([
      "ReplicasRefused: HorizontalPodAutoscaler db-hpa scales Deployment db: have it follow the metric instead (mode metric)",
    ]);
    await rig.store.delete({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      namespace: "shop",
      name: "db-hpa",
    });
    await rig.frames(1);
    expect(Number(await rig.replicas())).toBeGreaterThan(2);

    await rig.store.scale(
      { apiVersion: "apps/v1", kind: "Deployment", namespace: "shop", name: "db" },
      { from: Number(await rig.replicas()), to: 2 },
    );
    rig.writes = [];
    await rig.frames(2 * COOL_DOWN);
    expect(rig.writes).toEqual([]);
    expect((await rig.row()).refused?.message).toContain("sets the replicas of Deployment db back");
    expect((await rig.events()).at(-1)).toContain("ReplicasRefused: somebody else sets");
  });

  test("isn't done by two Services for one Deployment", async () => {
    await rig.app(["w1", "e1"], SCALE);
    rig.rates = { db: { west: 250 }, alias: { west: 250 } };
    await rig.app([], SCALE, "alias");
    await rig.store.create({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { namespace: "shop", name: "alias-2", labels: { "kubernetes.io/service-name": "alias" } },
      addressType: "IPv4",
      endpoints: (await rig.pods()).map(({ metadata: { name } }, at) => ({
        addresses: [`10.1.0.${at}`],
        conditions: { ready: true },
        targetRef: { kind: "Pod", name },
      })),
    });
    await rig.start();
    await rig.frames(COOL_DOWN);
    expect(rig.writes).toEqual([]);
    for (const name of ["db", "alias"])
      expect((await rig.row(name)).refused).toMatchObject({ reason: "other_controller" });
  });

  test("never reaches a workload of another namespace, whatever a slice names", async () => {
    await rig.app([], SCALE);
    await rig.store.create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        namespace: "victim",
        name: "web-1-a",
        labels: { "pod-template-hash": "1" },
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1", uid: "rs-web", controller: true },
        ],
      },
      spec: { containers: [{ name: "main", image: "none" }], nodeName: "w1" },
    });
    await rig.store.create({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { namespace: "shop", name: "db-2", labels: { "kubernetes.io/service-name": "db" } },
      addressType: "IPv4",
      endpoints: [
        {
          addresses: ["10.1.0.9"],
          conditions: { ready: true },
          targetRef: { kind: "Pod", name: "web-1-a", namespace: "victim" },
        },
      ],
    });
    rig.rates = { db: { west: 900 } };
    await rig.start();
    await rig.frames(COOL_DOWN);
    expect(await rig.row()).toMatchObject({ state: "idle", workload: null });
    expect(rig.writes).toEqual([]);
  });

  test("leaves a Deployment alone whose pods aren't as many as it wants", async () => {
    await rig.app(["w1", "e1"], SCALE);
    await rig.addPod("w2");
    rig.rates = { db: { west: 450, east: 20 } };
    await rig.start();
    await rig.frames(COOL_DOWN);
    expect(await rig.replicas()).toBe(2);
    expect((await rig.row()).changes.every(({ isDone }) => !isDone)).toBe(true);
    expect(await rig.metrics()).toMatch(
      /isochrone_orchestration_changes_total\{kind="add",result="failed"\} \d/,
    );
  });
});
