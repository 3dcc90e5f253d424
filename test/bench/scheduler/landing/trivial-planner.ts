// The floor of the interface: nodes are known beforehand, so it only binds pods and opens gates, one more
// write per pod than plain pods.
import { PLACEMENT_GATE } from "../../../harness/planner.ts";
import type { ControlPlane } from "../../../harness/control-plane/index.ts";
import { NAMESPACE } from "./testbed.ts";

/** Same as planner.concurrentWrites. */
const CONCURRENT_PODS = 32;

/** Resolves when all gates are open. @param nodeOf target node by pod */
export async function landAtOnce(
  cluster: ControlPlane,
  pods: readonly string[],
  nodeOf: (index: number) => string,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < pods.length) {
      const index = next++;
      await landOne(cluster, pods[index]!, nodeOf(index));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_PODS }, worker));
}

async function landOne(cluster: ControlPlane, pod: string, node: string): Promise<void> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod}`;
  const matchFields = [{ key: "metadata.name", operator: "In", values: [node] }];
  const required = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
  };
  const landing = [
    { op: "test", path: "/spec/schedulingGates/0/name", value: PLACEMENT_GATE },
    { op: "remove", path: "/spec/schedulingGates/0" },
    { op: "add", path: "/spec/affinity", value: { nodeAffinity: required } },
  ];
  await cluster.request("PATCH", path, landing, "application/json-patch+json");
}
