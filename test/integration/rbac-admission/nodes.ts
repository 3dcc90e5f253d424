import { KINDS } from "@isochrone/kubernetes";
import { DEFAULT_ANNOTATION_PREFIX, writeNodeAnnotations } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { annotate, NODE, type AdmissionTestbed } from "./testbed.ts";

const BANDWIDTH_RESOURCE = "network.aware.com/bandwidth";
const REPLICA_SET = "/apis/apps/v1/namespaces/default/replicasets/web-1";
const DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/web";

export function describeNodesAndWorkloads(testbed: AdmissionTestbed): void {
  describe("of a node", () => {
    const own = { "isochrone.dev/available-cpu": "1500m", "isochrone.dev/network-cost-node-1": "1.250" };

    test("our annotations are written and removed, by a patch and by server-side apply", async () => {
      const applied = { apiVersion: "v1", kind: "Node", metadata: { name: "node-0", annotations: own } };
      const apply = (object: object): Promise<string> =>
        testbed.verdict(
          "aggregator",
          "PATCH",
          `${NODE}?fieldManager=isochrone-aggregator`,
          object,
          "application/apply-patch+yaml",
        );
      expect(await apply(applied)).toBe("ok");
      expect(await apply({ ...applied, metadata: { name: "node-0" } })).toBe("ok");
      expect(
        await testbed.verdict(
          "aggregator",
          "PATCH",
          NODE,
          annotate({
            "isochrone.dev/observed-at": "2026-11-21T12:00:00Z",
            "isochrone.dev/annotated-by": "x",
          }),
        ),
      ).toBe("ok");
      const { metadata } = (await testbed.cluster.get({ ...KINDS.node, name: "node-0" }))!;
      expect(metadata.annotations).toMatchObject({
        "isochrone.dev/observed-at": "2026-11-21T12:00:00Z",
        "example.com/owner": "them",
      });
      expect(Object.keys(metadata.annotations!)).not.toContain("isochrone.dev/available-cpu");
    });

    test("every annotation that the writer can write is let through", async () => {
      const figures = {
        availableCpuMillicores: 1500,
        availableMemoryBytes: 4e9,
        networkCostsMs: new Map([
          ["node-1", 1.25],
          ["a".repeat(63), 3],
        ]),
        coordinate: [1, 2, 3, 0.5],
      };
      const texts = [...writeNodeAnnotations(figures, Date.now())];
      expect(texts.length).toBeGreaterThan(6);
      const annotations = Object.fromEntries(
        texts.map(([key, text]) => [DEFAULT_ANNOTATION_PREFIX + key, text]),
      );
      expect(await testbed.verdict("aggregator", "PATCH", NODE, annotate(annotations))).toBe("ok");
    });

    test.each<[string, object, string]>([
      ["taints", { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }, "spec.taints"],
      ["unschedulable", { spec: { unschedulable: true } }, "spec.unschedulable"],
      ["a label", { metadata: { labels: { "example.com/rack": "2" } } }, "metadata.labels"],
      ["a label of ours", { metadata: { labels: { "isochrone.dev/zone": "2" } } }, "metadata.labels"],
      ["finalizers", { metadata: { finalizers: ["isochrone.dev/x"] } }, "metadata.finalizers"],
      [
        "owners",
        { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "1" }] } },
        "metadata.ownerReferences",
      ],
      [
        "a foreign annotation",
        annotate({ "example.com/owner": "us" }),
        "metadata.annotations[example.com/owner]",
      ],
      [
        "a new foreign annotation",
        annotate({ "example.com/new": "us" }),
        "metadata.annotations[example.com/new]",
      ],
      [
        "the removal of one",
        annotate({ "example.com/owner": null }),
        "metadata.annotations[example.com/owner]",
      ],
      [
        "what people declare under our prefix",
        annotate({ "isochrone.dev/bandwidth-capacity": "1G" }),
        "metadata.annotations[isochrone.dev/bandwidth-capacity]",
      ],
      [
        "ours together with a taint",
        { ...annotate(own), spec: { taints: [{ key: "a", effect: "NoExecute" }] } },
        "spec.taints",
      ],
    ])("%s is denied, by its name", async (_, patch, named) => {
      expect(await testbed.denialOf("aggregator", ["PATCH", NODE, patch])).toContain(named);
    });

    test("the status takes our resource and our condition, and nothing else", async () => {
      const status = `${NODE}/status`;
      const condition = {
        type: "isochrone.dev/BandwidthAdvertised",
        status: "True",
        reason: "Measured",
        message: "1 bit/s",
      };
      const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
      const amounts = (resource: string, amount: string): object => ({
        status: { capacity: { [resource]: amount }, allocatable: { [resource]: amount } },
      });
      expect(
        await testbed.verdict("aggregator", "PATCH", status, amounts(BANDWIDTH_RESOURCE, "10000000000")),
      ).toBe("ok");
      expect(
        await testbed.verdict("aggregator", "PATCH", status, amounts(BANDWIDTH_RESOURCE, "9000000000")),
      ).toBe("ok");
      expect(
        await testbed.verdict("aggregator", "PATCH", status, { status: { conditions: [ready, condition] } }),
      ).toBe("ok");
      const { status: after } = (await testbed.cluster.get({ ...KINDS.node, name: "node-0" }))!;
      expect(after).toMatchObject({ capacity: { [BANDWIDTH_RESOURCE]: "9G", cpu: "32" } });
      expect(await testbed.denialOf("aggregator", ["PATCH", status, amounts("cpu", "64")])).toContain(
        "status.capacity",
      );
      expect(
        await testbed.denialOf("aggregator", [
          "PATCH",
          status,
          { status: { allocatable: { memory: null } } },
        ]),
      ).toContain("status.allocatable");
      expect(
        await testbed.denialOf("aggregator", ["PATCH", status, amounts("example.com/gpu", "1")]),
      ).toContain("status.capacity");
      expect(
        await testbed.denialOf("aggregator", ["PATCH", status, { status: { conditions: [condition] } }]),
      ).toContain("status.conditions");
      const notReady = { ...ready, status: "False" };
      expect(
        await testbed.denialOf("aggregator", [
          "PATCH",
          status,
          { status: { conditions: [notReady, condition] } },
        ]),
      ).toContain("status.conditions");
      expect(
        await testbed.denialOf("aggregator", [
          "PATCH",
          status,
          { status: { addresses: [{ type: "InternalIP", address: "10.0.0.9" }] } },
        ]),
      ).toContain("status.addresses");
      expect(
        await testbed.denialOf("aggregator", [
          "PATCH",
          status,
          { metadata: { labels: { "example.com/rack": "2" } } },
        ]),
      ).toContain("metadata.labels");
      expect(
        await testbed.verdict(
          "aggregator",
          "PATCH",
          status,
          amounts(BANDWIDTH_RESOURCE, null as unknown as string),
        ),
      ).toBe("ok");
    });

    test("none is created or deleted", async () => {
      const node = { apiVersion: "v1", kind: "Node", metadata: { name: "node-x" } };
      expect(await testbed.denialOf("aggregator", ["POST", "/api/v1/nodes", node])).toContain(
        "neither creates nor deletes nodes",
      );
      expect(await testbed.denialOf("scheduler-plugin", ["DELETE", NODE])).toContain(
        "neither creates nor deletes nodes",
      );
    });

    test("one of the largest takes no more than the API server gives an expression", async () => {
      const annotations = Object.fromEntries(
        Array.from({ length: 400 }, (_, i) => [`example.com/a-${i}`, "x".repeat(500)]),
      );
      const images = Array.from({ length: 100 }, (_, i) => ({
        names: [`example.com/image-${i}`.padEnd(300, "x")],
        sizeBytes: i,
      }));
      await testbed.cluster.addNodes([{ name: "large", annotations }]);
      await testbed.cluster.patch({ ...KINDS.node, name: "large" }, { status: { images } }, "status");
      const costs = Object.fromEntries(
        Array.from({ length: 64 }, (_, i) => [`isochrone.dev/network-cost-node-${i}`, "1.000"]),
      );
      expect(await testbed.verdict("aggregator", "PATCH", "/api/v1/nodes/large", annotate(costs))).toBe("ok");
      const capacity = { status: { capacity: { [BANDWIDTH_RESOURCE]: "1" } } };
      expect(await testbed.verdict("aggregator", "PATCH", "/api/v1/nodes/large/status", capacity)).toBe("ok");
    });
  });

  describe("of a workload", () => {
    test("our annotations are written", async () => {
      const own = {
        "isochrone.dev/cpu-usage": "2",
        "isochrone.dev/calls": "[]",
        "isochrone.dev/traffic-db": "100",
        "isochrone.dev/observed-at": "x",
        "isochrone.dev/annotated-by": "x",
      };
      expect(await testbed.verdict("aggregator", "PATCH", DEPLOYMENT, annotate(own))).toBe("ok");
    });

    test.each<[string, object, string]>([
      ["replicas", { spec: { replicas: 0 } }, "spec.replicas"],
      [
        "an annotation of the pods",
        { spec: { template: annotate({ "isochrone.dev/cpu-usage": "1" }) } },
        "spec.template",
      ],
      ["a label", { metadata: { labels: { app: "x" } } }, "metadata.labels"],
      ["a foreign annotation", annotate({ "example.com/a": "1" }), "metadata.annotations[example.com/a]"],
      [
        "what people ask for",
        annotate({ "isochrone.dev/appgroup": "observe" }),
        "metadata.annotations[isochrone.dev/appgroup]",
      ],
    ])("%s is denied, by its name", async (_, patch, named) => {
      expect(await testbed.denialOf("aggregator", ["PATCH", DEPLOYMENT, patch])).toContain(named);
    });

    test("move records are left by the scheduler-plugin, on the controllers of pods, and nothing else is", async () => {
      const moves = annotate({ "isochrone.dev/moves": "[]", "isochrone.dev/last-move": "{}" });
      expect(await testbed.verdict("scheduler-plugin", "PATCH", REPLICA_SET, moves)).toBe("ok");
      const end = annotate({ "isochrone.dev/moves": null });
      expect(await testbed.verdict("scheduler-plugin", "PATCH", REPLICA_SET, end)).toBe("ok");
      const other = annotate({ "isochrone.dev/cpu-usage": "1" });
      expect(await testbed.denialOf("scheduler-plugin", ["PATCH", REPLICA_SET, other])).toContain(
        "metadata.annotations[isochrone.dev/cpu-usage]",
      );
      const scaled = { spec: { replicas: 3 } };
      expect(await testbed.denialOf("scheduler-plugin", ["PATCH", REPLICA_SET, scaled])).toContain(
        "spec.replicas",
      );
      for (const [account, path] of [
        ["scheduler-plugin", DEPLOYMENT],
        ["aggregator", REPLICA_SET],
        ["uninstall", DEPLOYMENT],
      ] as const)
        expect(await testbed.denialOf(account, ["PATCH", path, moves])).toMatch(
          /neither creates, scales nor deletes|metadata.annotations/,
        );
    });

    test("none is scaled, and none deleted", async () => {
      expect(
        await testbed.denialOf("aggregator", ["PATCH", `${DEPLOYMENT}/scale`, { spec: { replicas: 0 } }]),
      ).toContain("neither creates, scales nor deletes");
      expect(await testbed.denialOf("scheduler-plugin", ["DELETE", DEPLOYMENT])).toContain(
        "neither creates, scales nor deletes",
      );
    });
  });
}
