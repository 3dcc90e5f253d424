import { KINDS } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { MANIFEST_VALUES } from "../../harness/components/index.ts";
import { annotate, type AdmissionTestbed } from "./testbed.ts";

const { CANARY_NAMESPACE, GATE } = MANIFEST_VALUES;
const POD = "/api/v1/namespaces/default/pods/pod-0";
const GATED = "/api/v1/namespaces/default/pods/gated";

export function describePods(testbed: AdmissionTestbed): void {
  describe("of a pod", () => {
    const affinity = (node: string): object => ({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }],
        },
      },
    });
    const other = { name: "example.com/other" };

    test("our annotations, the nomination, the affinity under our gate and the end of our gate pass", async () => {
      expect(
        await testbed.verdict(
          "scheduler-plugin",
          "PATCH",
          GATED,
          annotate({ "isochrone.dev/decision": "n1" }),
        ),
      ).toBe("ok");
      expect(
        await testbed.verdict("scheduler-plugin", "PATCH", `${GATED}/status`, {
          status: { nominatedNodeName: "node-0" },
        }),
      ).toBe("ok");
      expect(
        await testbed.verdict("scheduler-plugin", "PATCH", GATED, { spec: { affinity: affinity("node-0") } }),
      ).toBe("ok");
      expect(
        await testbed.verdict("scheduler-plugin", "PATCH", GATED, { spec: { schedulingGates: [other] } }),
      ).toBe("ok");
      const pod = (await testbed.cluster.get({ ...KINDS.pod, namespace: "default", name: "gated" }))!;
      expect(pod).toMatchObject({
        spec: { schedulingGates: [other] },
        status: { nominatedNodeName: "node-0" },
      });
    });

    test("without our gate neither the affinity nor another's gate may change", async () => {
      expect(
        await testbed.denialOf("scheduler-plugin", ["PATCH", GATED, { spec: { schedulingGates: null } }]),
      ).toContain("spec.schedulingGates");
      const narrower = affinity("node-0") as { nodeAffinity: Record<string, unknown> };
      const preferred = { weight: 1, preference: { matchExpressions: [{ key: "a", operator: "Exists" }] } };
      narrower.nodeAffinity["preferredDuringSchedulingIgnoredDuringExecution"] = [preferred];
      expect(
        await testbed.denialOf("scheduler-plugin", ["PATCH", GATED, { spec: { affinity: narrower } }]),
      ).toContain("spec.affinity");
    });

    test("a gate of another's stays when ours goes", async () => {
      await testbed.cluster.createPods(["twice"], { schedulingGates: [GATE, other.name] });
      const path = "/api/v1/namespaces/default/pods/twice";
      expect(
        await testbed.denialOf("scheduler-plugin", ["PATCH", path, { spec: { schedulingGates: null } }]),
      ).toContain("spec.schedulingGates");
      expect(
        await testbed.denialOf("scheduler-plugin", [
          "PATCH",
          path,
          { spec: { schedulingGates: [{ name: GATE }] } },
        ]),
      ).toContain("spec.schedulingGates");
    });

    test.each<[string, string, object, string]>([
      [
        "the image",
        POD,
        [{ op: "replace", path: "/spec/containers/0/image", value: "other" }],
        "spec.containers",
      ],
      ["the deadline", POD, { spec: { activeDeadlineSeconds: 1 } }, "spec.activeDeadlineSeconds"],
      [
        "a toleration",
        POD,
        [{ op: "add", path: "/spec/tolerations/-", value: { operator: "Exists" } }],
        "spec.tolerations",
      ],
      ["a label", POD, { metadata: { labels: { app: "x" } } }, "metadata.labels"],
      [
        "a foreign annotation",
        POD,
        annotate({ "example.com/a": "1" }),
        "metadata.annotations[example.com/a]",
      ],
      ["the phase", `${POD}/status`, { status: { phase: "Failed" } }, "status.phase"],
      [
        "a condition",
        `${POD}/status`,
        { status: { conditions: [{ type: "Ready", status: "True" }] } },
        "status.conditions",
      ],
      [
        "a label through the status",
        `${POD}/status`,
        { metadata: { labels: { app: "x" } } },
        "metadata.labels",
      ],
    ])("%s is denied, by its name", async (_, path, patch, named) => {
      expect(await testbed.denialOf("scheduler-plugin", ["PATCH", path, patch])).toContain(named);
    });

    test("none is bound, deleted or given a container", async () => {
      const binding = {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: "pod-0" },
        target: { kind: "Node", name: "node-0" },
      };
      expect(await testbed.denialOf("scheduler-plugin", ["POST", `${POD}/binding`, binding])).toContain(
        "binds none",
      );
      expect(await testbed.denialOf("scheduler-plugin", ["DELETE", POD])).toContain("deletes no pods");
      const debug = { spec: { ephemeralContainers: [{ name: "debug", image: "none" }] } };
      const said = await testbed.verdict(
        "scheduler-plugin",
        "PATCH",
        `${POD}/ephemeralcontainers?dryRun=All`,
        debug,
      );
      expect(said).toContain("may not change the containers of a Pod");
    });

    test("canaries alone are created and deleted, and only harmless ones", async () => {
      const canary = (
        spec: object = {},
        labels: Record<string, string> = { "isochrone.dev/canary": "managed-resource" },
      ): object => ({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "canary", labels },
        spec: {
          automountServiceAccountToken: false,
          containers: [{ name: "pause", image: "none" }],
          ...spec,
        },
      });
      const pods = `/api/v1/namespaces/${CANARY_NAMESPACE}/pods`;
      expect(
        await testbed.denialOf("scheduler-plugin", ["POST", "/api/v1/namespaces/default/pods", canary()]),
      ).toContain("creates no pods but canaries");
      expect(await testbed.denialOf("scheduler-plugin", ["POST", pods, canary({}, {})])).toContain(
        "creates no pods but canaries",
      );
      for (const spec of [
        { automountServiceAccountToken: true },
        { serviceAccountName: "isochrone-aggregator" },
        { hostNetwork: true },
        { nodeName: "node-0" },
        { volumes: [{ name: "host", hostPath: { path: "/" } }] },
      ])
        expect(await testbed.denialOf("scheduler-plugin", ["POST", pods, canary(spec)])).toContain(
          "a canary has one container",
        );
      expect(await testbed.verdict("scheduler-plugin", "POST", pods, canary())).toBe("ok");
      expect(await testbed.verdict("scheduler-plugin", "DELETE", `${pods}/canary`)).toBe("ok");
    });
  });
}
