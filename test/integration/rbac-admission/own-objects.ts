import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { MANIFEST_VALUES } from "../../harness/components/index.ts";
import { annotate, type AdmissionTestbed } from "./testbed.ts";

const { NAMESPACE } = MANIFEST_VALUES;
const APP_GROUPS = "/apis/appgroup.diktyo.x-k8s.io/v1alpha1/namespaces/default/appgroups";
const TOPOLOGIES = "/apis/networktopology.diktyo.x-k8s.io/v1alpha1/namespaces/default/networktopologies";

export function describeOwnObjects(testbed: AdmissionTestbed): void {
  describe("of what RBAC can't name", () => {
    const object = (name: string, more: object = {}): object => ({ metadata: { name }, ...more });
    const secrets = `/api/v1/namespaces/${NAMESPACE}/secrets`;
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
    const configMaps = "/api/v1/namespaces/default/configmaps";

    test("our own objects are created", async () => {
      expect(
        await testbed.verdict(
          "aggregator",
          "POST",
          secrets,
          object("isochrone-probe-keys", { type: "Opaque" }),
        ),
      ).toBe("ok");
      expect(
        await testbed.verdict(
          "aggregator",
          "POST",
          secrets,
          object("isochrone-record-keys", { type: "Opaque" }),
        ),
      ).toBe("ok");
      expect(await testbed.verdict("aggregator", "POST", configMaps, object("netperf-metrics"))).toBe("ok");
      expect(await testbed.verdict("aggregator", "POST", leases, object("isochrone-aggregator"))).toBe("ok");
      expect(await testbed.verdict("aggregator", "POST", leases, object("isochrone-aggregator-0"))).toBe(
        "ok",
      );
      expect(await testbed.verdict("aggregator", "DELETE", `${leases}/isochrone-aggregator-0`)).toBe("ok");
      expect(
        await testbed.verdict("scheduler-plugin", "POST", leases, object("isochrone-scheduler-plugin")),
      ).toBe("ok");
    });

    test("no other one is", async () => {
      expect(await testbed.denialOf("aggregator", ["POST", secrets, object("other")])).toContain(
        "secrets isochrone/other: metadata.name",
      );
      expect(await testbed.denialOf("aggregator", ["POST", configMaps, object("other")])).toContain(
        "configmaps default/other: metadata.name",
      );
      expect(await testbed.denialOf("aggregator", ["POST", leases, object("other")])).toContain(
        "leases isochrone/other: metadata.name",
      );
      expect(
        await testbed.denialOf("aggregator", ["DELETE", `${leases}/isochrone-scheduler-plugin`]),
      ).toContain("metadata.name");
      expect(
        await testbed.denialOf("scheduler-plugin", ["DELETE", `${leases}/isochrone-aggregator`]),
      ).toContain("metadata.name");
      expect(
        await testbed.denialOf("scheduler-plugin", ["POST", leases, object("isochrone-aggregator-9")]),
      ).toContain("metadata.name");
    });

    test("a Secret that would be filled with an account's token is denied", async () => {
      await testbed.client("stranger").request("DELETE", `${secrets}/isochrone-probe-keys`);
      const stolen = {
        type: "kubernetes.io/service-account-token",
        metadata: {
          name: "isochrone-probe-keys",
          annotations: { "kubernetes.io/service-account.name": "isochrone-scheduler-plugin" },
        },
      };
      expect(await testbed.denialOf("aggregator", ["POST", secrets, stolen])).toContain("must be Opaque");
    });
  });

  describe("of KEP-260's objects", () => {
    const group = (annotations: Record<string, string> = {}): KubernetesObject => ({
      ...KINDS.appGroup,
      metadata: { name: "flow", namespace: "default", annotations },
      spec: { numMembers: 1, topologySortingAlgorithm: "KahnSort", workloads: [] },
    });

    test("the aggregator keeps the AppGroups that it has made, and the scheduler-plugin the status", async () => {
      const made = group({ "isochrone.dev/appgroup-generated": "1" });
      expect(await testbed.verdict("aggregator", "POST", APP_GROUPS, made)).toBe("ok");
      expect(
        await testbed.verdict("aggregator", "PATCH", `${APP_GROUPS}/flow`, { spec: { numMembers: 2 } }),
      ).toBe("ok");
      const status = {
        status: { runningWorkloads: 1 },
        ...annotate({ "isochrone.dev/appgroup-faults": "none" }),
      };
      expect(await testbed.verdict("scheduler-plugin", "PATCH", `${APP_GROUPS}/flow`, status)).toBe("ok");
      expect(
        await testbed.denialOf("aggregator", [
          "PATCH",
          `${APP_GROUPS}/flow`,
          { status: { runningWorkloads: 2 } },
        ]),
      ).toContain("status.runningWorkloads");
      expect(
        await testbed.denialOf("scheduler-plugin", [
          "PATCH",
          `${APP_GROUPS}/flow`,
          { spec: { numMembers: 3 } },
        ]),
      ).toContain("spec.numMembers");
      expect(await testbed.denialOf("scheduler-plugin", ["DELETE", `${APP_GROUPS}/flow`])).toContain(
        "only Isochrone's aggregator",
      );
      expect(
        await testbed.denialOf("collector", ["PATCH", `${APP_GROUPS}/flow`, { spec: { numMembers: 3 } }]),
      ).toContain("only Isochrone's aggregator");
      expect(await testbed.verdict("aggregator", "DELETE", `${APP_GROUPS}/flow`)).toBe("ok");
    });

    test("an AppGroup of somebody else is left alone", async () => {
      expect(await testbed.denialOf("aggregator", ["POST", APP_GROUPS, group()])).toContain(
        "somebody else's",
      );
      await testbed.cluster.create(group());
      expect(
        await testbed.denialOf("aggregator", ["PATCH", `${APP_GROUPS}/flow`, { spec: { numMembers: 3 } }]),
      ).toContain("somebody else's");
      const claimed = annotate({ "isochrone.dev/appgroup-generated": "1" });
      expect(await testbed.denialOf("aggregator", ["PATCH", `${APP_GROUPS}/flow`, claimed])).toContain(
        "somebody else's",
      );
      expect(await testbed.denialOf("aggregator", ["DELETE", `${APP_GROUPS}/flow`])).toContain(
        "somebody else's",
      );
      expect(
        await testbed.verdict("scheduler-plugin", "PATCH", `${APP_GROUPS}/flow`, {
          status: { runningWorkloads: 1 },
        }),
      ).toBe("ok");
    });

    test("of one NetworkTopology NetperfCosts are written, and no other weights", async () => {
      const weights = (name: string, cost: number): object => ({
        name,
        topologyList: [
          {
            topologyKey: "topology.kubernetes.io/zone",
            originList: [{ origin: "a", costList: [{ destination: "b", networkCost: cost }] }],
          },
        ],
      });
      const topology = (name: string): object => ({
        ...KINDS.networkTopology,
        metadata: { name },
        spec: { configmapName: "netperf-metrics", weights: [weights("UserDefined", 1)] },
      });
      const path = `${TOPOLOGIES}/nt-default`;
      expect(await testbed.denialOf("aggregator", ["POST", TOPOLOGIES, topology("other")])).toContain(
        "metadata.name",
      );
      expect(await testbed.verdict("aggregator", "POST", TOPOLOGIES, topology("nt-default"))).toBe("ok");
      const written = {
        ...annotate({ "isochrone.dev/network-cost-scale": "1" }),
        spec: { weights: [weights("UserDefined", 1), weights("NetperfCosts", 5)] },
        status: { nodeCount: 1 },
      };
      expect(await testbed.verdict("aggregator", "PATCH", path, written)).toBe("ok");
      const changed = { spec: { weights: [weights("UserDefined", 2), weights("NetperfCosts", 5)] } };
      expect(await testbed.denialOf("aggregator", ["PATCH", path, changed])).toContain(
        "spec.weights of another name",
      );
      expect(await testbed.denialOf("aggregator", ["PATCH", path, { spec: { weights: [] } }])).toContain(
        "spec.weights of another name",
      );
      expect(
        await testbed.denialOf("aggregator", ["PATCH", path, { spec: { configmapName: "x" } }]),
      ).toContain("spec.configmapName");
      expect(await testbed.denialOf("aggregator", ["DELETE", path])).toContain("deletes none");
      expect(await testbed.denialOf("scheduler-plugin", ["PATCH", path, written])).toContain("metadata.name");
    });
  });
}
