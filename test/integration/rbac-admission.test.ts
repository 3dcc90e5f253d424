import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport } from "../harness/control-plane/index.ts";
import { AdmissionTestbed, annotate, NODE, OURS } from "./rbac-admission/testbed.ts";
import { describeDispatch } from "./rbac-admission/dispatch.ts";
import { describeMovingPods } from "./rbac-admission/moving-pods.ts";
import { describeNodesAndWorkloads } from "./rbac-admission/nodes.ts";
import { describeOwnObjects } from "./rbac-admission/own-objects.ts";
import { describePods } from "./rbac-admission/pods.ts";
import { describeStreamAuthors } from "./rbac-admission/stream-authors.ts";
import { describeStreams } from "./rbac-admission/streams.ts";
import { describeWebhooks } from "./rbac-admission/webhooks.ts";

const WORKLOADS = "/apis/apps/v1/namespaces/default";
const DEPLOYMENT = `${WORKLOADS}/deployments/web`;
const POD = "/api/v1/namespaces/default/pods/pod-0";
const COST = "controller.kubernetes.io/pod-deletion-cost";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`admission policies are not tested: ${support.reason}`);

describe.runIf(support.supported)("admission policies on a real API server", { timeout: 30_000 }, () => {
  const testbed = new AdmissionTestbed();
  beforeAll(() => testbed.start(), 900_000);
  afterAll(() => testbed.close());

  describeNodesAndWorkloads(testbed);
  describePods(testbed);
  describeMovingPods(testbed);
  describeOwnObjects(testbed);
  describeWebhooks(testbed);
  describeDispatch(testbed);
  describeStreams(testbed);
  describeStreamAuthors(testbed);

  describe("of what makes replicas come and go", () => {
    const to = (replicas: number): object => ({ spec: { replicas } });

    test("a Deployment is scaled by the scheduler-plugin, never to none and never far at once", async () => {
      const scale = `${DEPLOYMENT}/scale`;
      const step = [
        { op: "test", path: "/spec/replicas", value: 2 },
        { op: "replace", path: "/spec/replicas", value: 3 },
      ];
      expect(await testbed.verdict("scheduler-plugin", "PATCH", `${scale}?dryRun=All`, step)).toBe("ok");
      for (const replicas of [0, 103])
        expect(await testbed.denialOf("scheduler-plugin", ["PATCH", scale, to(replicas)])).toContain(
          "no Deployment to none",
        );
      for (const account of ["aggregator", "uninstall"] as const)
        expect(await testbed.denialOf(account, ["PATCH", scale, to(3)])).toContain("scales nor deletes");
      expect(await testbed.denialOf("scheduler-plugin", ["PATCH", DEPLOYMENT, to(3)])).toContain(
        "scales nor deletes",
      );
      const replicaSet = `${WORKLOADS}/replicasets/web-1/scale`;
      expect(await testbed.denialOf("scheduler-plugin", ["PATCH", replicaSet, to(3)])).toContain(
        "scales nor deletes",
      );
    });

    test("the cost of a pod's deletion is ours or nobody's", async () => {
      const ours = annotate({ [COST]: "-100", "isochrone.dev/surplus": "true" });
      expect(await testbed.verdict("scheduler-plugin", "PATCH", POD, ours)).toBe("ok");
      const back = annotate({ [COST]: null, "isochrone.dev/surplus": null });
      expect(await testbed.verdict("scheduler-plugin", "PATCH", POD, back)).toBe("ok");
      for (const other of ["-2147483648", "-101", "0", "7", "-1.5", ""])
        expect(
          await testbed.denialOf("scheduler-plugin", ["PATCH", POD, annotate({ [COST]: other })]),
        ).toContain(COST);
      const missed = (cost: string | null): object =>
        annotate({ [COST]: cost, "isochrone.dev/deletion-cost": cost });
      for (const cost of ["-99", "-1", null])
        expect(await testbed.verdict("scheduler-plugin", "PATCH", POD, missed(cost))).toBe("ok");
      expect(await testbed.denialOf("aggregator", ["PATCH", POD, annotate({ [COST]: "-100" })])).toContain(
        COST,
      );
      expect(await testbed.verdict("stranger", "PATCH", POD, annotate({ [COST]: "7" }))).toBe("ok");
      for (const value of ["-100", null])
        expect(
          await testbed.denialOf("scheduler-plugin", ["PATCH", POD, annotate({ [COST]: value })]),
        ).toContain(COST);
      // Rejects even a value that could be ours.
      expect(await testbed.verdict("stranger", "PATCH", POD, annotate({ [COST]: "-50" }))).toBe("ok");
      expect(await testbed.denialOf("scheduler-plugin", ["PATCH", POD, missed("-60")])).toContain(COST);
      expect(await testbed.verdict("stranger", "PATCH", POD, annotate({ [COST]: null }))).toBe("ok");
    });
  });

  test.each(OURS)("the account of the %s changes nothing that only people change", async (caller) => {
    const said = await testbed.verdict(caller, "PATCH", `${NODE}?dryRun=All`, {
      spec: { unschedulable: true },
    });
    expect(said).toContain("spec.unschedulable");
  });
});
