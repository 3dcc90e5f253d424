import type { World } from "@isochrone/placement";
import type { MovedBy } from "../moves/obstacles.ts";
import { ofKind, withAllocatable } from "../score/feasibility.ts";
import { readObjects } from "../score/read-objects.ts";
import { readSnapshots } from "../score/recorded-graphs.ts";

interface TextFile {
  readonly text: string;
  readonly file: string;
}

/** Throws DumpError. @returns `moved` null: the file has no controllers */
export function dumpWorld(
  dump: TextFile,
  graph: TextFile,
): { readonly world: World; readonly moved: MovedBy | null } {
  const found = readObjects(dump.text, dump.file);
  const { cluster, workflows, demand } = readSnapshots(graph.text, graph.file);
  const objects = {
    nodes: found.filter(({ kind }) => kind === "Node").map(withAllocatable),
    pods: ofKind(found, "Pod"),
    namespaces: ofKind(found, "Namespace"),
    persistentVolumes: ofKind(found, "PersistentVolume"),
    persistentVolumeClaims: ofKind(found, "PersistentVolumeClaim"),
    csiNodes: ofKind(found, "CSINode"),
    volumeAttachments: ofKind(found, "VolumeAttachment"),
    services: ofKind(found, "Service"),
    replicaSets: ofKind(found, "ReplicaSet"),
    deployments: ofKind(found, "Deployment"),
    statefulSets: ofKind(found, "StatefulSet"),
    disruptionBudgets: ofKind(found, "PodDisruptionBudget"),
  };
  const hasControllers = objects.replicaSets.length + objects.statefulSets.length > 0;
  return {
    world: { objects, cluster, workflows, demand: demand ?? { services: [] } },
    moved: hasControllers ? objects : null,
  };
}
