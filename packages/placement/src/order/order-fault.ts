/** Kinds of faults, which are also the reasons of the Events. */
const ORDER_FAULT_CODES = [
  "MalformedSpec",
  "UnknownAlgorithm",
  "DuplicateSelector",
  "UnknownDependency",
  "SelectorMismatch",
  "DependencyCycle",
] as const;

type OrderFaultCode = (typeof ORDER_FAULT_CODES)[number];

/** Path from the AppGroup to the faulty value. */
export type FaultPath = readonly (string | number)[];

export interface OrderFault {
  readonly code: OrderFaultCode;
  readonly path: FaultPath;
  readonly rule: string;
  readonly value: unknown;
}

const MAX_SHOWN = 200;

export function faultText({ path, rule, value }: OrderFault): string {
  return `${pathText(path)} ${rule}, got ${shown(value)}`;
}

function pathText(path: FaultPath): string {
  return path
    .map((part, at) => (typeof part === "number" ? `[${part}]` : at === 0 ? part : `.${part}`))
    .join("");
}

/** Formats a value for a message, cut to a bounded length. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}
