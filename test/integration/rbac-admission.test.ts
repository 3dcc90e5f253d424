// The admission policies of helm/isochrone/files/admission on a real API server.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport } from "../harness/control-plane/index.ts";
import { AdmissionTestbed, NODE, OURS } from "./rbac-admission/testbed.ts";
import { describeDispatch } from "./rbac-admission/dispatch.ts";
import { describeNodesAndWorkloads } from "./rbac-admission/nodes.ts";
import { describeOwnObjects } from "./rbac-admission/own-objects.ts";
import { describePods } from "./rbac-admission/pods.ts";
import { describeWebhooks } from "./rbac-admission/webhooks.ts";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`admission policies are not tested: ${support.reason}`);

describe.runIf(support.supported)("admission policies on a real API server", { timeout: 30_000 }, () => {
  const testbed = new AdmissionTestbed();
  beforeAll(() => testbed.start(), 900_000);
  afterAll(() => testbed.close());

  describeNodesAndWorkloads(testbed);
  describePods(testbed);
  describeOwnObjects(testbed);
  describeWebhooks(testbed);
  describeDispatch(testbed);

  test.each(OURS)("the account of the %s changes nothing that only people change", async (caller) => {
    const said = await testbed.verdict(caller, "PATCH", `${NODE}?dryRun=All`, {
      spec: { unschedulable: true },
    });
    expect(said).toContain("spec.unschedulable");
  });
});
