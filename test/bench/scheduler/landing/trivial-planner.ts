// The floor of the interface: who knows beforehand where each pod goes, watches nothing, and only nominates
// and opens gates as fast as the API server takes it. What a planner loses against this is its own; what this
// loses against plain pods are two more writes per pod.
import { PLACEMENT_GATE } from "../../../harness/planner.ts";
import type { ControlPlane } from "../../../harness/control-plane/index.ts";
import { NAMESPACE } from "./testbed.ts";

/** As planner.concurrentWrites. */
const CONCURRENT_PODS = 32;

/** Resolves when all gates are open. @param nodeOf where the pod goes */
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
  await cluster.request("PATCH", `${path}/status`, { status: { nominatedNodeName: node } });
  const opening = [
    { op: "test", path: "/spec/schedulingGates/0/name", value: PLACEMENT_GATE },
    { op: "remove", path: "/spec/schedulingGates/0" },
  ];
  await cluster.request("PATCH", path, opening, "application/json-patch+json");
}
