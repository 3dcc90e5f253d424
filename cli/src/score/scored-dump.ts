import { OfflineCluster } from "@isochrone/aggregator/offline";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { controlledObjects, unplaced } from "./api-objects.ts";
import type { DumpObject } from "./read-objects.ts";

/** A dump in which the pod to score replaces the pod of that name, read as the services read a cluster. */
export class ScoredDump {
  readonly objects: readonly DumpObject[];
  readonly pod: KubernetesObject;
  readonly cluster: OfflineCluster;
  /** Includes finished pods. */
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
