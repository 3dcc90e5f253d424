import { OfflineCluster } from "@isochrone/aggregator/offline";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { controlledObjects, unplaced } from "./api-objects.ts";
import type { DumpObject } from "./read-objects.ts";

/** A dump with the pod to be scored in place of the pod of that name, read as the services read a cluster. */
export class ScoredDump {
  readonly objects: readonly DumpObject[];
  /** The pod, as if it were to be placed anew. */
  readonly pod: KubernetesObject;
  readonly cluster: OfflineCluster;
  /** All pods, those that ended included. */
  readonly pods: readonly KubernetesObject[];

  constructor(dumped: readonly DumpObject[], pod: DumpObject) {
    const isIt = ({ kind, namespace, name }: DumpObject): boolean =>
      kind === "Pod" && namespace === pod.namespace && name === pod.name;
    this.objects = [...dumped.filter((object) => !isIt(object)), unplaced(pod)];
    const objects = controlledObjects(this.objects);
    this.pod = objects.at(-1)!;
    this.pods = objects.filter(({ kind }) => kind === "Pod");
    this.cluster = new OfflineCluster(objects);
  }
}
