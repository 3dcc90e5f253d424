// The admission policies of helm/isochrone/files/admission on a real API server.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport } from "../harness/control-plane/index.ts";
import { AdmissionGround, NODE, OURS } from "./rbac-admission/ground.ts";
import { describeNodesAndWorkloads } from "./rbac-admission/nodes.ts";
import { describeOwnObjects } from "./rbac-admission/own-objects.ts";
import { describePods } from "./rbac-admission/pods.ts";
import { describeWebhooks } from "./rbac-admission/webhooks.ts";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`admission policies are not tested: ${support.reason}`);

describe.runIf(support.supported)("admission policies on a real API server", { timeout: 30_000 }, () => {
  const ground = new AdmissionGround();
  beforeAll(() => ground.start(), 900_000);
  afterAll(() => ground.close());

  describeNodesAndWorkloads(ground);
  describePods(ground);
  describeOwnObjects(ground);
  describeWebhooks(ground);

  test.each(OURS)("the account of the %s changes nothing that only people change", async (caller) => {
    const said = await ground.verdict(caller, "PATCH", `${NODE}?dryRun=All`, {
      spec: { unschedulable: true },
    });
    expect(said).toContain("spec.unschedulable");
  });
});
