import { setTimeout as sleep } from "node:timers/promises";
import { KINDS } from "@isochrone/kubernetes";
import { ApiError, podObject, workloadObject, type ControlPlane } from "../control-plane/index.ts";
import { manifest, MANIFEST_VALUES, POLICY_FILES } from "./manifests.ts";

const ENFORCED_WITHIN_MS = 30_000;
const POLL_MS = 100;
const DEFAULT = "/namespaces/default";
/** An object per policy that the probe may never create. */
const TRIALS: readonly (readonly [collection: string, object: object])[] = [
  ["/api/v1/nodes", { ...KINDS.node, metadata: { name: "trial" } }],
  [`/apis/apps/v1${DEFAULT}/deployments`, workloadObject("trial", {})],
  [`/api/v1${DEFAULT}/pods`, podObject("trial", {})],
  [`/api/v1${DEFAULT}/configmaps`, { ...KINDS.configMap, metadata: { name: "trial" } }],
  [
    `/apis/${KINDS.appGroup.apiVersion}${DEFAULT}/appgroups`,
    {
      ...KINDS.appGroup,
      metadata: { name: "trial" },
      spec: { numMembers: 1, topologySortingAlgorithm: "KahnSort", workloads: [] },
    },
  ],
  [
    `/apis/${KINDS.networkTopology.apiVersion}${DEFAULT}/networktopologies`,
    { ...KINDS.networkTopology, metadata: { name: "trial" }, spec: { configmapName: "trial", weights: [] } },
  ],
  [
    `/apis/${KINDS.mutatingWebhookConfiguration.apiVersion}/mutatingwebhookconfigurations`,
    { ...KINDS.mutatingWebhookConfiguration, metadata: { name: "trial" }, webhooks: [] },
  ],
];

/** Resolves when every policy is enforced. Needs the AppGroup and NetworkTopology CRDs. */
export async function installPolicies(cluster: ControlPlane): Promise<void> {
  await cluster.create(POLICY_FILES.flatMap((name) => manifest("admission", name)));
  const deadlineMs = performance.now() + ENFORCED_WITHIN_MS;
  for (const [collection, object] of TRIALS) {
    while (!(await isDenied(cluster, collection, object))) {
      if (performance.now() > deadlineMs)
        throw new Error(`no admission policy denies POST ${collection} within ${ENFORCED_WITHIN_MS} ms`);
      await sleep(POLL_MS);
    }
  }
}

/** Whether admission denies the object to the probe, which has RBAC permission here. */
async function isDenied(cluster: ControlPlane, collection: string, object: object): Promise<boolean> {
  const { NAMESPACE, NAME } = MANIFEST_VALUES;
  const headers = {
    "impersonate-user": `system:serviceaccount:${NAMESPACE}:${NAME}-probe`,
    "impersonate-group": "system:masters",
  };
  try {
    await cluster.request("POST", `${collection}?dryRun=All`, object, { headers });
    return false;
  } catch (error) {
    if (error instanceof ApiError && error.code === 403) return true;
    throw error;
  }
}
