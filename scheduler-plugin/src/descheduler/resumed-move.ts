import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject, PodRelease } from "@isochrone/kubernetes";
import { identifyPod } from "../domain/pod.ts";
import { nodeOfPod } from "./controller-pods.ts";
import type { StartedMove } from "./started-moves.ts";

export interface ReleasedPod {
  readonly pod: KubernetesObject;
  readonly release: PodRelease;
}

/**
 * The move that a previous leader began for the released pod. Its expected gain is lost, so it is finished
 * and counted but not judged.
 */
export function resumedMove({ pod, release }: ReleasedPod, coolDownMs: number, nowMs: number): StartedMove {
  const { namespace, name, uid, workflow, workloads } = identifyPod(pod);
  const { replicaSet, to, before, deadlineMs } = release;
  return {
    id: "",
    owner: { ...KINDS.replicaSet, namespace, ...replicaSet },
    namespace,
    pod: name,
    podUid: uid,
    workflow,
    workload: workloads[0] ?? name,
    from: nodeOfPod(pod) ?? "",
    to,
    atMs: nowMs,
    deadlineMs,
    coolDownMs,
    siblings: new Set(),
    before: null,
    expected: null,
    worth: null,
    release: { before },
  };
}
