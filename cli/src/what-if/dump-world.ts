// The world of two files: a cluster's objects, as `score` reads them, and its graphs.
import type { World } from "@isochrone/placement";
import { ofKind, withAllocatable } from "../score/feasibility.ts";
import { readObjects } from "../score/read-objects.ts";
import { readSnapshots } from "../score/recorded-graphs.ts";

interface TextFile {
  readonly text: string;
  readonly file: string;
}

/** Throws DumpError. */
export function dumpWorld(dump: TextFile, graph: TextFile): World {
  const found = readObjects(dump.text, dump.file);
  const { cluster, workflows, demand } = readSnapshots(graph.text, graph.file);
  return {
    objects: {
      nodes: found.filter(({ kind }) => kind === "Node").map(withAllocatable),
      pods: ofKind(found, "Pod"),
      namespaces: ofKind(found, "Namespace"),
      persistentVolumes: ofKind(found, "PersistentVolume"),
      persistentVolumeClaims: ofKind(found, "PersistentVolumeClaim"),
      csiNodes: ofKind(found, "CSINode"),
      volumeAttachments: ofKind(found, "VolumeAttachment"),
      services: ofKind(found, "Service"),
      replicaSets: ofKind(found, "ReplicaSet"),
    },
    cluster,
    workflows,
    demand: demand ?? { services: [] },
  };
}
