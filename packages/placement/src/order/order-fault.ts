/** What can be wrong with an AppGroup's spec, as the reasons of its Events are called. */
const ORDER_FAULT_CODES = [
  "MalformedSpec",
  "UnknownAlgorithm",
  "DuplicateSelector",
  "UnknownDependency",
  "SelectorMismatch",
  "DependencyCycle",
] as const;

type OrderFaultCode = (typeof ORDER_FAULT_CODES)[number];

/** From the AppGroup to the value. */
export type FaultPath = readonly (string | number)[];

/** A fault of an AppGroup's spec, and what it breaks. */
export interface OrderFault {
  readonly code: OrderFaultCode;
  readonly path: FaultPath;
  readonly rule: string;
  readonly value: unknown;
}

const MAX_SHOWN = 200;

/** Path, rule and value in one line: `spec.workloads[1].workload.selector must be unique, got "p2"`. */
export function faultText({ path, rule, value }: OrderFault): string {
  return `${pathText(path)} ${rule}, got ${shown(value)}`;
}

function pathText(path: FaultPath): string {
  return path
    .map((part, at) => (typeof part === "number" ? `[${part}]` : at === 0 ? part : `.${part}`))
    .join("");
}

/** A value of any size for a sentence. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}
