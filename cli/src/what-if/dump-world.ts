import type { World } from "@isochrone/placement";
import type { MovedBy } from "../moves/obstacles.ts";
import { completeObject } from "../score/api-objects.ts";
import { readObjects } from "../score/read-objects.ts";
import { readSnapshots } from "../score/recorded-graphs.ts";
import { objectsByKind, SCORED_BY } from "../score/scheduling-objects.ts";

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
  const objects = objectsByKind(found.map(completeObject), SCORED_BY);
  const hasControllers = objects.replicaSets.length + objects.statefulSets.length > 0;
  return {
    world: { objects, cluster, workflows, demand: demand ?? { services: [] } },
    moved: hasControllers ? objects : null,
  };
}
