import { isList, looseFields } from "@isochrone/primitives";
import type { OrderFault, FaultPath } from "./order-fault.ts";

export interface WorkloadInfo {
  readonly kind: string;
  readonly name: string;
  /** Value of the pod label `appgroup.diktyo.x-k8s.io.workload`. */
  readonly selector: string;
  readonly apiVersion?: string;
  readonly namespace?: string;
}

export interface GroupWorkload {
  readonly path: FaultPath;
  readonly workload: WorkloadInfo;
  readonly dependencies: readonly GroupDependency[];
}

export interface GroupDependency {
  readonly path: FaultPath;
  readonly workload: WorkloadInfo;
}

export interface AppGroupSpec {
  readonly algorithm: string;
  readonly workloads: readonly GroupWorkload[];
}

/** Reads a spec of any shape. Leaves out and reports entries that are not workloads. */
export function readAppGroupSpec(spec: unknown): { spec: AppGroupSpec; faults: OrderFault[] } {
  const faults: OrderFault[] = [];
  const { topologySortingAlgorithm, workloads } = looseFields(spec);
  const path: FaultPath = ["spec", "workloads"];
  const entries = listOf(workloads, path, faults);
  return {
    spec: {
      algorithm: typeof topologySortingAlgorithm === "string" ? topologySortingAlgorithm : "",
      workloads: entries.flatMap((entry, index) => readWorkload(entry, [...path, index], faults)),
    },
    faults,
  };
}

function readWorkload(entry: unknown, path: FaultPath, faults: OrderFault[]): GroupWorkload[] {
  const { workload, dependencies } = looseFields(entry);
  const info = readInfo(workload, [...path, "workload"], faults);
  if (info === null) return [];
  const dependenciesPath = [...path, "dependencies"];
  return [
    {
      path,
      workload: info,
      dependencies: listOf(dependencies ?? [], dependenciesPath, faults).flatMap((dependency, index) => {
        const own = [...dependenciesPath, index];
        const { workload: target } = looseFields(dependency);
        const known = readInfo(target, [...own, "workload"], faults);
        return known === null ? [] : [{ path: own, workload: known }];
      }),
    },
  ];
}

/** The examples of KEP-260 have names only: there, the name is the selector. */
function readInfo(value: unknown, path: FaultPath, faults: OrderFault[]): WorkloadInfo | null {
  const { kind, name, selector = name, apiVersion, namespace } = looseFields(value);
  if (typeof selector !== "string" || selector === "") {
    faults.push({
      code: "MalformedSpec",
      path: [...path, "selector"],
      rule: "must be a text that is not empty",
      value: selector,
    });
    return null;
  }
  return {
    kind: typeof kind === "string" ? kind : "",
    name: typeof name === "string" ? name : selector,
    selector,
    ...(typeof apiVersion === "string" ? { apiVersion } : {}),
    ...(typeof namespace === "string" ? { namespace } : {}),
  };
}

function listOf(value: unknown, path: FaultPath, faults: OrderFault[]): readonly unknown[] {
  if (isList(value)) return value;
  faults.push({ code: "MalformedSpec", path, rule: "must be a list", value });
  return [];
}
