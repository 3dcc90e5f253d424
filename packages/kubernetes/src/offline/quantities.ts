// Finds invalid quantities, for which the API server rejects an object.
import { isList, isRecord, looseFields, parseDecimal } from "@isochrone/primitives";

type Path = readonly (string | number)[];

interface ObjectFault {
  readonly path: Path;
  readonly rule: string;
  readonly value: unknown;
}

/** Paths of quantities, or of objects with some, by kind. `*`: every list entry. */
const POD_SPEC: readonly Path[] = [
  ...["containers", "initContainers"].flatMap((list) => [
    [list, "*", "resources", "requests"],
    [list, "*", "resources", "limits"],
  ]),
  ["resources", "requests"],
  ["resources", "limits"],
  ["overhead"],
  ["volumes", "*", "emptyDir", "sizeLimit"],
];
const within = (folder: Path, paths: readonly Path[]): Path[] => paths.map((path) => [...folder, ...path]);
const TEMPLATE = within(["spec", "template", "spec"], POD_SPEC);
const CLAIM: readonly Path[] = [["spec", "resources", "requests"]];
const BY_KIND: Readonly<Record<string, readonly Path[]>> = {
  Pod: within(["spec"], POD_SPEC),
  Deployment: TEMPLATE,
  StatefulSet: [...TEMPLATE, ...within(["spec", "volumeClaimTemplates", "*"], CLAIM)],
  DaemonSet: TEMPLATE,
  ReplicaSet: TEMPLATE,
  ReplicationController: TEMPLATE,
  Job: TEMPLATE,
  CronJob: within(["spec", "jobTemplate"], TEMPLATE),
  Node: [
    ["status", "allocatable"],
    ["status", "capacity"],
  ],
  PersistentVolumeClaim: CLAIM,
  PersistentVolume: [["spec", "capacity"]],
  LimitRange: ["default", "defaultRequest", "min", "max"].map((field) => ["spec", "limits", "*", field]),
  RuntimeClass: [["overhead", "podFixed"]],
};
const MAX_LENGTH = 64;

export function quantityFault(kind: string, json: unknown): ObjectFault | null {
  if (!Object.hasOwn(BY_KIND, kind)) return null;
  for (const path of BY_KIND[kind]!) {
    const fault = faultAt(json, path, []);
    if (fault !== null) return fault;
  }
  return null;
}

function faultAt(value: unknown, path: Path, walked: Path): ObjectFault | null {
  if (value === undefined || value === null) return null;
  const [step, ...rest] = path;
  if (step === undefined) return faultOf(value, walked);
  if (step !== "*")
    return faultAt(looseFields<Record<string, unknown>>(value)[step], rest, [...walked, step]);
  for (const [index, entry] of (isList(value) ? value : []).entries()) {
    const fault = faultAt(entry, rest, [...walked, index]);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOf(value: unknown, path: Path): ObjectFault | null {
  if (!isRecord(value)) return isQuantity(value) ? null : faulty(path, value);
  for (const [name, quantity] of Object.entries(value))
    if (!isQuantity(quantity)) return faulty([...path, name], quantity);
  return null;
}

function faulty(path: Path, value: unknown): ObjectFault {
  return { path, rule: "must be a quantity of 0 or more, such as 500m or 64Gi", value };
}

function isQuantity(value: unknown): boolean {
  if (typeof value !== "string" && typeof value !== "number") return false;
  const text = String(value).trim();
  const decimal = text.length > MAX_LENGTH ? null : parseDecimal(text);
  return decimal !== null && decimal.digits >= 0n;
}
